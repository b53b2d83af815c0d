"""Releases at once on one ledger: real processes, SQLite and PostgreSQL; they never spend more than it holds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from equipoise.privacy.accountant import rho_of
from equipoise.privacy.ledger import Ledger

NUM_RELEASES = 3

SCHEMA = """
[table]
name = "toy"
[privacy]
epsilon = 1.3
delta = 1e-7
[columns.a]
type = "ordinal"
values = ["0", "1", "2"]
[columns.b]
type = "ordinal"
values = ["0", "1", "2", "3"]
"""


def test_releases_at_once_cannot_overspend(ledger_location: str, tmp_path: Path) -> None:
    """The total covers one release of epsilon 1 and not two: one ends well, the others are told."""
    rng = np.random.default_rng(0)
    columns = {"a": rng.integers(0, 3, 3000).astype(str), "b": rng.integers(0, 4, 3000).astype(str)}
    pq.write_table(pa.table({name: pa.array(values) for name, values in columns.items()}), tmp_path / "toy.parquet")
    (tmp_path / "toy.toml").write_text(SCHEMA)
    processes = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "equipoise.cli", "release", str(tmp_path / "toy.parquet")),
                *("--schema", str(tmp_path / "toy.toml"), "--epsilon", "1", "--workload", "2-way"),
                *("--method", "mwem", "--option", "num_rounds=20", "--option", "moves=cell"),
                *("--ledger", ledger_location, "-o", str(tmp_path / f"out{number}")),
            ],
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
