"""A peer's environment: a virtual environment of its own, made when first needed, from pinned requirements."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

__all__ = ["NotInstalled", "python_of", "requirements"]

MINUTES = 30
"""For an installation; smartnoise-synth brings PyTorch."""


class NotInstalled(Exception):
    """A peer's environment could not be made here; it says why."""


def requirements(name: str) -> str:
    """The pinned requirements of an environment.

    Example:
        >>> "mbi==2.0.0" in requirements("mbi").splitlines()
        True
    """
    return files("equipoise.bench.peers").joinpath("requirements", f"{name}.txt").read_text(encoding="utf-8")


def python_of(name: str | None, cache: Path) -> Path:
    """The interpreter of an environment, made if it is not there; None names our own.

    The folder's name has a digest of the requirements, so that others make another environment. A folder counts only
    once everything is installed: an interrupted installation is made again.

    Raises:
        NotInstalled: It could not be made.
    """
    if name is None:
        return Path(sys.executable)
    text = requirements(name)
    tag = f"{sys.version_info.major}{sys.version_info.minor}"
    folder = cache.resolve() / f"{name}-{tag}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    python, ready = folder / "bin" / "python", folder / "ready"
    if ready.exists():
        return python
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    pins = folder / "requirements.txt"
    pins.write_text(text, encoding="utf-8")
    _call([sys.executable, "-m", "venv", str(folder)])
    quiet = ["--quiet", "--disable-pip-version-check", "--no-input"]
    _call([str(python), "-m", "pip", "install", *quiet, "--requirement", str(pins)])
    ready.touch()
    return python


def _call(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60 * MINUTES, check=False)
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"its environment was not made within {MINUTES} minutes") from None
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "ERROR" in line] or done.stderr.splitlines()
        raise NotInstalled(f"its environment could not be made: {(lines or ['pip said nothing'])[-1].strip()[:300]}")
