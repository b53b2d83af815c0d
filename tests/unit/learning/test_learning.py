"""Private learning: the learner in scikit-learn's manner, rules from tables, debits, certificates, second starts."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import equipoise as eq
from equipoise.data.listed import Categorical
from equipoise.data.schema import Schema
from equipoise.data.table import Table, read
from equipoise.data.whole import Integer
from equipoise.errors import (
    BudgetError,
    CapacityError,
    CertificateError,
    DataError,
    OutputError,
    QueryError,
    SettingError,
)
from equipoise.learning import plan as plans
from equipoise.learning import table as learning
from equipoise.learning.learner import NotFittedError, PrivateLearner
from equipoise.learning.plan import CLASSES, plan_learning
from equipoise.learning.rule import Rule
from equipoise.learning.table import Task
from equipoise.oracles.classes.query_class import Minimum, QueryClass, WeightedPoints
from equipoise.pipeline import Request
from equipoise.privacy.ledger import Account, Ledger
from equipoise.statement import CONDITION

NUM_ROWS = 4000
"""At epsilon 1 the rule's margin of about 1,000 records makes another choice less likely than exp(-200)."""


def bits_and_labels(num_features: int = 5) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    bits = np.random.default_rng(0).integers(0, 2, (NUM_ROWS, num_features))
    return bits, bits[:, 0] & bits[:, 2]


def people(*, epsilon: float | None = None, unit: str | None = None) -> Table:
    """The label is "high" exactly where sex is Male and age at least 50."""
    rng = np.random.default_rng(1)
    sex, age = rng.choice(["Female", "Male"], NUM_ROWS), rng.integers(0, 100, NUM_ROWS)
    income = np.where((sex == "Male") & (age >= 50), "high", "low")
    columns = (
        Categorical(name="sex", values=["Female", "Male"]),
        Integer(name="age", min=0, max=99, bins=4),
        Categorical(name="income", values=["low", "high"]),
    )
    delta = None if epsilon is None else 1e-9
    # Two rows a person at most, as it happens: so bounding drops nothing.
    schema = Schema("people", columns, epsilon=epsilon, delta=delta, unit=unit, rows_per_unit=2 if unit else 1)
    person = np.arange(NUM_ROWS) // 2
    return read(pa.table({"sex": sex, "age": age, "income": income, "person": person}), schema=schema)


def request(tmp_path: Path, table: Table | None = None, epsilon: float = 1.0) -> Request:
    return Request(table or people(), epsilon=epsilon, pure=True, ledger=tmp_path / "ledger.sqlite")


def account(tmp_path: Path) -> Account:
    found = Ledger(tmp_path / "ledger.sqlite").existing("people")
    assert found is not None
    return found


class Unproved:
    """A minimiser that proves nothing."""

    name: ClassVar[str] = "unproved"

    def refuses(self, query_class: QueryClass) -> str | None:
        return None

    def solve(self, instance: WeightedPoints) -> Minimum:
        parameters = instance.query_class.every()[0]
        return Minimum(parameters, int(instance.values(parameters)[0]), None)


class Killed(BaseException):
    """Stands for a process that ends."""


class Dies(Unproved):
    """A minimiser that is killed at work."""

    def solve(self, instance: WeightedPoints) -> Minimum:
        raise Killed


# --- the learner ---


def test_a_learner_finds_the_rule_and_predicts() -> None:
    bits, labels = bits_and_labels()
    learner = eq.PrivateLearner(epsilon=1.0)
    assert learner.fit(bits, labels) is learner
    assert learner.rule_ == "x0 and x2"
    assert learner.certificate_ is None
    assert (learner.predict(bits) == labels).all()
    assert learner.score(bits, labels) == 1.0
    assert learner.n_features_in_ == 5
    assert learner.guarantee_["guarantee"]["pure_epsilon"] == "1"
    assert "conditional" not in learner.guarantee_["guarantee"]


def test_rspm_is_marked_conditional_and_certified() -> None:
    bits, labels = bits_and_labels()
    learner = PrivateLearner(epsilon=10.0, mechanism="rspm").fit(bits, labels)
    # Five Laplace noises of scale about 1 against a margin of about 1,000 records.
    assert learner.rule_ == "x0 and x2"
    assert learner.guarantee_["guarantee"]["conditional"]["proven_pure_epsilon"] == "0"
    assert learner.guarantee_["guarantee"]["conditional"]["condition"] == CONDITION
    assert "certified" in str(learner.certificate_)


def test_parameters_are_given_taken_and_cloned() -> None:
    bits, labels = bits_and_labels()
    learner = PrivateLearner(epsilon=1.0, max_literals=1, classes=("no", "yes"))
    assert PrivateLearner(**learner.get_params()).get_params() == learner.get_params()
    assert copy.deepcopy(learner).get_params() == learner.get_params()
    assert learner.set_params(max_literals=2) is learner
    assert learner.max_literals == 2
    with pytest.raises(SettingError, match="no parameter 'depth'"):
        learner.set_params(depth=3)
    learner.fit(bits, np.where(labels, "yes", "no"))
    assert set(learner.predict(bits)) == {"no", "yes"}
    assert "epsilon=1.0" in repr(learner)


def test_a_learner_that_is_not_fitted_says_so() -> None:
    with pytest.raises(NotFittedError, match="call fit first") as caught:
        PrivateLearner(epsilon=1.0).predict([[0]])
    assert isinstance(caught.value, ValueError | AttributeError)


def test_names_of_a_data_frame_are_used_and_checked() -> None:
    bits, labels = bits_and_labels()
    frame = pd.DataFrame(bits, columns=list("abcde"))
    learner = PrivateLearner(epsilon=1.0).fit(frame, labels)
    assert learner.rule_ == "a and c"
    assert learner.feature_names_in_.tolist() == list("abcde")
    with pytest.raises(DataError, match="other feature names"):
        learner.predict(frame[list("bacde")])
    assert not hasattr(learner.fit(bits, labels), "feature_names_in_")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"epsilon": 0.0}, "epsilon must be"),
        ({"epsilon": float("nan")}, "epsilon must be"),
        ({"query_class": "trees"}, "no class 'trees'"),
        ({"mechanism": "guess"}, "no mechanism 'guess'"),
        ({"max_literals": 6}, "max_literals must lie"),
        ({"query_class": "parities", "max_literals": 2}, "for conjunctions and disjunctions"),
        ({"classes": (1, 1)}, "must differ"),
        ({"classes": (1,)}, "two labels"),
    ],
)
def test_arguments_out_of_range_are_refused(change: dict[str, Any], error: str) -> None:
    bits, labels = bits_and_labels()
    with pytest.raises(SettingError, match=error):
        PrivateLearner(**{"epsilon": 1.0} | change).fit(bits, labels)


def test_data_that_does_not_fit_is_refused_without_quoting_it() -> None:
    bits, labels = bits_and_labels()
    learner = PrivateLearner(epsilon=1.0)
    for bad_bits, bad_labels in ((bits * 777, labels), (bits, labels * 777), (bits[0], labels), (bits[:5], labels)):
        with pytest.raises(DataError) as caught:
            learner.fit(bad_bits, bad_labels)
        assert "777" not in str(caught.value)
    with pytest.raises(DataError, match="expecting 5 features"):
        learner.fit(bits, labels).predict(bits[:, :4])


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_learns_from_few_bits(name: str) -> None:
    bits = np.random.default_rng(2).integers(0, 2, (NUM_ROWS, 3))
    learner = PrivateLearner(epsilon=5.0, query_class=name).fit(bits, bits[:, 1])
    # The label is one bit, which every class has; the next best query misses some 500 records or more.
    assert (learner.predict(bits) == bits[:, 1]).all()


def test_a_learner_debits_the_ledger_every_time(tmp_path: Path) -> None:
    bits, labels = bits_and_labels()
    location = tmp_path / "ledger.sqlite"
    Ledger(location).account("people", epsilon=2.0, delta=0.0)
    learner = PrivateLearner(epsilon=1.0, ledger=location, table="people")
    learner.fit(bits, labels).fit(bits, labels)
    assert account(tmp_path).held().epsilon == 2
    with pytest.raises(BudgetError):
        learner.fit(bits, labels)
    Ledger(location).account("visits", epsilon=None, delta=None, rows_per_unit=3)
    with pytest.raises(SettingError, match="units of several rows"):
        learner.set_params(table="visits").fit(bits, labels)


# --- the plan ---


def test_a_class_that_is_too_large_is_refused_unless_rspm_is_asked_for() -> None:
    assert plan_learning("conjunctions", 200, epsilon=1.0, num_records=9999).learner.mechanism == "exponential"
    with pytest.raises(SettingError, match=r"too many.*rspm, if a guarantee that is conditional"):
        plan_learning("conjunctions", 200, epsilon=1.0, num_records=9999, max_literals=9)
    large = plan_learning("conjunctions", 200, epsilon=1.0, num_records=9999, max_literals=9, mechanism="rspm")
    assert large.reserve.conditional_epsilon == large.reserve.epsilon


def test_rspm_is_refused_where_its_noise_would_drown_the_records() -> None:
    plan_learning("parities", 10, epsilon=1.0, num_records=21, mechanism="rspm")
    with pytest.raises(SettingError, match="learn nothing"):
        plan_learning("parities", 10, epsilon=1.0, num_records=20, mechanism="rspm")


@pytest.mark.parametrize("mechanism", ["exponential", "rspm"])
def test_a_unit_of_several_rows_pays_what_was_asked(mechanism: str) -> None:
    plan = plan_learning("conjunctions", 20, epsilon=1.0, num_records=9999, mechanism=mechanism, rows_per_unit=3)
    reserve = plan.reserve
    assert reserve.epsilon is not None
    assert Fraction(999, 1000) < reserve.epsilon <= 1
    assert reserve.conditional_epsilon == (reserve.epsilon if mechanism == "rspm" else 0)


# --- tables ---


def test_a_table_gives_a_readable_rule_a_statement_and_a_debit(tmp_path: Path) -> None:
    asked = request(tmp_path)
    learned = learning.run(asked, Task("income = high"), tmp_path / "out")
    assert learned.words == "sex = Male and age >= 50"
    assert learned.accuracy(asked.table) == 1.0
    assert (tmp_path / "out/rule.txt").read_text() == (
        "Predict income = high exactly where: sex = Male and age >= 50\n"
    )
    statement = json.loads((tmp_path / "out/statement.json").read_text())
    assert statement == learned.statement | {"files": statement["files"]}  # what was written, by hash
    assert statement["guarantee"]["pure_epsilon"] == "1"
    assert "accuracy" not in json.dumps(statement)
    assert account(tmp_path).held().epsilon == 1
    account(tmp_path).verify()


def test_a_conditional_guarantee_is_stated_as_one(tmp_path: Path) -> None:
    learned = learning.run(request(tmp_path), Task("income = high", mechanism="rspm"), tmp_path / "out")
    assert learned.statement["guarantee"]["conditional"]["condition"] == CONDITION
    assert learned.statement["events"][0]["conditional"] == CONDITION
    held = account(tmp_path).held()
    assert held.conditional_epsilon == held.epsilon
    assert 0 < float(held.epsilon or 0) <= 1


def test_units_are_charged_as_groups(tmp_path: Path) -> None:
    learned = learning.run(request(tmp_path, people(unit="person")), Task("income = high"), tmp_path / "out")
    assert learned.statement["guarantee"]["rows_per_unit"] == 2
    assert learned.statement["events"][0]["event"]["kind"] == "group"
    assert account(tmp_path).held().epsilon == 1


def test_a_second_start_after_the_choice_pays_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Rule, "write", dies)
        with pytest.raises(Killed):
            learning.run(request(tmp_path), Task("income = high"), tmp_path / "out")
    with pytest.raises(OutputError, match="another plan"):
        learning.run(request(tmp_path), Task("income = low"), tmp_path / "out")
    learned = learning.run(request(tmp_path), Task("income = high"), tmp_path / "out")
    assert learned.words == "sex = Male and age >= 50"
    assert account(tmp_path).held().epsilon == 1
    assert len(account(tmp_path).runs()) == 1


@pytest.mark.parametrize("minimiser", [Unproved, Dies])
def test_without_a_certificate_nothing_comes_out_and_the_debit_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minimiser: type[Unproved]
) -> None:
    task = Task("income = high", mechanism="rspm")
    with monkeypatch.context() as patch:
        patch.setattr(plans, "ByBranching", minimiser)
        with pytest.raises((CertificateError, Killed)):
            learning.run(request(tmp_path), task, tmp_path / "out")
    spent = account(tmp_path).held()
    # A working solver does not get a second try at a choice that was paid for.
    with pytest.raises(CertificateError, match=r"the reason is private.*Choose another folder"):
        learning.run(request(tmp_path), task, tmp_path / "out")
    assert account(tmp_path).held() == spent
    assert not (tmp_path / "out/statement.json").exists()
    assert account(tmp_path).runs()[0]["status"] == "done"


def test_what_is_refused_costs_nothing(tmp_path: Path) -> None:
    small = Request(people(), epsilon=1.0, pure=True, ledger=tmp_path / "ledger.sqlite", memory_limit=10)
    with pytest.raises(CapacityError, match="fewer columns"):
        learning.run(small, Task("income = high"), tmp_path / "out")
    with pytest.raises(QueryError, match="a column"):
        learning.run(request(tmp_path), Task("wealth = high"), tmp_path / "out")
    alone = request(tmp_path, people().select(["income"]))
    with pytest.raises(SettingError, match="nothing to learn from"):
        learning.run(alone, Task("income = high"), tmp_path / "out")
    with pytest.raises(BudgetError):
        learning.run(request(tmp_path, people(epsilon=0.5)), Task("income = high"), tmp_path / "out")
    assert not account(tmp_path).held().rho


def test_a_folder_of_synthetic_data_is_left_alone(tmp_path: Path) -> None:
    eq.release(people(), epsilon=1.0, workload="1-way", method="mwem", options={"num_rounds": 1}).write(
        tmp_path / "out"
    )
    with pytest.raises(OutputError, match="holds a release"):
        learning.run(request(tmp_path), Task("income = high"), tmp_path / "out", overwrite=True)
