"""A session whose process is killed: what was told is what is stored, and it was paid for once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.analysts import table

from equipoise.analysts import Session
from equipoise.privacy.ledger import Ledger

REPOSITORY = Path(__file__).resolve().parents[2]
CHILD = """
import json, sys
from equipoise.analysts import Session
from tests.analysts import QUERIES, table
session = Session.open(table(), mode="noise", epsilon=1.0, analyst_epsilon=1.0, num_analysts=2, queries_each=1000,
                       ledger=sys.argv[1], run="s")
for i in range(1000):
    key = f"{i}"
    print(json.dumps([key, session.ask("ada", QUERIES[i % 5], key=key).share]), flush=True)
"""


def run_and_kill(ledger: Path, lines: int) -> dict[str, float]:
    """What a process told before it was killed."""
    environment = os.environ | {"PYTHONPATH": f"{REPOSITORY / 'src'}{os.pathsep}{REPOSITORY}"}
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(ledger)], stdout=subprocess.PIPE, text=True, env=environment, cwd=REPOSITORY
    )
    assert child.stdout is not None
    told = []
    for _ in range(lines):
        told.append(json.loads(child.stdout.readline()))
    time.sleep(0.02)
    child.send_signal(signal.SIGKILL)
    rest = child.stdout.read().splitlines()
    child.wait()
    child.stdout.close()
    for line in rest:
        if line.endswith("]"):
            told.append(json.loads(line))
    return dict(told)


def test_answers_survive_kills_and_are_paid_once(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    told: dict[str, float] = {}
    for lines in (3, 12):
        for key, share in run_and_kill(ledger, lines).items():
            assert told.setdefault(key, share) == share
    settings = {"epsilon": 1.0, "analyst_epsilon": 1.0, "num_analysts": 2, "queries_each": 1000}
    session = Session.open(table(), mode="noise", ledger=ledger, run="s", **settings)
    paid = session.status().num_paid
    assert len(told) <= paid <= len(told) + 2  # a kill between commit and telling
    assert session.status().analysts["ada"].asked == paid
    account = Ledger(ledger).existing("people")
    assert account is not None
    account.verify()
    run = account.run("s")
    assert run is not None
    assert len(run.events()) == paid
    session.close()
