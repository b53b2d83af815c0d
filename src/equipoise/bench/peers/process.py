"""A process under limits: what it used, and how it ended. Crash, time and memory are outcomes, not errors."""

from __future__ import annotations

import contextlib
import math
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Limits", "Outcome", "run"]

POLL_SECONDS = 0.1
GRACE_SECONDS = 30
SHOWN = 300
"""Characters of a process's last words that are kept."""


@dataclass(frozen=True)
class Limits:
    """What one process and all that it starts may use.

    Attributes:
        cpu_seconds: Of processor time: fair where cores are shared.
        wall_seconds: By the clock, for a process that waits for nothing.
        memory_bytes: Resident, at any time.
    """

    cpu_seconds: float
    wall_seconds: float
    memory_bytes: float


@dataclass(frozen=True)
class Outcome:
    """What a process used and how it ended.

    Attributes:
        failed: Why it did not do its work; None when it ended well.
        wall: Seconds by the clock.
        cpu: Processor seconds of it and of what it started.
        peak: Bytes that it and what it started held at the same time, as seen ten times a second, more often at first.
    """

    failed: str | None
    wall: float
    cpu: float
    peak: float


def run(command: Sequence[str], *, environment: Mapping[str, str], folder: Path, limits: Limits) -> Outcome:
    """Run a command in a session of its own, which is ended as a whole when a limit is passed."""
    began = time.monotonic()
    # Should this process be killed, nobody watches that one: the system's own limit then ends it, a little later.
    backstop = f'ulimit -t {math.ceil(limits.cpu_seconds) + GRACE_SECONDS}; exec "$@"'
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            ["/bin/sh", "-c", backstop, "sh", *command],
            env=dict(environment),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
        )
        try:
            stopped, cpu, peak = _watch(process, began, limits)
        finally:
            _end_session(process)
        said.seek(0)
        words = _last_words(said.read().decode(errors="replace"))
    wall = time.monotonic() - began
    failed = stopped
    if stopped is None and process.returncode:
        failed = f"{_ending(process.returncode)}: {words}"
    return Outcome(failed, wall, cpu, peak)


def _watch(process: subprocess.Popen[bytes], began: float, limits: Limits) -> tuple[str | None, float, float]:
    """Why it was stopped, if it was; processor seconds; peak memory."""
    peak, cpu = 0.0, 0.0
    # What ends at once is seen too; the peak that wait4 tells counts this process's own memory.
    pause = POLL_SECONDS / 64
    while True:
        # wait4 tells the usage of this child alone, and of those that it has waited for.
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return None, max(cpu, usage.ru_utime + usage.ru_stime), peak
        seconds, memory = _usage(process.pid)
        cpu, peak = max(cpu, seconds), max(peak, memory)
        stopped = None
        if cpu > limits.cpu_seconds:
            stopped = f"stopped after {limits.cpu_seconds:,.0f} processor seconds"
        elif time.monotonic() - began > limits.wall_seconds:
            stopped = f"stopped after {limits.wall_seconds:,.0f} seconds by the clock"
        elif memory > limits.memory_bytes:
            stopped = f"stopped at {limits.memory_bytes / 2**30:.3g} GiB"
        if stopped is not None:
            return stopped, cpu, peak
        time.sleep(pause)
        pause = min(2 * pause, POLL_SECONDS)


def _usage(pid: int) -> tuple[float, float]:
    """Processor seconds and resident bytes of a process and its descendants, now."""
    import psutil

    seconds = memory = 0.0
    try:
        root = psutil.Process(pid)
        family = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0.0, 0.0
    for each in family:
        try:
            with each.oneshot():
                times = each.cpu_times()
                seconds += times.user + times.system + times.children_user + times.children_system
                memory += each.memory_info().rss
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
    return seconds, memory


def _end_session(process: subprocess.Popen[bytes]) -> None:
    """End what is left of the session that the process led, and only that."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.returncode is None:
        process.wait()


def _last_words(said: str) -> str:
    r"""The exception that ended a Python program, also one of several lines; of others the last line.

    Example:
        >>> _last_words("Traceback:\n  File x\na.b.SomeError:\n  Failed(\"why\n\")\n")
        'a.b.SomeError: Failed("why ")'
        >>> _last_words("one\ntwo\n"), _last_words("")
        ('two', 'it said nothing')
    """
    lines = said.strip().splitlines() or ["it said nothing"]
    begins = [k for k, line in enumerate(lines) if re.match(r"[\w.]+(Error|Exception)\b", line)]
    return " ".join(" ".join(lines[begins[-1] if begins else -1 :]).split())[:SHOWN]


def _ending(code: int) -> str:
    return f"ended by signal {-code}" if code < 0 else f"ended with code {code}"
