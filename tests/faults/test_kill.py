"""SIGKILL at twenty random moments: afterwards the ledger, the moves and a second start agree."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pyarrow.parquet as pq
from tests.faults.toy import Toy, num_moves, planned, same

from equipoise.privacy.ledger import Ledger

NUM_KILLS = 20
NUM_ROUNDS = 60


def kill_at_a_random_moment(toy: Toy, out: str, rng: random.Random) -> None:
    """Start a release and kill it: often after a random number of moves, else after a random time."""
    before, target = num_moves(Path(toy.ledger)), rng.randrange(NUM_ROUNDS)
    process = subprocess.Popen(toy.process(out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        if rng.random() < 0.6:
            deadline = time.monotonic() + 120
            while (
                num_moves(Path(toy.ledger)) - before < target and process.poll() is None and time.monotonic() < deadline
            ):
                time.sleep(0.001)
        else:
            time.sleep(rng.uniform(0.05, 4))
        os.kill(process.pid, signal.SIGKILL)
    finally:
        process.wait(30)


def test_twenty_kills(tmp_path: Path) -> None:
    toy = Toy(tmp_path, NUM_ROUNDS).write()
    rng = random.Random(20)
    interrupted = 0
    for number in range(NUM_KILLS):
        out = f"out{number}"
        kill_at_a_random_moment(toy, out, rng)
        marker = tmp_path / out / ".run.json"
        run_id = json.loads(marker.read_text())["run"] if marker.exists() else None
        known = None
        if run_id is not None and Path(toy.ledger).exists():
            found = Ledger(toy.ledger).existing("toy")
            known = None if found is None else found.run(run_id)
        before = [] if known is None else known.moves()
        account = toy.account()
        if known is not None:
            assert account is not None
            account.verify()
            assert len(known.events()) == 2 * len(before)  # never a debit without its answer, nor the reverse
            interrupted += 0 < len(before) < NUM_ROUNDS
        if not (tmp_path / out / "statement.json").exists():
            done = subprocess.run(toy.process(out), capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, done.stderr
        final_id = json.loads((tmp_path / out / "statement.json").read_text())["ledger_run"]
        assert run_id in (None, final_id)
        account = toy.account()
        assert account is not None
        final = account.run(final_id)
        assert final is not None
        after = final.moves()
        assert len(after) == NUM_ROUNDS
        assert all(same(a, b) for a, b in zip(before, after, strict=False))  # no answer lost or changed
        assert final.spent().rho == planned(final.plan)  # none paid for twice: exactly the plan's total
        assert len(final.events()) == 2 * NUM_ROUNDS
        assert pq.read_table(tmp_path / out / "moves.parquet").num_rows == NUM_ROUNDS
    account = toy.account()
    assert account is not None
    runs = account.runs()
    assert len(runs) == NUM_KILLS
    assert {run["status"] for run in runs} == {"done"}
    account.verify()
    assert interrupted >= 3, "too few kills landed inside a game to mean anything"


def test_two_processes_in_one_folder(tmp_path: Path) -> None:
    """The second is told to wait; the first finishes; nothing is paid for twice."""
    toy = Toy(tmp_path, NUM_ROUNDS).write()
    first = subprocess.Popen(toy.process("shared"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    lock = tmp_path / "shared" / ".run.json"
    deadline = time.monotonic() + 60
    while not lock.exists() and first.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    second = subprocess.run(toy.process("shared"), capture_output=True, text=True, timeout=120)
    assert first.wait(120) == 0
    assert second.returncode == 9
    assert "another process" in second.stderr or "already holds a release" in second.stderr
