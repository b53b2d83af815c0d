"""A solver that is killed, hangs or returns nonsense in a real release: it goes on, at the same price, and says so."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest

import equipoise as eq
from equipoise.data.schema import Schema
from equipoise.data.table import read
from equipoise.data.whole import Codes
from equipoise.oracles.apart import Apart
from equipoise.oracles.checked import Checked
from equipoise.oracles.instance import Instance
from equipoise.oracles.local_search import LocalSearch
from equipoise.oracles.oracle import Solutions
from equipoise.privacy.ledger import Ledger


@dataclass(frozen=True)
class Bad:
    """A solver with a fault.

    Attributes:
        fault: killed, hangs or nonsense.
    """

    name: ClassVar[str] = "bad"

    fault: str

    def refuses(self, instance: Instance) -> str | None:
        return None

    def solve(self, instance: Instance, rng: np.random.Generator) -> Solutions:
        if self.fault == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault == "hangs":
            time.sleep(3600)
        found = LocalSearch().solve(instance, rng)
        return replace(found, codes=np.full_like(found.codes, 77), values=np.full_like(found.values, np.nan))


def released(ledger: Path) -> eq.Release:
    rng = np.random.default_rng(0)
    rows = pa.table({name: rng.integers(0, 3, 400) for name in "abc"})
    table = read(rows, schema=Schema("toy", tuple(Codes(name=name, size=3) for name in "abc")))
    options: dict[str, Any] = {"num_rounds": 2, "num_records": 2}
    settings: dict[str, Any] = {"workload": "2-way", "method": "dual_query", "options": options, "seed": 1}
    return eq.release(table, epsilon=1.0, ledger=ledger, **settings)


@pytest.mark.parametrize(
    ("fault", "seconds", "note"),
    [
        ("killed", None, "apart failed (BrokenProcessPool)"),
        pytest.param("hangs", 0.5, "apart failed (TimeoutError)", marks=pytest.mark.slow),
        pytest.param("nonsense", None, "apart was wrong", marks=pytest.mark.slow),
    ],
)
def test_the_release_goes_on(
    fault: str, seconds: float | None, note: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = released(tmp_path / "good.sqlite")
    with Apart(Bad(fault), max_seconds=seconds) as solver:
        monkeypatch.setattr("equipoise.algorithms.dual_query.make_oracle", lambda _: Checked(solver))
        bad = released(tmp_path / "bad.sqlite")
    notes = bad.statement["method"]["notes"]
    assert any(note in line and "3 of 3 rounds" in line for line in notes), notes
    assert bad.statement["guarantee"] == good.statement["guarantee"]
    assert bad.statement["events"] == good.statement["events"]
    accounts = [Ledger(tmp_path / name).existing("toy") for name in ("good.sqlite", "bad.sqlite")]
    assert None not in accounts
    assert len({(account.verify(), account.held()) for account in accounts if account is not None}) == 1
    bad.write(tmp_path / "out")
    assert note in (tmp_path / "out" / "report.html").read_text()
    assert bad.sample(100).num_rows == 100
