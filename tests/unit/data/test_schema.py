from __future__ import annotations

import json
from pathlib import Path

import pytest

from equipoise.data.listed import Categorical
from equipoise.data.schema import Schema, from_domain, load
from equipoise.data.whole import Codes, Integer
from equipoise.errors import EquipoiseError, SchemaError, SettingError

FULL = """
[table]
name = "people"
unit = "person_id"
rows_per_unit = 3
drop = ["person_id", "notes"]
[privacy]
epsilon = 3
delta = 1e-9
ledger = "people.ledger.sqlite"
[columns.sex]
type = "categorical"
values = ["Female", "Male"]
[columns.age]
type = "integer"
min = 0
max = 99
bins = 10
confirmed = false
[columns.joined]
type = "date"
min = 2020-01-01
max = "2022-12-31"
nullable = true
"""


def write(folder: Path, text: str, name: str = "people.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_schema_file_is_read_in_full(tmp_path: Path) -> None:
    schema = load(write(tmp_path, FULL))
    assert (schema.name, schema.unit, schema.rows_per_unit) == ("people", "person_id", 3)
    assert (schema.epsilon, schema.delta) == (3.0, 1e-9)
    assert schema.ledger == str(tmp_path / "people.ledger.sqlite")
    assert schema.dropped == ("person_id", "notes")
    assert schema.domain.columns == ("sex", "age", "joined")
    assert schema.domain.sizes == (2, 10, 4)
    assert schema.unconfirmed == ("age",)
    assert schema.column("age") == Integer(name="age", min=0, max=99, bins=10, confirmed=False)


def test_a_database_address_is_left_alone_and_never_stored_in_the_json(tmp_path: Path) -> None:
    address = "postgresql://steward:canary-7731@host/ledgers"
    schema = load(write(tmp_path, FULL.replace("people.ledger.sqlite", address)))
    assert schema.ledger == address
    assert "canary" not in schema.to_json()


def test_the_file_name_is_the_default_table_name(tmp_path: Path) -> None:
    text = '[columns.x]\ntype = "boolean"\n'
    schema = load(write(tmp_path, text, "visits.toml"))
    assert schema.name == "visits"
    assert schema.epsilon is schema.delta is schema.ledger is schema.unit is None


def test_the_json_form_round_trips_all_but_the_ledger(tmp_path: Path) -> None:
    schema = load(write(tmp_path, FULL))
    back = Schema.from_json(schema.to_json())
    assert back.to_json() == schema.to_json()
    assert back.columns == schema.columns
    assert back.unconfirmed == ("age",)
    assert (back.unit, back.rows_per_unit, back.epsilon, back.ledger) == ("person_id", 3, 3.0, None)


def test_the_fingerprint_changes_with_any_public_detail(tmp_path: Path) -> None:
    edits = {"bins = 10": "bins = 5", '"Male"': '"M"', "epsilon = 3": "epsilon = 2", "= 3\n": "= 4\n", "false": "true"}
    prints = {load(write(tmp_path, FULL)).fingerprint}
    for old, new in edits.items():
        assert old in FULL
        prints.add(load(write(tmp_path, FULL.replace(old, new, 1))).fingerprint)
    assert len(prints) == 1 + len(edits)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 99, "columns": []}', '{"format": 1, "columns": {}}'])
def test_a_stored_schema_that_is_something_else_is_refused(text: str) -> None:
    with pytest.raises(SchemaError, match="stored schema"):
        Schema.from_json(text)


def test_select_keeps_the_order_given(tmp_path: Path) -> None:
    schema = load(write(tmp_path, FULL)).select(["joined", "sex"])
    assert schema.domain.columns == ("joined", "sex")
    assert schema.unit == "person_id"
    with pytest.raises(SettingError, match="there is no column 'height'; the columns are joined, sex"):
        schema.select(["height"])
    with pytest.raises(SettingError, match="each only once"):
        schema.select(["sex", "sex"])
    with pytest.raises(SettingError, match="at least one column"):
        schema.select([])


def column(**keys: object) -> str:
    return "[columns.age]\n" + "\n".join(f"{key} = {json.dumps(value)}" for key, value in keys.items())


INTEGER = {"type": "integer", "min": 0, "max": 9}
REAL = {"type": "real", "min": 0, "max": 1}


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("[columns.age", "people.toml is not valid TOML"),
        ("", "the schema has no columns"),
        ("[tables]\n", r"unknown section \[tables\]"),
        ("columns = 3\n", "'columns' must be a section"),
        ("[columns]\nage = 3\n", "column 'age': it must be a section"),
        ("[table]\nnames = 'x'\n", r"\[table\]: unknown key 'names'; the keys are drop, name, rows_per_unit, unit"),
        ("[table]\nrows_per_unit = 0\n", r"\[table\]: `rows_per_unit` should be greater than or equal to 1"),
        ("[privacy]\nepsilon = 0\n", r"\[privacy\]: `epsilon` should be greater than 0"),
        ("[privacy]\nepsilon = inf\n", r"\[privacy\]: `epsilon` should be a finite number"),
        ("[privacy]\ndelta = 1.0\n", r"\[privacy\]: `delta` should be less than 1"),
        (column(), "column 'age': `type` must be one of categorical, ordinal, boolean"),
        (column(type="number"), "column 'age': `type` must be one of"),
        (column(type="integer"), "column 'age': it needs `min` and `max`, or `edges`"),
        (column(type="categorical"), "column 'age': it needs `values`"),
        (column(type="categorical", values=[]), "column 'age': `values` should have at least 1 item|`values`"),
        (column(type="categorical", values=["a", "a"]), "column 'age': a value is listed twice"),
        (column(type="categorical", values=["1", 1]), "column 'age': a value is listed twice"),
        (column(type="categorical", values=["a "]), "column 'age': a value is empty or has spaces"),
        (column(type="categorical", values=["a"], missing=["?"]), "`missing` needs nullable = true"),
        (column(type="categorical", values=["?"], missing=["?"], nullable=True), "both in `values` and in `missing`"),
        (column(type="categorical", values=["(missing)"], nullable=True), "same label"),
        (column(type="ordinal", values=["a"], other="b"), "unknown key 'other'; the keys are confirmed, missing, null"),
        (column(**INTEGER, width=3), "unknown key 'width'; the keys are bins, confirmed, edges, max, min, missing"),
        (column(**INTEGER, name="x"), "unknown key 'name'"),
        (column(**INTEGER, bins=11), "more `bins` than values"),
        (column(**INTEGER, bins=2, edges=[0, 9]), "`bins` or `edges`, not both"),
        (column(**INTEGER, edges=[0, 8]), "starts at `min` and ends at `max`"),
        (column(type="integer", edges=[3, 3, 4]), "each larger than the one before"),
        (column(type="integer", min=5, max=4), "`min` is larger than `max`"),
        (column(type="integer", min=0, max=10**9), "more than 1048576 codes"),
        (column(type="integer", min="0", max=9), "`min` should be a valid integer"),
        (column(**INTEGER, out_of_bounds="drop"), "`out_of_bounds` should be 'refuse', 'clip' or 'bucket'"),
        (column(**INTEGER, nullable=1), "`nullable` should be a valid boolean"),
        (column(type="real", min=1, max=1), "a real column needs a width"),
        (column(**REAL, bins=100, decimals=1), "a bin holds no number of that many `decimals`"),
        (column(type="date", min="2020-13-01", max="2021-01-01"), "column 'age': `min`"),
        (column(type="date", min="2020-01-01", max="9999-12-31"), "column 'age': dates must lie in"),
        (column(type="codes"), "column 'age': it needs `size`"),
        (column(type="codes", size=0), "`size` should be greater than or equal to 1"),
        ("[table]\nunit = 'age'\n" + column(type="boolean"), "column 'age': it is the privacy unit"),
        ("[table]\ndrop = ['age']\n" + column(type="boolean"), "column 'age': it is declared and listed in `drop`"),
        ("[table]\nrows_per_unit = 2\n" + column(type="boolean"), "`rows_per_unit` needs `unit`"),
    ],
)
def test_a_wrong_schema_names_the_column_and_the_rule(tmp_path: Path, text: str, rule: str) -> None:
    with pytest.raises(SchemaError, match=rule):
        load(write(tmp_path, text))


def test_a_schema_that_is_missing_or_not_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="cannot read the schema"):
        load(tmp_path / "absent.toml")
    (tmp_path / "latin.toml").write_bytes("# é".encode("latin-1"))
    with pytest.raises(SchemaError, match=r"latin\.toml is not UTF-8"):
        load(tmp_path / "latin.toml")


def test_a_domain_file_gives_codes(tmp_path: Path) -> None:
    schema = from_domain(write(tmp_path, '{"sex": 2, "income>50K": 300}', "adult.domain.json"))
    assert schema.name == "adult"
    assert schema.columns == (Codes(name="sex", size=2), Codes(name="income>50K", size=300))
    assert schema.unconfirmed == ()


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("{", "is not valid JSON"),
        ("[2, 3]", "must hold one JSON object"),
        ("{}", "must hold one JSON object"),
        ('{"sex": 0}', "column 'sex': `size` should be greater"),
        ('{"sex": "two"}', "column 'sex': `size` should be a valid integer"),
        ('{"sex": 999999999999}', "column 'sex': `size` should be less"),
    ],
)
def test_a_wrong_domain_file_is_refused(tmp_path: Path, text: str, rule: str) -> None:
    with pytest.raises(EquipoiseError, match=rule) as caught:
        from_domain(write(tmp_path, text, "adult.domain.json"))
    assert isinstance(caught.value, SchemaError)


def test_two_columns_of_one_name_are_refused() -> None:
    twice = Categorical(name="c", values=("a",))
    with pytest.raises(SchemaError, match="names a column twice"):
        Schema("table", (twice, twice))
