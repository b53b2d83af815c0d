"""A solver that fails in a real release: the statement and the report say so, the guarantee is what it was."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import equipoise as eq
from equipoise.data.schema import Schema
from equipoise.data.table import Table, read
from equipoise.data.whole import Codes
from equipoise.oracles.branch_and_bound import BranchAndBound
from equipoise.oracles.local_search import LocalSearch
from equipoise.privacy import accountant
from equipoise.verification.claims import check_claims


def table() -> Table:
    """Three columns that are nearly equal, and mostly 0: far from what records at random would be."""
    rng = np.random.default_rng(0)
    value = (rng.random(400) < 0.2) * rng.integers(1, 3, 400)
    rows = {name: np.where(rng.random(400) < 0.1, 0, value) for name in "abc"}
    return read(pa.table(rows), schema=Schema("toy", tuple(Codes(name=name, size=3) for name in "abc")))


def released(epsilon: float = 1.0, num_rounds: int = 5) -> eq.Release:
    options = {"num_rounds": num_rounds, "num_records": 2}
    return eq.release(table(), epsilon=epsilon, workload="2-way", method="dual_query", options=options, seed=1)


def killed(*_: object) -> None:
    raise ChildProcessError("killed")


def test_the_statement_and_the_report_say_how_often_the_solver_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    good = released()
    monkeypatch.setattr(BranchAndBound, "solve", killed)
    bad = released()
    assert good.statement["method"]["notes"] == []
    # Six: five rounds, and the records that are played before the first draw.
    assert any("branch_and_bound failed" in note and "6 of 6" in note for note in bad.statement["method"]["notes"])
    assert bad.statement["guarantee"] == good.statement["guarantee"]
    assert bad.statement["events"] == good.statement["events"]
    bad.write(tmp_path)
    assert "branch_and_bound failed" in (tmp_path / "report.html").read_text()
    assert bad.sample(1000).num_rows == 1000


@pytest.mark.parametrize("method", ["dual_query", "dqrs", "fem", "sep_fem"])
def test_when_nothing_solves_accuracy_suffers_and_the_report_says_so(
    method: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def released() -> eq.Release:
        options = {"num_rounds": 30, "num_records": 10}
        return eq.release(table(), epsilon=10.0, workload="2-way", method=method, options=options, seed=1)

    good = released()
    for solver in (BranchAndBound, LocalSearch):
        monkeypatch.setattr(solver, "solve", killed)
    bad = released()
    assert bad.statement["guarantee"] == good.statement["guarantee"]
    errors = [eq.evaluate(made, table()).model.max for made in (good, bad)]
    assert errors[0] < 0.25 < 0.5 < errors[1], "records at random must be seen to be worse"
    bad.write(tmp_path)
    report = (tmp_path / "report.html").read_text()
    for words in ("records were drawn at random", "accuracy may have suffered, the guarantee has not"):
        assert any(words in note for note in bad.statement["method"]["notes"])
        assert words in report


def test_the_guarantee_of_dqrs_is_what_it_was_held_to_and_not_what_its_coins_came_to() -> None:
    options = {"num_rounds": 30, "num_records": 2}
    made = eq.release(table(), epsilon=10.0, workload="2-way", method="dqrs", options=options, seed=1)
    planned = eq.plan(table(), epsilon=10.0, workload="2-way", method="dqrs", options=options).cost.rho
    charged = sum(event["rho"] for event in made.statement["events"])
    claim = made.statement["guarantee"]
    assert charged < float(planned), "draws are whole, so something is left over"
    assert Fraction(claim["rho_exact"]) == planned
    at = accountant.epsilon_of(rho=planned, delta=1e-6)
    assert claim["curve"]["1e-06"] == pytest.approx(at)
    assert all(check.holds for check in check_claims(made.statement))
