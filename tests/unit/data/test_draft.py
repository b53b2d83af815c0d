from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from equipoise.data.columns import Column
from equipoise.data.draft import draft
from equipoise.data.schema import Schema, load
from equipoise.data.table import read
from equipoise.errors import DataError

RNG = np.random.default_rng(0)
NUM_ROWS = 500
TABLE = pa.table(
    {
        "person_id": pa.array([f"P{i}" for i in range(NUM_ROWS)]),
        "region": pa.array(["North", "South"]).take(pa.array(RNG.integers(0, 2, NUM_ROWS))),
        "income>50K": pa.array(RNG.integers(0, 2, NUM_ROWS) == 1),
        "member": pa.array(["yes", "no"]).take(pa.array(RNG.integers(0, 2, NUM_ROWS))),
        "children": RNG.integers(0, 6, NUM_ROWS),
        "age": RNG.integers(17, 91, NUM_ROWS),
        "score": RNG.normal(0, 1, NUM_ROWS),
        "price": np.round(RNG.random(NUM_ROWS) * 90 + 3, 2),
        "joined": pa.array([datetime.date(2012, 3, 4) + datetime.timedelta(int(i) * 7) for i in range(NUM_ROWS)]),
        "postcode": pa.array([f"0{i % 40:03d}" for i in range(NUM_ROWS)]),
        "holes": pa.array([None if i % 3 else "full" for i in range(NUM_ROWS)]),
        "unknown": pa.array([str(i % 9) if i % 4 else "?" for i in range(NUM_ROWS)]),
        "notes": pa.array([f"a note on {i % 300}" for i in range(NUM_ROWS)]),
        "empty": pa.nulls(NUM_ROWS, pa.string()),
        "serial": np.arange(NUM_ROWS) * 3,
    }
)


@pytest.fixture(params=["arrow", "csv"])
def drafted(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Schema, str, object]:
    source: object = TABLE
    if request.param == "csv":
        source = tmp_path / "people.csv"
        pa.csv.write_csv(TABLE, source)
    text = draft(source, name="people")
    (tmp_path / "people.toml").write_text(text, encoding="utf-8")
    return load(tmp_path / "people.toml"), text, source


def test_a_draft_loads_and_its_own_table_fits_it(drafted: tuple[Schema, str, object]) -> None:
    schema, _, source = drafted
    table = read(source, schema=schema)
    codes = np.concatenate(list(table.batches()), axis=1)
    assert codes.shape == (len(schema.columns), NUM_ROWS)


def test_a_draft_guesses_the_kinds(drafted: tuple[Schema, str, object]) -> None:
    schema, _, _ = drafted
    assert {column.name: column.kind for column in schema.columns} == {
        "region": "categorical",
        "income>50K": "boolean",
        "member": "boolean",
        "children": "integer",
        "age": "integer",
        "score": "real",
        "price": "real",
        "joined": "date",
        "postcode": "categorical",
        "holes": "categorical",
        "unknown": "integer",
    }
    assert schema.dropped == ("person_id", "notes", "empty", "serial")
    assert schema.unit is None
    assert schema.epsilon is None


def test_all_that_was_read_from_the_data_is_unconfirmed(drafted: tuple[Schema, str, object]) -> None:
    schema, text, _ = drafted
    booleans = {"income>50K", "member"}
    assert set(schema.unconfirmed) == set(schema.domain.columns) - booleans
    assert "outside the privacy guarantee" in text
    assert '# unit = "person_id"' in text
    assert '# unit = "serial"' in text
    assert '"notes", # it has more than 64 different texts' in text


def test_bounds_are_rounded_outwards_and_bins_are_readable(drafted: tuple[Schema, str, object]) -> None:
    schema, _, _ = drafted
    assert schema.column("age").labels[0] == "15..19"
    assert schema.column("children").labels == ("0", "1", "2", "3", "4", "5")
    for name in ("age", "score", "price"):
        assert 8 <= schema.column(name).size <= 24
    assert schema.column("price").model_dump()["decimals"] == 2
    assert schema.column("joined").labels[0] == "2012-01-01..2012-12-31"


def test_holes_and_marks_for_them_make_a_column_nullable(drafted: tuple[Schema, str, object]) -> None:
    schema, _, _ = drafted
    nullable = [column.name for column in schema.columns if column.nullable]
    assert nullable == ["holes", "unknown"]
    assert schema.column("unknown").missing == ("?",)


def kind_of(values: pa.Array, folder: Path) -> Column:
    (folder / "t.toml").write_text(draft(pa.table({"c": values})), encoding="utf-8")
    schema = load(folder / "t.toml")
    assert sum(codes.shape[1] for codes in read(pa.table({"c": values}), schema=schema).batches()) == len(values)
    return schema.columns[0]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([5, 5]),
        pa.array([0.25, 0.25]),
        pa.array([0.0, 0.5, 0.0]),
        pa.array([-1e-7, 3e-7, 2.5e-7]),
        pa.array([1e12, 5e15, 2.5]),
        pa.array([-(10**14), 10**14, 3]),
        pa.array([0.1, 0.2, 0.30000000000000004]),
        pa.array(["1e3", "2.5"]),
        pa.array([datetime.date(2020, 5, 5)]),
        pa.array(["x", 'quote "', "é\nnew line"]),
        pa.array(["a", "b"]).dictionary_encode(),
        pa.array(["x", "y"], pa.string_view()),
        pa.array([1.5, None, float("nan")]),
    ],
    ids=str,
)
def test_odd_columns_draft_to_a_schema_they_fit(values: pa.Array, tmp_path: Path) -> None:
    assert kind_of(values, tmp_path).size >= 1


def test_missing_numbers_do_not_move_the_bounds(tmp_path: Path) -> None:
    column = kind_of(pa.array([150.5, 199.5, None, float("nan")]), tmp_path)
    assert column.nullable
    assert column.labels[0].startswith("150..")


def test_the_table_is_named_after_the_file(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("a\n1\n2\n")
    assert 'name = "visits"' in draft(tmp_path / "visits.csv")


@pytest.mark.parametrize(
    ("table", "rule"),
    [
        (pa.table({"a": pa.array([], pa.int64())}), "the table has no rows"),
        (pa.table({"a": pa.nulls(3)}), "no column of the table can be released"),
        (pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), "same name"),
        (pa.table({"a;b": [f"{i};word {i}" for i in range(50)]}), "';' and no comma"),
        (pa.table({"a": [1, 2], " ": [1, 2]}), "has no name"),
    ],
)
def test_tables_without_a_schema_are_refused(table: pa.Table, rule: str) -> None:
    with pytest.raises(DataError, match=rule):
        draft(table)
