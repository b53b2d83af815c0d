"""Budgets of plans: what a claim is worth, in zCDP or in Gaussian privacy, and never more."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.schemas import declared, ordinal

from equipoise import algorithms, pipeline
from equipoise.algorithms import Plan, Players, Setting
from equipoise.data.table import Table, read
from equipoise.privacy import accountant
from equipoise.privacy.events import Gaussian
from equipoise.request import Request, prepare
from equipoise.verification.claims import check_claims

CREATE = algorithms.create
EPSILON, DELTA = 1.0, 1e-7
ZCDP, GAUSSIAN = (
    accountant.rho_of(epsilon=EPSILON, delta=DELTA),
    accountant.gaussian_worth(epsilon=EPSILON, delta=DELTA),
)


def table_in(folder: Path, total: tuple[float, float] | None = None) -> Table:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 3000)
    rows = {"a": a, "b": (a + rng.integers(0, 2, 3000)) % 4, "c": rng.integers(0, 5, 3000)}
    columns = (ordinal("a", 3), ordinal("b", 4), ordinal("c", 5))
    (folder / "toy.toml").write_text(declared(*columns, name="toy", total=total))
    return read(pa.table({k: pa.array(v.astype(str)) for k, v in rows.items()}), schema=folder / "toy.toml")


def request(table: Table, **more: Any) -> Request:
    return Request(table, **({"epsilon": EPSILON, "delta": DELTA, "workload": "2-way"} | more))


@pytest.mark.parametrize("method", ["auto", "mixture", "hdmm", "gem"])
def test_plans_of_gaussian_noise_spend_what_the_claim_is_worth_of_it(tmp_path: Path, method: str) -> None:
    cost = prepare(request(table_in(tmp_path), method=method)).plan.cost
    assert cost.gaussian is not None
    assert GAUSSIAN * Fraction(999, 1000) <= cost.gaussian <= GAUSSIAN
    assert cost.rho > ZCDP * Fraction(105, 100)
    assert accountant.epsilon_at(cost, delta=DELTA) <= EPSILON


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("mwem", {"num_rounds": 3, "moves": "cell"}),
        ("pep", {"num_rounds": 3, "moves": "cell"}),
        ("rap_softmax", {}),
        ("dual_query", {}),
    ],
)
def test_plans_that_select_as_much_as_they_measure_stay_within_zcdp(
    tmp_path: Path, method: str, options: dict[str, Any]
) -> None:
    prepared = prepare(request(table_in(tmp_path), method=method, options=options))
    assert prepared.plan.cost.rho <= ZCDP
    assert prepared.setting.claim == (EPSILON, DELTA)


def test_a_plan_whose_events_are_not_fixed_stays_within_zcdp(tmp_path: Path) -> None:
    options = {"schedule": "annealed", "moves": "marginal", "selection_share": Fraction(1, 50), "num_rounds": 2}
    prepared = prepare(request(table_in(tmp_path), method="pep", options=options))
    assert prepared.plan.cost.rho <= ZCDP
    assert prepared.plan.reserve.gaussian is None
    assert accountant.total(prepared.plan.events).gaussian


def test_a_pure_plan_is_what_it_was(tmp_path: Path) -> None:
    prepared = prepare(request(table_in(tmp_path), method="pep", pure=True, delta=None))
    assert prepared.setting.rho is None
    assert prepared.plan.cost.epsilon == 1


def test_a_release_has_no_more_rho_than_the_declared_total(tmp_path: Path) -> None:
    table = table_in(tmp_path, total=(EPSILON, DELTA))
    cost = prepare(request(table)).plan.cost
    assert ZCDP * Fraction(999, 1000) <= cost.rho <= ZCDP
    made = pipeline.release(request(table, options={"objective": "mean"}, seed=1))
    assert made.statement["guarantee"]["definition"].endswith("by zCDP")


def test_the_statement_says_by_what_and_verification_agrees(tmp_path: Path) -> None:
    made = pipeline.release(request(table_in(tmp_path), seed=1))
    claim = made.statement["guarantee"]
    assert claim["definition"].endswith("by Gaussian differential privacy")
    assert claim["mu"] == pytest.approx(float(2 * GAUSSIAN) ** 0.5, rel=1e-3)
    assert Fraction(claim["half_mu_squared_exact"]) <= GAUSSIAN
    assert accountant.epsilon_of(rho=Fraction(claim["rho_exact"]), delta=DELTA) > EPSILON
    assert all(check.holds for check in check_claims(made.statement))
    for name, value in (("epsilon", 0.99), ("mu", claim["mu"] * 0.99), ("half_mu_squared_exact", "1/1000")):
        lied = made.statement | {"guarantee": claim | {name: value}}
        assert not all(check.holds for check in check_claims(lied)), name


class Greedy:
    """A method that takes more than in proportion when it is given more."""

    name = "greedy"

    def plan(self, setting: Setting) -> Plan:
        plan = algorithms.create("hdmm", {}).plan(setting)
        assert setting.rho is not None
        grown = setting.rho * (3 if setting.rho > ZCDP else 1)
        return replace(plan, events=((Gaussian(Fraction(1), 1 / (2 * grown)), 1),))

    def players(self, setting: Setting, plan: Plan) -> Players:
        return algorithms.create("hdmm", {}).players(setting, plan)


def test_a_plan_that_would_take_more_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        algorithms, "create", lambda name, options: Greedy() if name == "greedy" else CREATE(name, options)
    )
    prepared = prepare(request(table_in(tmp_path), method="greedy"))
    assert prepared.plan.cost.rho <= ZCDP
