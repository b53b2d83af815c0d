"""Releases at once on one ledger: real processes, SQLite and PostgreSQL; they never spend more than it holds."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.faults.toy import Toy

from equipoise.privacy.accountant import rho_of
from equipoise.privacy.ledger import Ledger

NUM_RELEASES = 3


def test_releases_at_once_cannot_overspend(ledger_location: str, tmp_path: Path) -> None:
    """The total covers one release of epsilon 1 and not two: one ends well, the others are told."""
    toy = Toy(tmp_path, 20, ledger_location, total=(1.3, 1e-7)).write()
    processes = [
        subprocess.Popen(
            toy.process(f"out{number}"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(NUM_RELEASES)
    ]
    ended = [(process.communicate(timeout=240), process.returncode) for process in processes]
    codes = sorted(code for _, code in ended)
    total, one = rho_of(epsilon=1.3, delta=1e-7), rho_of(epsilon=1.0, delta=1 / 3000**2)
    assert one <= total < 2 * one, "the test's budget must cover one release and not two"
    assert codes == [0, 6, 6], [out for out, _ in ended]
    account = Ledger(ledger_location).existing("toy")
    assert account is not None
    assert account.held().rho <= total
    assert [run["status"] for run in account.runs()] == ["done"]
    account.verify()
