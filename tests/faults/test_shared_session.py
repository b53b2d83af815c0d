"""Several processes on one session, begun at the same moment: they tell the same, and pay once for each answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.analysts import MANY, table

from equipoise.analysts import Session
from equipoise.privacy.ledger import Ledger

REPOSITORY = Path(__file__).resolve().parents[2]
NUM_PROCESSES = 3
SHARED, OWN = 8, 6
CHILD = """
import json, sys
from equipoise.analysts import Session
from tests.analysts import QUERIES, table
session = Session.open(table(), mode=sys.argv[1], epsilon=50.0, analyst_epsilon=50.0, num_analysts=4,
                       queries_each=int(sys.argv[2]), ledger=sys.argv[3], run="s")
shared = [session.ask("ada", QUERIES[i % 5], key=f"{i}").to_json() for i in range(int(sys.argv[5]))]
own = [session.ask(sys.argv[4], QUERIES[i % 5]).to_json() for i in range(int(sys.argv[6]))]
print(json.dumps([shared, own]))
"""


@pytest.mark.parametrize("mode", ["noise", "pmw"])
def test_processes_on_one_session_agree_and_pay_once(ledger_location: str, mode: str) -> None:
    size = 100 if mode == "noise" else MANY
    environment = os.environ | {"PYTHONPATH": f"{REPOSITORY / 'src'}{os.pathsep}{REPOSITORY}"}
    command = [sys.executable, "-c", CHILD, mode, str(size), ledger_location]
    with ExitStack() as stack:
        children = []
        for number in range(NUM_PROCESSES):
            arguments = [*command, f"analyst {number}", str(SHARED), str(OWN)]
            child = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment, cwd=REPOSITORY)
            children.append(stack.enter_context(child))
            stack.callback(child.kill)
        told = [json.loads(child.communicate(timeout=240)[0]) for child in children]
    assert all(shared == told[0][0] for shared, _ in told)
    answers = [*told[0][0], *(answer for _, own in told for answer in own)]
    paid = sum(answer["source"] == "paid" for answer in answers)
    settings = {"epsilon": 50.0, "analyst_epsilon": 50.0, "num_analysts": 4, "queries_each": size}
    session = Session.open(table(), mode=mode, ledger=ledger_location, run="s", **settings)  # type: ignore[arg-type]
    assert session.plan.mode == mode
    status = session.status()
    assert 0 < paid == status.num_paid == sum(use.paid for use in status.analysts.values())
    assert set(status.analysts) == {"ada", *(f"analyst {number}" for number in range(NUM_PROCESSES))}
    account = Ledger(ledger_location).existing("people")
    assert account is not None
    account.verify()
    run = account.run("s")
    assert run is not None
    if mode == "noise":
        assert paid == SHARED + NUM_PROCESSES * OWN == len(run.events())
        assert [use.asked for _, use in sorted(status.analysts.items())] == [SHARED, *([OWN] * NUM_PROCESSES)]
    else:
        assert len(run.events()) == 1
        assert status.version == paid
    session.close()
