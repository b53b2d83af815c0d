"""The output folder of a run: locked while it is written, and marked so that a killed run is found again.

The marker is written before the ledger is touched. A second start that finds it takes up the same run: what was paid
for is replayed, nothing is paid for twice.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from equipoise.data.write import write_bytes
from equipoise.errors import OutputError
from equipoise.release import is_complete

__all__ = ["hold", "run_of"]

MARKER = ".run.json"


@contextlib.contextmanager
def hold(folder: str | Path, *, overwrite: bool) -> Iterator[Path]:
    """Make the folder and keep every other process out of it.

    Raises:
        OutputError: it cannot be written, holds a finished release, or another process is at work in it.
    """
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(target / ".lock", os.O_CREAT | os.O_RDWR, 0o644)
    except OSError as error:
        raise OutputError(f"cannot write to {target}: {error.strerror}; choose another folder with -o") from error
    try:
        _lock(descriptor, target)
        if is_complete(target):
            if not overwrite:
                raise OutputError(
                    f"{target} already holds a release; choose another folder, or pass --overwrite for a new one"
                )
            for name in ("statement.json", MARKER):
                (target / name).unlink(missing_ok=True)
        yield target
    finally:
        os.close(descriptor)


def _lock(descriptor: int, target: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows has no fcntl; its own lock does the same
        import msvcrt

        lock = lambda: msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]  # noqa: E731
    else:
        lock = lambda: fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # noqa: E731
    try:
        lock()
    except OSError as error:
        raise OutputError(
            f"another process is writing to {target}; wait for it, or choose another folder with -o"
        ) from error


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
