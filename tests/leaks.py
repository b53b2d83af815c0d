"""Two runs side by side, on a table and its neighbour, with the same dice: everything that can be seen of them.

The randomness of the system is a stream that begins anew with each run, the clock stands, and the noise is the test's:
seeded, written down, or the outcomes of another run. What then differs between the runs comes from the records.
"""

from __future__ import annotations

import json
import logging
import os
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.noise import SeededNoise
from tests.schemas import SEX, declared
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.cli.console import Speaker
from equipoise.game.loop import PARTS
from equipoise.privacy import gate

REGION = '\n[columns.region]\ntype = "categorical"\nvalues = ["N", "S", "E"]\n'
SCHEMA = declared(SEX, REGION, total=(8.0, 1e-4), ledger="people.ledger.sqlite")
OF_THE_OUTCOMES = {
    "synthetic.parquet",
    "synthetic.csv",
    "moves.parquet",
    "unbiased.parquet",
    "model.npz",
    "report.html",
    "statement.json",
}
"""Files made of paid-for outcomes (of the statement only the hashes of the others are: compared apart from them)."""


def lines(num_rows: int = 60) -> list[str]:
    rng = np.random.default_rng(5)
    first = rng.choice(["Female", "Male"], num_rows)
    return [f"{sex},{rng.choice(['N', 'S'] if sex == 'Male' else ['S', 'E'])}" for sex in first]


def neighbour() -> list[str]:
    changed = lines()
    # As many characters as before: the size of the steward's own file is shown while it is read.
    changed[7] = "Female,N" if changed[7].startswith("Female") else "Male,E"
    return changed


class Replay:
    """The outcomes of another run, whatever is asked; every call must be about as many values at the same scale."""

    def __init__(self, calls: list[tuple[Any, Any]]) -> None:
        self._calls = iter(calls)

    def _next(self, *asked: Any) -> Any:
        told, outcome = next(self._calls)
        assert asked == told, "what is drawn, and at which scale, depends on the records"
        return outcome.copy()

    def gaussian(self, values: Any, scale: float) -> Any:
        return self._next("gaussian", len(values), scale)

    def laplace(self, values: Any, scale: float) -> Any:
        return self._next("laplace", len(values), scale)

    def largest(self, scores: Any, scale: float, num_selected: int, law: str) -> Any:
        return self._next("largest", len(scores), scale, num_selected, law)

    def draws(self, scores: Any, scale: float, num_draws: int) -> Any:
        return self._next("draws", len(scores), scale, num_draws)

    def coins(self, exponents: Any, scale: float) -> Any:
        return self._next("coins", len(exponents), scale)


class Recording(SeededNoise):
    """Seeded noise that writes down what came out."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.calls: list[tuple[Any, Any]] = []

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name not in ("gaussian", "laplace", "largest", "draws", "coins"):
            return found

        def draw(values: Any, *more: Any) -> Any:
            outcome = found(values, *more)
            self.calls.append(((name, len(values), *more), outcome.copy()))
            return outcome

        return draw


@dataclass
class Seen:
    """What is logged and shown while something runs."""

    logged: list[str] = field(default_factory=list)
    shown: list[tuple[Any, ...]] = field(default_factory=list)


@dataclass
class Traces(Seen):
    """Everything that can be seen of a command."""

    exit_code: int = 0
    said: str = ""
    noted: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    ledger: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)


class _Watched(logging.Handler):
    def __init__(self, lines: list[str]) -> None:
        super().__init__(logging.INFO)
        self.lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        # Other packages speak when they are used for the first time (JAX of the devices it finds).
        if record.name.split(".")[0] in ("equipoise", "root", "py"):
            self.lines.append(f"{record.name} {record.levelname} {record.getMessage()}")


class _Progress:
    def __init__(self, shown: list[tuple[Any, ...]], name: str) -> None:
        self._shown, self._name = shown, name

    def measure(self, num_bytes: int | None) -> None:
        self._shown.append((self._name, "bytes", num_bytes))

    def __call__(self, done: int, total: int) -> None:
        self._shown.append((self._name, done, total))


def tables_of(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    connection = sqlite3.connect(path)
    try:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: connection.execute(f'SELECT * FROM "{name}"').fetchall() for name in sorted(names)}
    finally:
        connection.close()


class _StoppedClock:
    @staticmethod
    def now(zone: Any) -> datetime:
        return datetime.fromisoformat("2030-01-01T00:00:00+00:00")


def _dice() -> Callable[[int], bytes]:
    """The operating system's random bytes, from the beginning."""
    return np.random.default_rng(7).bytes


@contextmanager
def same_dice(noise: Any, monkeypatch: pytest.MonkeyPatch, seen: Seen) -> Iterator[None]:
    """Whatever is random, or the time, is the same each time; noise is the one given."""

    @contextmanager
    def steps(self: Speaker, name: str) -> Iterator[_Progress]:
        seen.shown.append((name, "begins"))
        yield _Progress(seen.shown, name)

    with monkeypatch.context() as patch:
        dice = _dice()
        patch.setattr(os, "urandom", dice)
        patch.setattr(random, "_urandom", dice)  # what `secrets` draws from
        patch.setattr(gate, "ExactNoise", lambda: noise)
        for module in ("analysts.responders", "privacy.conditional"):
            patch.setattr(f"equipoise.{module}.ExactNoise", lambda: noise)
        for module in ("statement", "privacy.run", "learning.table"):
            patch.setattr(f"equipoise.{module}.datetime", _StoppedClock)
        patch.setattr(Speaker, "steps", steps)
        watched = _Watched(seen.logged)
        logging.getLogger().addHandler(watched)
        try:
            yield
        finally:
            logging.getLogger().removeHandler(watched)


def run(arguments: list[str], folder: Path, records: list[str], noise: Any, monkeypatch: pytest.MonkeyPatch) -> Traces:
    """A command in a folder of its own, which has the table, its schema and a public table."""
    folder.mkdir()
    (folder / "people.csv").write_text("\n".join(["sex,region", *records]) + "\n")
    (folder / "public.csv").write_text("\n".join(["sex,region", *lines(100)[60:]]) + "\n")
    (folder / "people.toml").write_text(SCHEMA)
    traces = Traces()
    with same_dice(noise, monkeypatch, traces), monkeypatch.context() as patch:
        patch.chdir(folder)
        found = CliRunner().invoke(app, arguments)
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    traces.exit_code, traces.said, traces.noted = found.exit_code, found.stdout, found.stderr
    traces.files = {path.name: path.read_bytes() for path in sorted((folder / "out").glob("*"))}
    ledger = folder / "people.ledger.sqlite"
    traces.ledger = tables_of(ledger) if ledger.exists() else {}
    return traces


def require_equal_but_for_outcomes(here: Traces, there: Traces) -> None:
    assert (there.exit_code, there.logged, there.noted) == (here.exit_code, here.logged, here.noted)
    assert before_writing(there) == before_writing(here)
    assert there.files.keys() == here.files.keys()
    for name in here.files.keys() - OF_THE_OUTCOMES:
        assert there.files[name] == here.files[name], name
    assert without_hashes(there) == without_hashes(here)
    assert without_bars(there.said) == without_bars(here.said)
    assert {name: len(rows) for name, rows in there.ledger.items()} == {n: len(r) for n, r in here.ledger.items()}


def without_hashes(traces: Traces) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(traces.files["statement.json"])
    body["files"] = sorted(body["files"])
    return body


def before_writing(traces: Traces) -> list[tuple[Any, ...]]:
    """What is shown, but for what follows from outcomes: how far a fit is, which ends by them, and rounding to rows."""
    return [step for step in traces.shown if step[0] != "Writing" and not _is_part_of_a_round(step)]


def _is_part_of_a_round(step: tuple[Any, ...]) -> bool:
    return step[0] == "Playing" and len(step) == 3 and step[1] % PARTS != 0


def without_bars(said: str) -> list[str]:
    return [line for line in said.splitlines() if "error bars" not in line]
