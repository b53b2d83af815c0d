"""A clock set back by years, in the middle of a release and under a running service."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from tests.faults.clock import Clock
from tests.faults.toy import Toy, num_moves
from tests.service.conftest import invite_ada, make_table
from tests.service.processes import Process

import equipoise as eq

DAY = 24 * 3600
YEAR = 365 * DAY


@pytest.mark.slow
def test_a_clock_set_back_changes_nothing_about_a_release(tmp_path: Path) -> None:
    toy, clock = Toy(tmp_path, 100).write(), Clock.made_in(tmp_path)
    clock.move(3 * YEAR)
    process = subprocess.Popen(
        toy.process("out"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=clock.environment
    )
    deadline = time.monotonic() + 240
    while num_moves(Path(toy.ledger)) < 3 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
    clock.move(-9 * YEAR)
    _, said = process.communicate(timeout=240)
    assert process.returncode == 0, said
    toy.require_exact([])
    again = subprocess.run(toy.process("out2"), capture_output=True, text=True, env=clock.environment, timeout=240)
    assert again.returncode == 0, again.stderr
    account = toy.account()
    assert account is not None
    account.verify()
    first, second = account.runs()  # in the order of the ledger, not of the clock
    assert int(first["created"][:4]) - int(second["created"][:4]) >= 10
    assert first["spent"] == second["spent"]


@pytest.mark.slow
def test_a_clock_set_back_under_a_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_table(tmp_path / "root")
    clock = Clock.made_in(tmp_path)
    for name in ("LD_PRELOAD", "MOVED_CLOCK"):
        monkeypatch.setenv(name, clock.environment[name])
    process = Process(tmp_path / "root", tmp_path / "state").start()
    monkeypatch.delenv("LD_PRELOAD")  # this process keeps the true time
    try:
        with eq.Client(process.address, token=process.token, patience=60.0) as steward:
            token = invite_ada(steward)
            with eq.Client(process.address, token=token, patience=60.0) as ada:
                answer = ada.ask("sex = Male", key="k")
                clock.move(-2 * YEAR)
                assert ada.ask("sex = Male", key="k") == answer
                assert ada.ask("sex = Female", key="l").source == "paid"
                job = steward.release("people", epsilon=1.0, workload="1-way", method="mwem", rows=50)
                assert steward.wait(job)["state"] == "done"
                clock.move(YEAR)  # beyond the token's ninety days
                with pytest.raises(eq.EquipoiseError, match="token"):
                    ada.ask("sex = Male", key="k")
                clock.move(0)
                assert ada.ask("sex = Male", key="k") == answer  # expiry goes by the machine's clock, and says so
                assert len(ada.questions()) == 2
    finally:
        process.stop()
