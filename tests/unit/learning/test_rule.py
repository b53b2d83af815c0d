"""A learnt rule in its folder: written, loaded, applied to other tables, judged by the steward."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.noise import NoNoise

import equipoise as eq
from equipoise.audit.book import MemoryBook
from equipoise.data.listed import Categorical
from equipoise.data.schema import Schema
from equipoise.data.table import Table, read
from equipoise.data.whole import Integer
from equipoise.errors import CapacityError, DataError, OutputError, SettingError
from equipoise.learning import table as learning
from equipoise.learning.plan import CLASSES, Learning, plan_learning
from equipoise.learning.rule import is_rule
from equipoise.learning.table import Task
from equipoise.oracles.classes.conjunctions import Conjunctions
from equipoise.oracles.classes.minimisers import ByEnumeration
from equipoise.pipeline import Request, run
from equipoise.privacy.accountant import Cost
from equipoise.privacy.gate import Gate
from equipoise.privacy.learner import MECHANISMS, Learner
from equipoise.privacy.private_points import PrivatePoints

NUM_ROWS = 4000
COLUMNS = (
    Categorical(name="sex", values=["Female", "Male"]),
    Integer(name="age", min=0, max=99, bins=2),
    Categorical(name="income", values=["low", "high"]),
)


def people(seed: int = 1) -> pa.Table:
    """The label is "high" exactly where sex is Male and age at least 50."""
    rng = np.random.default_rng(seed)
    sex, age = rng.choice(["Female", "Male"], NUM_ROWS), rng.integers(0, 100, NUM_ROWS)
    return pa.table({"sex": sex, "age": age, "income": np.where((sex == "Male") & (age >= 50), "high", "low")})


def private(unit: str | None = None) -> Table:
    rows = people().append_column("person", pa.array(np.arange(NUM_ROWS) // 2))
    return read(rows, schema=Schema("people", COLUMNS, unit=unit, rows_per_unit=2 if unit else 1))


def learn(tmp_path: Path, epsilon: float = 5.0, delta: float | None = None, **task: Any) -> eq.Rule:
    """At epsilon 5 any other rule, which misses some 900 records or more, is less likely than exp(-1000)."""
    request = Request(private(), epsilon=epsilon, delta=delta, ledger=tmp_path / "ledger.sqlite")
    return learning.run(request, Task("income = high", **task), tmp_path / "rule")


@pytest.mark.parametrize("query_class", CLASSES)
def test_a_rule_of_every_class_comes_back_from_its_folder(tmp_path: Path, query_class: str) -> None:
    learned = learn(tmp_path, query_class=query_class)
    assert is_rule(tmp_path / "rule")
    rule = eq.load_rule(tmp_path / "rule")
    assert (rule.words, rule.predicted) == (learned.words, "income = high")
    assert rule.statement.items() >= learned.statement.items()
    others = people(seed=2)
    assert np.array_equal(rule.predict(others), learned.predict(others))
    assert rule.accuracy(others) == np.mean(rule.predict(others) == (others["income"].to_numpy() == "high"))
    if query_class == "conjunctions":
        assert rule.words == "sex = Male and age in 50..99"
        assert rule.accuracy(others) == 1.0


def test_predictions_need_no_target_and_no_unit(tmp_path: Path) -> None:
    request = Request(private("person"), epsilon=5.0, ledger=tmp_path / "ledger.sqlite")
    learning.run(request, Task("income = high"), tmp_path / "rule")
    rule = eq.load_rule(tmp_path / "rule")
    frame = pd.DataFrame({"age": [60, 60, 20], "note": ["a", "b", "c"], "sex": ["Male", "Female", "Male"]})
    assert rule.predict(frame).tolist() == [True, False, False]
    with pytest.raises(DataError, match="'sex'"):
        rule.predict(frame[["age"]])
    with pytest.raises(DataError) as caught:
        rule.predict(frame.assign(sex="Unheard-of"))
    assert "Unheard-of" not in str(caught.value)


def test_a_folder_that_is_no_rule_or_a_damaged_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no finished rule"):
        eq.load_rule(tmp_path)
    learn(tmp_path)
    body = json.loads((tmp_path / "rule/rule.json").read_text())
    for change in ({"parameters": body["parameters"][:-1]}, {"class": "trees"}, {"target": "sex = Male"}):
        (tmp_path / "rule/rule.json").write_text(json.dumps(body | change))
        with pytest.raises(OutputError, match=r"not a complete folder|do not belong together"):
            eq.load_rule(tmp_path / "rule")
    (tmp_path / "rule/rule.json").write_text(json.dumps(body | {"rule": "always"}))
    with pytest.raises(OutputError, match="do not belong together"):
        eq.load_rule(tmp_path / "rule")


def test_a_release_does_not_lie_down_beside_a_rule(tmp_path: Path) -> None:
    learn(tmp_path)
    request = Request(private(), epsilon=1.0, workload="1-way", ledger=tmp_path / "ledger.sqlite")
    with pytest.raises(OutputError, match="holds a rule"):
        run(request, tmp_path / "rule", overwrite=True)
    assert is_rule(tmp_path / "rule")


# --- mechanisms with a delta ---


def test_gaussian_rspm_learns_and_states_its_delta_and_its_condition(tmp_path: Path) -> None:
    rule = learn(tmp_path, mechanism="gaussian_rspm", epsilon=5.0, delta=1e-6)
    claim = rule.statement["guarantee"]
    assert rule.words == "sex = Male and age in 50..99"
    assert (claim["epsilon"], claim["delta"], claim["definition"]) == (
        5.0,
        1e-6,
        "(epsilon, delta)-differential privacy",
    )
    assert "pure_epsilon" not in claim
    assert claim["conditional"]["proven_rho"] == "0"
    # Not at deltas of which the event's own delta leaves nothing; rho alone would give a number at every one.
    assert claim["curve"] == {}


def test_delta_is_for_those_that_have_one() -> None:
    plan = plan_learning("conjunctions", 20, epsilon=1.0, num_records=9999, mechanism="gaussian_rspm")
    assert float(plan.learner.delta) == 1 / 9999**2
    assert plan.reserve.epsilon is None
    assert plan.reserve.conditional_rho == plan.reserve.rho > 0
    for mechanism, delta, words in (
        ("exponential", 1e-6, "is pure"),
        ("rspm", 1e-6, "is pure"),
        ("gaussian_rspm", 0.5, "below 1/n"),
        ("prsma", 0.0, "below 1/n"),
    ):
        with pytest.raises(SettingError, match=words):
            plan_learning("conjunctions", 20, epsilon=1.0, delta=delta, num_records=9999, mechanism=mechanism)
    for mechanism in ("gaussian_rspm", "prsma"):
        with pytest.raises((SettingError, CapacityError), match=r"several rows|call the solver"):
            plan_learning("conjunctions", 20, epsilon=9.0, num_records=9999, mechanism=mechanism, rows_per_unit=2)


def test_prsma_is_refused_by_its_number_of_calls_before_anything_is_paid(tmp_path: Path) -> None:
    with pytest.raises(CapacityError, match=r"call the solver [\d,]{9,} times"):
        learn(tmp_path, mechanism="prsma")
    assert not (tmp_path / "rule").exists()
    assert not (tmp_path / "ledger.sqlite").exists()


def test_prsma_learns_where_its_calls_are_few() -> None:
    """A delta of 5 is no guarantee worth having; it leaves few calls."""
    bits = np.random.default_rng(0).integers(0, 2, (5000, 2))
    points = PrivatePoints.labelled(bits, bits[:, 0])
    learner = Learner(Conjunctions(2), "prsma", Fraction(30), Fraction(5), ByEnumeration(), 5000)
    plan = Learning(learner)
    assert plan.reserve.conditional_rho == 0
    book = MemoryBook(Cost(Fraction(10**4), None, Fraction(10)))
    chosen = learner.choose(Gate(book, noise=NoNoise()), points)  # with noise it fails one time in a hundred
    assert len(chosen.parameters) == 2
    assert [event for event, _ in book.charged] == [plan.event]


def test_every_mechanism_has_a_plan_or_a_reason() -> None:
    for mechanism in MECHANISMS:
        if mechanism == "prsma":
            continue
        plan = plan_learning("disjunctions", 10, epsilon=1.0, num_records=10**5, mechanism=mechanism)
        assert plan.reserve.rho > 0


def test_separators_are_counted_before_they_are_made() -> None:
    """The pairs of 10^6 features would fill 4 TB."""
    with pytest.raises(SettingError, match="learn nothing"):
        plan_learning("decision_lists", 10**6, epsilon=1.0, num_records=10**5, mechanism="rspm")
