"""Nothing but what was paid for tells two neighbouring tables apart: not a message, a progress bar, a size or a code.

Each method releases a table, by the command line, and then the same table with one record replaced: once with the very
same outcomes of its mechanisms (then every byte that is written or said must be the same), once with the same noise
(then outcomes may differ, and what does not follow from them may not).
"""

from __future__ import annotations

import itertools
import json
import logging
import secrets
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.noise import SeededNoise
from typer.testing import CliRunner

from equipoise import pipeline
from equipoise.algorithms import ALGORITHMS
from equipoise.audit.subject import quick_options
from equipoise.cli import app
from equipoise.cli.console import Speaker
from equipoise.privacy import gate
from equipoise.privacy.private import reveal

METHODS = {cls.name: cls for cls in ALGORITHMS}
SCHEMA = """
[table]
name = "people"

[privacy]
epsilon = 8.0
delta = 1e-4
ledger = "people.ledger.sqlite"

[columns.sex]
type = "categorical"
values = ["Female", "Male"]

[columns.region]
type = "categorical"
values = ["N", "S", "E"]
"""
OPTIONS: dict[str, dict[str, Any]] = {"dqrs": {"num_rounds": 20}}
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
class Traces:
    """Everything that can be seen of a run."""

    exit_code: int
    said: str
    noted: str
    logged: list[str]
    shown: list[tuple[Any, ...]]
    files: dict[str, bytes]
    ledger: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)


class _Watched(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []

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


def run(
    method: str, folder: Path, records: list[str], noise: Any, monkeypatch: pytest.MonkeyPatch, epsilon: str = "1"
) -> Traces:
    """A release by the command line, in a folder of its own; whatever is random or the time is the same each time."""
    folder.mkdir()
    (folder / "people.csv").write_text("\n".join(["sex,region", *records]) + "\n")
    (folder / "public.csv").write_text("\n".join(["sex,region", *lines(100)[60:]]) + "\n")
    (folder / "people.toml").write_text(SCHEMA)
    shown: list[tuple[Any, ...]] = []

    @contextmanager
    def steps(self: Speaker, name: str) -> Iterator[_Progress]:
        shown.append((name, "begins"))
        yield _Progress(shown, name)

    numbers = itertools.count(1)
    with monkeypatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(gate, "ExactNoise", lambda: noise)
        patch.setattr(secrets, "token_hex", lambda size: f"{next(numbers):0{2 * size}x}")
        patch.setattr(secrets, "randbits", lambda bits: next(numbers))
        for module in ("statement", "privacy.run"):
            patch.setattr(f"equipoise.{module}.datetime", _StoppedClock)
        patch.setattr(Speaker, "steps", steps)
        watched = _Watched()
        logging.getLogger().addHandler(watched)
        try:
            found = CliRunner().invoke(app, _arguments(method, epsilon))
        finally:
            logging.getLogger().removeHandler(watched)
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    files = {path.name: path.read_bytes() for path in sorted((folder / "out").glob("*"))}
    ledger = folder / "people.ledger.sqlite"
    kept = tables_of(ledger) if ledger.exists() else {}
    return Traces(found.exit_code, found.stdout, found.stderr, watched.lines, shown, files, kept)


class _StoppedClock:
    @staticmethod
    def now(zone: Any) -> datetime:
        return datetime.fromisoformat("2030-01-01T00:00:00+00:00")


def _arguments(method: str, epsilon: str) -> list[str]:
    arguments = ["release", "people.csv", "--schema", "people.toml", "-o", "out", "--method", method, "--seed", "3"]
    arguments += ["--epsilon", epsilon, "--workload", "2-way"]
    for name, value in (quick_options(METHODS[method]) | OPTIONS.get(method, {})).items():
        arguments += ["--option", f"{name}={value}"]
    return [*arguments, "--public", "public.csv"] if method.endswith("_pub") else arguments


def neighbour() -> list[str]:
    changed = lines()
    # As many characters as before: the size of the steward's own file is shown while it is read.
    changed[7] = "Female,N" if changed[7].startswith("Female") else "Male,E"
    return changed


@pytest.mark.parametrize(
    "method", [pytest.param(name, marks=[pytest.mark.slow] if name == "dqrs" else []) for name in sorted(METHODS)]
)
def test_neighbouring_tables_differ_in_nothing_but_what_was_paid_for(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Recording(1)
    here = run(method, tmp_path / "here", lines(), recording, monkeypatch)
    assert here.exit_code == 0, here.noted
    assert recording.calls, "the noise was not ours: nothing would have been shown"
    assert here.files
    assert here.shown

    replayed = run(method, tmp_path / "there", neighbour(), Replay(recording.calls), monkeypatch)
    assert replayed == here, "with the same outcomes everything is the same, to the byte"

    there = run(method, tmp_path / "else", neighbour(), SeededNoise(1), monkeypatch)
    require_equal_but_for_outcomes(here, there)


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
    """What is shown while rows are rounded follows from the model, which is made of outcomes."""
    return [step for step in traces.shown if step[0] != "Writing"]


def without_bars(said: str) -> list[str]:
    return [line for line in said.splitlines() if "error bars" not in line]


@pytest.mark.parametrize("channel", ["log", "note", "progress", "file", "code"])
def test_a_leak_is_found_out(channel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: something of the counts is told, in one of five ways, without being paid for."""
    count = pipeline.count

    def telling(table: Any, workload: Any, *, progress: Any, **more: Any) -> Any:
        truth = count(table, workload, progress=progress, **more)
        told = int(reveal(truth) @ np.arange(truth.num_values))
        match channel:
            case "log":
                logging.getLogger("equipoise").warning("the counts: %d", told)
            case "note":
                sys.stderr.write(f"{told}\n")
            case "progress":
                progress(told, 10**6)
            case "file":
                Path("out", "counts.tmp").write_text("x" * told)
            case _:
                raise SystemExit(told)
        return truth

    monkeypatch.setattr(pipeline, "count", telling)
    here = run("hdmm", tmp_path / "here", lines(), SeededNoise(1), monkeypatch)
    there = run("hdmm", tmp_path / "there", neighbour(), SeededNoise(1), monkeypatch)
    with pytest.raises(AssertionError):
        require_equal_but_for_outcomes(here, there)
