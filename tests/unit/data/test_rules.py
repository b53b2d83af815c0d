"""Rules as a schema declares them: what they forbid, what is refused, what is kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from equipoise.data import rules as rules_module
from equipoise.data.listed import Categorical
from equipoise.data.rules import Rules
from equipoise.data.schema import Schema, load
from equipoise.data.whole import Codes, Integer
from equipoise.errors import QueryError, SchemaError

COLUMNS = (
    Integer(name="age", min=0, max=44, bins=3),
    Categorical(name="marital", values=("Married", "Single"), nullable=True),
    Categorical(name="sex", values=("Female", "Male"), nullable=True),
    Categorical(name="city -> state", values=("Lyon", "Nice", "Bonn")),
)
PEOPLE = Schema("people", COLUMNS)


def broken(schema: Schema) -> np.ndarray:
    """Which cells of the domain break a rule, by asking about each record."""
    sizes = schema.domain.sizes
    records = np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes)).astype(np.uint8)
    return schema.rules.broken_by(records).reshape(sizes)


def test_impossible_conditions_are_impossible_together() -> None:
    schema = replace(PEOPLE, impossible=("age < 15 and marital = Married",))
    expected = np.zeros(schema.domain.sizes, dtype=bool)
    expected[0, 0] = True
    np.testing.assert_array_equal(broken(schema), expected)
    np.testing.assert_array_equal(schema.rules.possible_cells(), ~expected)


def test_what_is_implied_must_hold_and_a_missing_value_does_not_fulfil_it() -> None:
    schema = replace(PEOPLE, implies=("marital = Married -> sex = Male and age >= 15",))
    expected = np.zeros(schema.domain.sizes, dtype=bool)
    expected[:, 0, [0, 2]] = True
    expected[0, 0] = True
    np.testing.assert_array_equal(broken(schema), expected)


def test_an_implication_within_one_column_and_one_that_forbids_nothing() -> None:
    within = replace(PEOPLE, implies=("age >= 15 -> age >= 30",))
    assert broken(within).any(axis=(1, 2, 3)).tolist() == [False, True, False]
    assert not replace(PEOPLE, implies=("age >= 15 -> age >= 0",)).rules


def test_arrows_in_quotes_are_no_arrows() -> None:
    schema = replace(PEOPLE, implies=("`city -> state` = Lyon -> sex = Female",))
    assert broken(schema)[:, :, :, 0].any()
    assert not broken(schema)[:, :, :, 1:].any()


@pytest.mark.parametrize(
    ("key", "text", "said"),
    [
        ("impossible", "age < 15 and height = 3", "'height'"),
        ("impossible", "marital = Widowed", "Married"),
        ("impossible", "age < 12 and sex = Male", "age"),  # a bin cannot be cut
        ("impossible", "age < 15 -> sex = Male", "without an arrow"),
        ("impossible", "", "expected a column"),
        ("implies", "age < 15", "conditions -> conditions"),
        ("implies", "age < 15 -> ", "expected a column"),
        ("impossible", "age >= 0", "no record at all"),
        ("implies", "age >= 0 -> age in {}", "no record at all"),
    ],
)
def test_a_rule_that_makes_no_sense_is_named(key: str, text: str, said: str) -> None:
    with pytest.raises(SchemaError) as error:
        replace(PEOPLE, **{key: (text,)})
    assert said in str(error.value)
    assert f"[rules] {key}" in str(error.value)


def test_rules_that_contradict_each_other_are_refused() -> None:
    every_way_out = ("age < 15 and sex = Male", "age < 15 and sex = Female", "age < 15 and sex is missing")
    replace(PEOPLE, impossible=every_way_out)  # only the young are impossible
    with pytest.raises(SchemaError, match="no record at all"):
        replace(PEOPLE, impossible=(*every_way_out, "age >= 15"))


def test_a_rule_about_too_many_combinations_is_refused() -> None:
    wide = Schema("wide", tuple(Codes(name=f"c{i}", size=200) for i in range(3)))
    with pytest.raises(SchemaError, match="8,000,000 combinations"):
        replace(wide, impossible=("c0 = 1 and c1 = 2 and c2 = 3",))


def test_a_search_that_would_never_end_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules_module, "MAX_STEPS", 3)
    with pytest.raises(SchemaError, match="too entangled"):
        replace(PEOPLE, impossible=("age < 15 and sex = Male", "age < 15 and sex = Female", "age >= 15"))


def test_selected_columns_keep_the_rules_about_them_alone() -> None:
    schema = replace(
        PEOPLE, impossible=("age < 15 and marital = Married",), implies=("marital = Married -> sex = Male",)
    )
    chosen = schema.select(["sex", "marital"])
    assert chosen.impossible == ()
    assert chosen.implies == schema.implies
    assert chosen.rules.broken_by(np.array([[0, 1], [0, 0]], dtype=np.uint8)).tolist() == [True, False]


def test_rules_are_stored_and_change_the_fingerprint() -> None:
    schema = replace(PEOPLE, impossible=("age < 15 and marital = Married",))
    assert Schema.from_json(schema.to_json()) == schema
    assert schema.fingerprint != PEOPLE.fingerprint
    assert "rules" not in PEOPLE.to_json()  # fingerprints of schemas without rules are what they were


def test_rules_are_read_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "people.toml"
    path.write_text(
        '[rules]\nimpossible = ["a = 1 and b = 1"]\nimplies = ["a = 0 -> b = 0"]\n'
        '[columns.a]\ntype = "codes"\nsize = 2\n[columns.b]\ntype = "codes"\nsize = 2\n'
    )
    schema = load(path)
    assert schema.rules.possible_cells().tolist() == [[True, False], [True, False]]
    path.write_text(path.read_text().replace("implies", "imply"))
    with pytest.raises(SchemaError, match="implies, impossible"):
        load(path)
    path.write_text(path.read_text().replace('imply = ["a = 0 -> b = 0"]', "implies = [3]"))
    with pytest.raises(SchemaError, match=r"\[rules\]"):
        load(path)


def test_what_is_asked_inside_and_outside_the_rules() -> None:
    rules = replace(PEOPLE, impossible=("age < 15 and marital = Married",)).rules
    young, married = np.array([True, False, False]), np.array([True, False, False])
    assert rules.allow({0: young})
    assert not rules.allow({0: young, 1: married})
    assert not rules.allow({0: np.zeros(3, dtype=bool)})
    assert rules.on([1, 0]).boxes[0].keys() == {0, 1}
    assert not rules.on([1, 2])
    assert not Rules((2,)).inside({0: np.ones(2, dtype=bool)})
    with pytest.raises(QueryError, match="the end"):
        rules_module.columns_of_rule("age <", COLUMNS)
