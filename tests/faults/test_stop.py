"""SIGTERM, as service managers and shutdowns send it: what is open is closed, and the second start goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from tests.faults.toy import Toy, num_moves
from tests.service.conftest import invite_ada, make_table
from tests.service.processes import Process

import equipoise as eq


def test_a_terminated_release_says_how_to_go_on(tmp_path: Path) -> None:
    toy = Toy(tmp_path, 150).write()
    process = subprocess.Popen(toy.process("out"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 240
    while num_moves(Path(toy.ledger)) < 3 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGTERM)
    _, said = process.communicate(timeout=240)
    assert process.returncode == 143, said
    assert "stopped by SIGTERM; nothing is lost: repeat the command" in said
    assert "Traceback" not in said
    before = toy.moves()
    assert 0 < len(before) < toy.num_rounds
    toy.require_sound()
    done = subprocess.run(toy.process("out"), capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    toy.require_exact(before)


def test_a_terminated_service_ends_well_and_keeps_its_answers(tmp_path: Path) -> None:
    make_table(tmp_path / "root")
    process = Process(tmp_path / "root", tmp_path / "state").start()
    try:
        with eq.Client(process.address, token=process.token, patience=60.0) as steward:
            token = invite_ada(steward)
        with eq.Client(process.address, token=token, patience=60.0) as ada:
            answer = ada.ask("sex = Male", key="k")
        assert process.terminate() == 0
        process.start()
        with eq.Client(process.address, token=token, patience=60.0) as ada:
            assert ada.ask("sex = Male", key="k") == answer
    finally:
        process.stop()
