"""SIGKILL at twenty random moments: afterwards the ledger, the moves and a second start agree."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from equipoise.core import Move
from equipoise.privacy.ledger import Account, Ledger

NUM_KILLS = 20
NUM_ROUNDS = 60

SCHEMA = """
[table]
name = "toy"
[privacy]
epsilon = 1000.0
delta = 1e-9
[columns.a]
type = "ordinal"
values = ["0", "1", "2"]
[columns.b]
type = "ordinal"
values = ["0", "1", "2", "3"]
[columns.c]
type = "ordinal"
values = ["0", "1"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 3000)
    columns = {"a": a, "b": (a + rng.integers(0, 2, 3000)) % 4, "c": (a + rng.integers(0, 2, 3000)) % 2}
    pq.write_table(pa.table({k: pa.array(v.astype(str)) for k, v in columns.items()}), place / "toy.parquet")
    (place / "toy.toml").write_text(SCHEMA)
    return place


def command(folder: Path, out: str) -> list[str]:
    return [
        *(sys.executable, "-m", "equipoise.cli", "release", str(folder / "toy.parquet")),
        *("--schema", str(folder / "toy.toml"), "--epsilon", "1", "--workload", "2-way", "--method", "mwem"),
        *("--option", f"num_rounds={NUM_ROUNDS}", "--option", "moves=cell", "-o", str(folder / out)),
    ]


def account(folder: Path) -> Account:
    found = Ledger(folder / "toy.ledger.sqlite").existing("toy")
    assert found is not None
    return found


def num_moves(folder: Path) -> int:
    """Moves in the ledger so far, of all runs; a reader disturbs nobody."""
    try:
        with contextlib.closing(
            sqlite3.connect(f"file:{folder / 'toy.ledger.sqlite'}?mode=ro", uri=True)
        ) as connection:
            return int(connection.execute("SELECT count(*) FROM moves").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def kill_at_a_random_moment(folder: Path, out: str, rng: random.Random) -> None:
    """Start a release and kill it: often after a random number of moves, else after a random time."""
    before, target = num_moves(folder), rng.randrange(NUM_ROUNDS)
    process = subprocess.Popen(command(folder, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        if rng.random() < 0.6:
            deadline = time.monotonic() + 120
            while num_moves(folder) - before < target and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.001)
        else:
            time.sleep(rng.uniform(0.05, 4))
        os.kill(process.pid, signal.SIGKILL)
    finally:
        process.wait(30)


def same(move: Move, other: Move) -> bool:
    return bool(
        np.array_equal(move.ids, other.ids)
        and np.array_equal(np.asarray(move.values), np.asarray(other.values))
        and move.stddev == other.stddev
    )


def test_twenty_kills(folder: Path) -> None:
    rng = random.Random(20)
    interrupted = 0
    for number in range(NUM_KILLS):
        out = f"out{number}"
        kill_at_a_random_moment(folder, out, rng)
        marker = folder / out / ".run.json"
        run_id = json.loads(marker.read_text())["run"] if marker.exists() else None
        known = None
        if run_id is not None and (folder / "toy.ledger.sqlite").exists():
            found = Ledger(folder / "toy.ledger.sqlite").existing("toy")
            known = None if found is None else found.run(run_id)
        before = [] if known is None else known.moves()
        if known is not None:
            account(folder).verify()
            assert len(known.events()) == 2 * len(before)  # never a debit without its answer, nor the reverse
            interrupted += 0 < len(before) < NUM_ROUNDS
        if not (folder / out / "statement.json").exists():
            done = subprocess.run(command(folder, out), capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, done.stderr
        final_id = json.loads((folder / out / "statement.json").read_text())["ledger_run"]
        assert run_id in (None, final_id)
        final = account(folder).run(final_id)
        assert final is not None
        after = final.moves()
        assert len(after) == NUM_ROUNDS
        assert all(same(a, b) for a, b in zip(before, after, strict=False))  # no answer lost or changed
        planned = sum(
            (Fraction(cost["rho"]) for cost in _planned(final.plan)),
            Fraction(0),
        )
        assert final.spent().rho == planned  # none paid for twice: exactly the plan's total
        assert len(final.events()) == 2 * NUM_ROUNDS
        assert pq.read_table(folder / out / "moves.parquet").num_rows == NUM_ROUNDS
    runs = account(folder).runs()
    assert len(runs) == NUM_KILLS
    assert {run["status"] for run in runs} == {"done"}
    account(folder).verify()
    assert interrupted >= 3, "too few kills landed inside a game to mean anything"


def _planned(plan: dict[str, object]) -> list[dict[str, Fraction]]:
    from equipoise.privacy.accountant import cost
    from equipoise.privacy.events import from_json

    events = plan["plan"]["events"]  # type: ignore[index]
    return [{"rho": cost(from_json(item["event"])).rho * item["times"]} for item in events]


def test_two_processes_in_one_folder(folder: Path) -> None:
    """The second is told to wait; the first finishes; nothing is paid for twice."""
    first = subprocess.Popen(command(folder, "shared"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    lock = folder / "shared" / ".run.json"
    deadline = time.monotonic() + 60
    while not lock.exists() and first.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    second = subprocess.run(command(folder, "shared"), capture_output=True, text=True, timeout=120)
    assert first.wait(120) == 0
    assert second.returncode == 9
    assert "another process" in second.stderr or "already holds a release" in second.stderr
