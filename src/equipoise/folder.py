"""The output folder of a run: locked while it is written, and marked so that a killed run is found again.

The marker is written before the ledger is touched. A second start that finds it takes up the same run: what was paid
for is replayed, nothing is paid for twice.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from equipoise.data.manifest import STATEMENT
from equipoise.data.write import write_bytes
from equipoise.errors import OutputError
from equipoise.releases import is_complete

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["hold", "is_unfinished", "lock", "run_of"]

MARKER = ".run.json"
WITNESSES = {"release": "synthetic.parquet", "rule": "rule.json"}
"""A file that only folders of this kind have."""


@contextlib.contextmanager
def hold(folder: str | Path, *, overwrite: bool, kind: Literal["release", "rule"] = "release") -> Iterator[Path]:
    """Make the folder and keep every other process out of it.

    Raises:
        OutputError: it cannot be written, holds a finished release or something of another kind, or another process is
            at work in it.
    """
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(target / ".lock", os.O_CREAT | os.O_RDWR, 0o644)
    except OSError as error:
        raise OutputError(f"cannot write to {target}: {error.strerror}; choose another folder with -o") from error
    try:
        if not lock(descriptor):
            raise OutputError(f"another process is writing to {target}; wait for it, or choose another folder with -o")
        for other, witness in WITNESSES.items():
            if other != kind and (target / witness).exists():  # else parts of both would lie side by side
                raise OutputError(f"{target} holds a {other}, not a {kind}; choose another folder with -o")
        if is_complete(target):
            if not overwrite:
                raise OutputError(
                    f"{target} already holds a release; choose another folder, or pass --overwrite for a new one"
                )
            _unmark_finished(target)
        yield target
    finally:
        os.close(descriptor)


def lock(descriptor: int) -> bool:
    """Take a file for this process, until it is closed or the process ends; False when another has it."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def is_unfinished(folder: Path) -> bool:
    """Whether a release has begun in the folder and not ended."""
    return (folder / MARKER).is_file() and run_of(folder) != _finished_run(folder)


def _unmark_finished(folder: Path) -> None:
    """Let a new run begin; but if one that replaces the finished release has begun already, that one goes on.

    The finished release itself stays until the new one is written: a replacement that is refused destroys nothing.
    """
    if not is_unfinished(folder):
        (folder / MARKER).unlink(missing_ok=True)


def _finished_run(folder: Path) -> str | None:
    try:
        return str(json.loads((folder / STATEMENT).read_text())["ledger_run"])
    except (ValueError, KeyError, OSError):
        return None


def run_of(folder: Path) -> str:
    """The id of the run that this folder belongs to: the marked one, or a new one that is marked now."""
    marker = folder / MARKER
    if marker.is_file():
        try:
            return str(json.loads(marker.read_text())["run"])
        except (ValueError, KeyError, OSError) as error:
            raise OutputError(
                f"{marker} is damaged; see `equipoise ledger` for unfinished releases, then remove it"
            ) from error
    run = secrets.token_hex(16)
    write_bytes(json.dumps({"run": run}).encode(), marker)
    return run
