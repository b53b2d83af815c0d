"""The memory of this process, as the operating system tells it."""

from __future__ import annotations

import ctypes
import gc
import re
import resource
from pathlib import Path

__all__ = ["give_back", "peak_bytes", "reset_peak", "resident_bytes"]

STATUS = Path("/proc/self/status")


def peak_bytes() -> int:
    """The most that this process has held; getrusage would count the process that started it, too."""
    found = _told("VmHWM")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 if found is None else found


def resident_bytes() -> int:
    """What it holds now; where that is not told, the most that it has held.

    Example:
        >>> resident_bytes() <= peak_bytes()
        True
    """
    found = _told("VmRSS")
    return peak_bytes() if found is None else found


def reset_peak() -> None:
    """Let the peak begin anew from what is held now; does nothing where the system has no such thing."""
    switch = Path("/proc/self/clear_refs")
    if switch.exists():
        switch.write_text("5")


def give_back() -> None:
    """Give free memory back to the system, where the C library can, so that what comes next is seen."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _told(name: str) -> int | None:
    found = re.search(rf"{name}:\s+(\d+) kB", STATUS.read_text()) if STATUS.exists() else None
    return None if found is None else int(found[1]) * 1024
