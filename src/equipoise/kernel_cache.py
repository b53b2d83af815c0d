"""Where compiled code is kept: beside the sources, else in the user's cache, else for as long as the process lasts.

Numba looks for the first two itself, and without either refuses to compile at all: a container whose disk may only be
read could not even import Equipoise.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

__all__ = ["VARIABLE", "ensure"]

VARIABLE = "NUMBA_CACHE_DIR"


def ensure() -> None:
    """Give Numba a folder of this process's own, if there is no other. Call it before Numba is imported."""
    if os.environ.get(VARIABLE) or "numba" in sys.modules:
        return
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    if any(_can_write(folder) for folder in (Path(__file__).parent / "__pycache__", home / "numba")):
        return
    folder = tempfile.mkdtemp(prefix="equipoise-compiled-")
    os.environ[VARIABLE] = folder  # processes that are started from here use it, too
    atexit.register(_remove, folder, os.getpid())


def _can_write(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # a child that was forked leaves it to its parent
        shutil.rmtree(folder, ignore_errors=True)
