"""Ctrl-C in the middle of a fit: nothing is lost, nothing is paid twice, and the second start ends where one would."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from equipoise.privacy.ledger import Account, Ledger

NUM_COLUMNS = 12

pytestmark = pytest.mark.usefixtures("interruptible")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    latent = rng.integers(0, 4, 4000)
    columns = {f"c{j}": (latent + rng.integers(0, 3, 4000)) % 6 for j in range(NUM_COLUMNS)}
    pq.write_table(pa.table({k: pa.array(v.astype(np.uint8)) for k, v in columns.items()}), tmp_path / "toy.parquet")
    (tmp_path / "toy.domain.json").write_text(json.dumps(dict.fromkeys(columns, 6)))
    return tmp_path


def command(folder: Path, verb: str, *more: str) -> list[str]:
    return [
        *(sys.executable, "-m", "equipoise.cli", verb, str(folder / "toy.parquet")),
        *("--domain", str(folder / "toy.domain.json"), "--epsilon", "1", "--workload", "2-way", "--method", "mixture"),
        *("--ledger", str(folder / "ledger.sqlite"), "--seed", "3", "--rows", "500", *more),
    ]


def account(folder: Path) -> Account:
    ledger = Ledger(folder / "ledger.sqlite")
    found = ledger.existing("toy")
    assert found is not None
    return found


def committed(folder: Path, table: str) -> int:
    try:
        with closing(sqlite3.connect(f"file:{folder / 'ledger.sqlite'}?mode=ro", uri=True)) as connection:
            return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def interrupt(arguments: list[str], ready: Callable[[], bool]) -> tuple[int, str]:
    """Start a command, send SIGINT a little after `ready`, and return its exit code and what it said."""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 240
    while not ready() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(0.2)
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=120)
    return process.returncode, said


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def finish(arguments: list[str]) -> dict[str, Any]:
    done = subprocess.run([*arguments, "--json"], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_an_interrupted_fit_goes_on_and_ends_as_if_it_had_not_been(folder: Path) -> None:
    # Many sweeps and components, so that the fit lasts; the measurement is one move, made before it.
    fit = ("--option", "num_sweeps=150", "--option", "num_components=300", "--option", "num_top_ups=0")
    arguments = command(folder, "release", *fit, "-o", str(folder / "out"))
    code, said = interrupt(arguments, lambda: committed(folder, "moves") > 0)
    assert code == 130, said
    assert "interrupted; nothing is lost: repeat the command" in said
    (before,) = account(folder).runs()
    assert before["status"] == "open"
    assert before["spent"] == before["reserved"]  # measured, paid for, and only the fit is missing
    account(folder).verify()
    finish(command(folder, "release", *fit, "-o", str(folder / "out")))
    (after,) = account(folder).runs()
    assert after["status"] == "done"
    assert (after["run"], after["spent"]) == (before["run"], before["spent"])
    first = digest(folder / "out" / "model.npz"), digest(folder / "out" / "synthetic.csv")
    # The same moves fitted once more from the ledger, by a start that finds everything paid: bit for bit the same.
    (folder / "out" / "statement.json").unlink()
    finish(command(folder, "release", *fit, "-o", str(folder / "out")))
    assert (digest(folder / "out" / "model.npz"), digest(folder / "out" / "synthetic.csv")) == first
    assert account(folder).held() == before["spent"]


def test_an_interrupted_tuning_keeps_its_dice(folder: Path) -> None:
    more = (
        "--grid",
        "num_sweeps=100,150",
        "--trials",
        "2",
        "--option",
        "num_components=300",
        "-o",
        str(folder / "out"),
    )
    arguments = command(folder, "tune", *more)
    code, said = interrupt(arguments, lambda: committed(folder, "sealed") > 1)
    assert code == 130, said
    assert "nothing is lost" in said
    (before,) = account(folder).runs()
    assert before["spent"] == before["reserved"]
    finish(arguments)
    (after,) = account(folder).runs()
    assert after["status"] == "done"
    assert (after["run"], after["spent"]) == (before["run"], before["spent"])
    assert committed(folder, "sealed") == 0
    account(folder).verify()
