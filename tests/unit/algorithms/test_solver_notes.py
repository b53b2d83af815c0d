"""A solver that fails in a real release: the statement and the report say so, the guarantee is what it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import equipoise as eq
from equipoise.data.schema import Schema
from equipoise.data.table import read
from equipoise.data.whole import Codes
from equipoise.oracles.branch_and_bound import BranchAndBound


def released(seed: int = 0) -> eq.Release:
    rng = np.random.default_rng(seed)
    rows = pa.table({name: rng.integers(0, 3, 400) for name in "abc"})
    table = read(rows, schema=Schema("toy", tuple(Codes(name=name, size=3) for name in "abc")))
    options = {"num_rounds": 5, "num_records": 2}
    return eq.release(table, epsilon=1.0, workload="2-way", method="dual_query", options=options, seed=1)


def test_the_statement_and_the_report_say_how_often_the_solver_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    good = released()

    def killed(*_: object) -> None:
        raise ChildProcessError("killed")

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
