"""A pytest plugin that collects once and then forks: one process a mutant, with the tests that reach its lines.

The first child runs every collected test and notes, for each, how long it takes and which lines of which module it
executes. After that a mutant's child changes one function (`swap`) and runs the tests that reach it, those of
`privacy/` itself before others and the quickest first, until one fails. Limits are in seconds of the processor's time,
so a busy machine changes nothing.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from tests.mutation.mutants import Mutant
from tests.mutation.swap import swap

KILLED, SURVIVED, TIMEOUT, UNREACHED, UNCHANGED = "killed", "survived", "timeout", "not reached", "at import"
ALIVE, DEAD, NO_FUNCTION = 0, 1, 3
OWN = ("tests/unit/privacy", "src/equipoise/privacy")
"""What is most likely to notice a change."""


@dataclass
class Reach:
    """What a test executes, and how long it takes."""

    seconds: float
    lines: dict[str, list[int]]


@dataclass
class Trials:
    """The plugin.

    Attributes:
        source: The folder of the package.
        mutants: What to try.
        allowance: Seconds of tests that a mutant may cost, as traced: two or three times as long as they take else.
        report: Where results go, a line each.
        notes: Where the first child writes; what an earlier call found out is not found out again.
    """

    source: Path
    mutants: list[Mutant]
    allowance: float
    report: Path
    notes: Path
    reached: dict[str, Reach] = field(default_factory=dict)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Instead of running the tests once."""
        items = {item.nodeid: item for item in session.items}
        self._read()
        unknown = [item for item in session.items if item.nodeid not in self.reached]
        if unknown:
            _forked(lambda: self._look(unknown), 3600)
            self._read()
        gc.freeze()  # or a child's first collection would copy every page of what was imported
        with self.report.open("a") as file:
            for number, mutant in enumerate(self.mutants, 1):
                outcome, killer, seconds = self._try(mutant, items)
                row = {"outcome": outcome, "killer": killer, "seconds": round(seconds, 2)}
                row |= {
                    name: getattr(mutant, name) for name in ("file", "function", "number", "lines", "before", "after")
                }
                file.write(json.dumps(row) + "\n")
                file.flush()
                if number % 50 == 0:
                    sys.__stderr__.write(f"{number} of {len(self.mutants)}\n")  # type: ignore[union-attr]
        return True

    def _read(self) -> None:
        for line in self.notes.read_text().splitlines() if self.notes.exists() else ():
            name, seconds, lines = json.loads(line)
            self.reached[name] = Reach(seconds, lines)

    def _look(self, items: list[pytest.Item]) -> int:
        """Run each test by itself, and note the lines of the package that it executes."""
        prefix = str(self.source) + os.sep
        with self.notes.open("a") as file:
            for item in items:
                lines: dict[str, set[int]] = {}
                begun = time.process_time()
                sys.settrace(_tracer(prefix, lines))
                passed = _passes(item, None)
                sys.settrace(None)
                if passed:
                    found = {name: sorted(numbers) for name, numbers in lines.items()}
                    file.write(json.dumps([item.nodeid, time.process_time() - begun, found]) + "\n")
                    file.flush()
        return ALIVE

    def _try(self, mutant: Mutant, items: dict[str, pytest.Item]) -> tuple[str, str | None, float]:
        begun = time.monotonic()
        span = range(mutant.lines[0], mutant.lines[1] + 1)
        reaching = [
            (not name.startswith(OWN), reach.seconds, name)
            for name, reach in self.reached.items()
            if name in items and not set(span).isdisjoint(reach.lines.get(mutant.file, ()))
        ]
        chosen, seconds = [], 0.0
        for _, cost, name in sorted(reaching):
            if chosen and seconds + cost > self.allowance:
                break
            seconds += cost
            chosen.append(items[name])
        if not chosen:
            return UNREACHED, None, 0.0
        killer = self.notes.with_suffix(".killer")
        killer.write_text("")
        status = _forked(lambda: _attempt(mutant, chosen, killer), 5 + 1.5 * seconds)
        outcome = {ALIVE: SURVIVED, NO_FUNCTION: UNCHANGED, -signal.SIGXCPU: TIMEOUT}.get(status, KILLED)
        return outcome, killer.read_text() or None, time.monotonic() - begun


def _attempt(mutant: Mutant, chosen: list[pytest.Item], killer: Path) -> int:
    module = "equipoise." + mutant.file.removesuffix(".py").replace("/", ".")
    try:
        swap(module, mutant.function, mutant.text)
    except LookupError:
        return NO_FUNCTION
    for item, following in zip(chosen, [*chosen[1:], None], strict=True):
        killer.write_text(item.nodeid)
        if not _passes(item, following):
            return DEAD
    killer.write_text("")
    return ALIVE


def _passes(item: pytest.Item, following: pytest.Item | None) -> bool:
    return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))


def _tracer(prefix: str, lines: dict[str, set[int]]) -> Callable[[FrameType, str, Any], Any]:
    def inner(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            lines[frame.f_code.co_filename[len(prefix) :]].add(frame.f_lineno)
        return inner

    def outer(frame: FrameType, _: str, __: Any) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(prefix):
            return None
        lines.setdefault(name[len(prefix) :], set()).add(frame.f_lineno)
        return inner

    return outer


def _forked(work: Callable[[], int], seconds: float) -> int:
    """What `work` returns, in a process of its own with so much of the processor's time; a signal as its negative."""
    child = os.fork()
    if child == 0:
        status = DEAD
        try:
            os.setsid()
            limit = int(seconds) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
            resource.setrlimit(resource.RLIMIT_AS, (12 * 2**30, 12 * 2**30))
            status = work()
        finally:
            os._exit(status)
    give_up = time.monotonic() + 120 + 20 * seconds
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > give_up:  # it waits for something that never comes: no processor time is used
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return -signal.SIGXCPU
        time.sleep(0.005)
