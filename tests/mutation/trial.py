"""A pytest plugin that collects once and then forks: one process a mutant, with the tests that reach its lines.

The first child runs every collected test and notes, for each, how long it takes and which lines of which module it
executes. After that a mutant's child changes one function (`swap`) and runs the tests that reach it until one fails:
those first that noticed most changes of the same function a second, the quickest where nothing is known. Limits are in
seconds of the processor's time, so a busy machine changes nothing.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import coverage
import pytest
from _pytest.runner import runtestprotocol
from tests.mutation.apart import DEAD, forked, limit
from tests.mutation.mutants import Mutant
from tests.mutation.record import Record
from tests.mutation.swap import swap

KILLED, SURVIVED, TIMEOUT, UNREACHED, UNCHANGED = "killed", "survived", "timeout", "not reached", "at import"
ALIVE, NO_FUNCTION = 0, 3


@dataclass
class Reach:
    """What a test executes, and how long it takes."""

    stamp: str
    seconds: float
    lines: dict[str, frozenset[int]]


@dataclass
class Trials:
    """The plugin.

    Attributes:
        source: The folder of the package.
        mutants: What to try.
        allowance: Seconds of tests that a mutant may cost.
        report: Where results go, a line each.
        notes: Where the first child writes; what an earlier call found out is not found out again.
    """

    source: Path
    mutants: list[Mutant]
    allowance: float
    report: Path
    notes: Path
    reached: dict[str, Reach] = field(default_factory=dict)
    record: Record = field(default_factory=Record)
    sources: bytes = b""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Instead of running the tests once."""
        items = {item.nodeid: item for item in session.items}
        self._read()
        known = {name: reach.stamp for name, reach in self.reached.items()}
        unknown = [item for item in session.items if known.get(item.nodeid) != self._stamp(item)]
        gc.freeze()  # or a child's first collection would copy every page of what was imported
        if unknown:
            forked(lambda: self._look(unknown), 3600)
            self._read()
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
            name, stamp, seconds, lines = json.loads(line)
            self.reached[name] = Reach(stamp, seconds, {file: frozenset(found) for file, found in lines.items()})

    def _look(self, items: list[pytest.Item]) -> int:
        """Run each test by itself, and note the lines of the package that it executes."""
        tracer = coverage.Coverage(data_file=None, include=[str(self.source / "privacy" / "*")])
        tracer.set_option("run:disable_warnings", ["no-data-collected"])
        with self.notes.open("a") as file:
            for item in items:
                tracer.start()
                begun = time.process_time()
                passed = _passes(item, None)
                seconds = time.process_time() - begun
                tracer.stop()
                data = tracer.get_data()
                found = {os.path.relpath(name, self.source): data.lines(name) for name in data.measured_files()}
                tracer.erase()
                if passed:
                    file.write(json.dumps([item.nodeid, self._stamp(item), round(seconds, 4), found]) + "\n")
                    file.flush()
        return ALIVE

    def _stamp(self, item: pytest.Item) -> str:
        """Changes when the test's file does, or the private side, and with it the numbers of its lines."""
        if not self.sources:
            paths = sorted((self.source / "privacy").glob("*.py"))
            self.sources = b"".join(hashlib.sha256(path.read_bytes()).digest() for path in paths)
        return hashlib.sha256(self.sources + item.path.read_bytes()).hexdigest()[:16]

    def _try(self, mutant: Mutant, items: dict[str, pytest.Item]) -> tuple[str, str | None, float]:
        begun = time.monotonic()
        span = set(range(mutant.lines[0], mutant.lines[1] + 1))
        reaching = [
            name
            for name, reach in self.reached.items()
            if name in items and not span.isdisjoint(reach.lines.get(mutant.file, ()))
        ]
        reaching.sort(key=lambda name: self.record.seconds(mutant, name, self.reached[name].seconds))
        chosen, seconds = [], 0.0
        for name in reaching:
            cost = self.reached[name].seconds
            if not chosen or seconds + cost <= self.allowance:
                seconds += cost
                chosen.append(name)
        if not chosen:
            return UNREACHED, None, 0.0
        note = self.notes.with_suffix(".killer")
        note.write_text("")
        tests = [(items[name], self.reached[name].seconds) for name in chosen]
        status = forked(lambda: _attempt(mutant, tests, note), 5 + 5 * seconds)
        outcome = {ALIVE: SURVIVED, NO_FUNCTION: UNCHANGED, -signal.SIGXCPU: TIMEOUT}.get(status, KILLED)
        killer = note.read_text() or None
        self.record.note(mutant, chosen, killer)
        return outcome, killer, time.monotonic() - begun


def _attempt(mutant: Mutant, chosen: list[tuple[pytest.Item, float]], killer: Path) -> int:
    module = "equipoise." + mutant.file.removesuffix(".py").replace("/", ".")
    try:
        swap(module, mutant.function, mutant.text)
    except LookupError:
        return NO_FUNCTION
    for place, (item, seconds) in enumerate(chosen):
        killer.write_text(item.nodeid)
        limit(time.process_time() + 5 + 4 * seconds)  # what makes a test run for ever is noticed soon
        if not _passes(item, chosen[place + 1][0] if place + 1 < len(chosen) else None):
            return DEAD
    killer.write_text("")
    return ALIVE


def _passes(item: pytest.Item, following: pytest.Item | None) -> bool:
    return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))
