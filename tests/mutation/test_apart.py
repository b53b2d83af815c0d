"""What a mutant does ends with it: its process, its time, and the files that it leaves.

In an interpreter of its own: a process that has threads, as one of many tests may have, should not be forked.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from tests.mutation.apart import DEAD

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAM = """
import os, signal, sqlite3
from pathlib import Path
from tests.mutation.apart import forked

def leave_a_database():
    with sqlite3.connect(str(None)) as connection:  # what a mutant of the ledger's address did
        connection.execute("CREATE TABLE entries (number INTEGER)")
    return 0 if Path("None").stat().st_size else 2

def fail():
    os.close(2)  # its traceback is no news
    raise ValueError("a test that failed")

def work_for_ever():
    while True:
        pass
"""


def _told(tmp_path: Path, *works: str) -> list[int]:
    """What each of these is found to have returned, in one interpreter; nothing is left in the folder it runs in."""
    told = "".join(f"print(forked({work}, 1))\n" for work in works)
    command = [sys.executable, "-c", PROGRAM + told]
    paths = [str(REPOSITORY), str(REPOSITORY / "src")]
    run = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": ":".join(paths)}, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert not list(tmp_path.iterdir())
    return [int(line) for line in run.stdout.split()]


def test_files_that_a_mutant_leaves_are_left_nowhere(tmp_path: Path) -> None:
    assert _told(tmp_path, "leave_a_database", "lambda: len(os.listdir())") == [0, 0]


def test_errors_signals_and_endless_work_are_told_apart(tmp_path: Path) -> None:
    killed = "lambda: os.kill(os.getpid(), signal.SIGTERM)"
    found = _told(tmp_path, "lambda: 3", "fail", killed, "work_for_ever")
    assert found == [3, DEAD, -signal.SIGTERM, -signal.SIGXCPU]
