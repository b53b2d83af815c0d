"""As test_leaks, for tuning, learning and questions of analysts: with the same outcomes, nothing else differs."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.analysts import MANY, QUERIES, table
from tests.leaks import Recording, Replay, Seen, lines, neighbour, run, same_dice, tables_of
from tests.noise import SeededNoise

import equipoise as eq
from equipoise import tuning
from equipoise.analysts import Session
from equipoise.errors import EquipoiseError
from equipoise.privacy import rspm
from equipoise.privacy.conditional import WindowTest
from equipoise.privacy.learner import Learner
from equipoise.privacy.private import reveal

TUNE = ["tune", "people.csv", "--schema", "people.toml", "-o", "out", "--method", "mwem", "--grid", "num_rounds=1,2"]
TUNE += ["--trials", "6", "--law", "geometric", "--epsilon", "4", "--workload", "2-way", "--seed", "3"]
LEARN = ["learn", "people.csv", "--schema", "people.toml", "-o", "out", "--target", "sex = Male", "--epsilon", "1"]
MECHANISMS = {
    "exponential": [],
    "rspm": ["--max-literals", "1"],
    "gaussian_rspm": ["--max-literals", "1", "--delta", "1e-9"],
}
SESSIONS: dict[str, dict[str, Any]] = {
    "online": {"queries_each": MANY},
    "pmw": {"queries_each": MANY},
    "noise": {"queries_each": 6},
}


class Outcomes:
    """What a mechanism returned in one run, to be returned in another, whatever it returns there."""

    def __init__(self, real: Callable[..., Any]) -> None:
        self._real, self._kept = real, list[tuple[Any, Any]]()
        self._next: int | None = None

    def replay(self) -> None:
        self._next = 0

    def of(self, asked: Any, *arguments: Any, **more: Any) -> Any:
        made = self._real(*arguments, **more)
        if self._next is None:
            self._kept.append((asked, made))
            return made
        told, outcome = self._kept[self._next]
        self._next += 1
        assert asked == told, "what is asked of a mechanism depends on the records"
        return outcome

    def __len__(self) -> int:
        return len(self._kept)


def test_tuning_tells_nothing_but_what_was_paid_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = Recording(1)
    here = run(TUNE, tmp_path / "here", lines(), recording, monkeypatch)
    assert here.exit_code == 0, here.noted
    assert len(recording.calls) > 3, "more than one trial"
    assert here.files
    assert here.shown
    assert run(TUNE, tmp_path / "there", neighbour(), Replay(recording.calls), monkeypatch) == here

    other = run(TUNE, tmp_path / "else", neighbour(), SeededNoise(1), monkeypatch)
    for name in ("exit_code", "noted", "logged"):
        assert getattr(other, name) == getattr(here, name)
    assert other.files.keys() == here.files.keys()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_learning_tells_nothing_but_what_was_paid_for(
    mechanism: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = [*LEARN, "--mechanism", mechanism, *MECHANISMS[mechanism]]
    certified = Outcomes(rspm.certified)  # the outcome of these is the choice, not the noise
    monkeypatch.setattr(rspm, "certified", lambda *given: certified.of(given[2], *given))
    recording = Recording(1)
    here = run(arguments, tmp_path / "here", lines(), recording, monkeypatch)
    assert here.exit_code == 0, here.noted
    assert recording.calls
    assert len(certified) == (mechanism != "exponential")
    assert {"rule.txt", "rule.json", "statement.json"} <= here.files.keys()
    certified.replay()
    assert run(arguments, tmp_path / "there", neighbour(), Replay(recording.calls), monkeypatch) == here


def of_records(codes: np.ndarray) -> eq.Table:
    bits = {name: pa.array(column.astype(bool)) for name, column in zip("abc", codes, strict=True)}
    return eq.read(pa.table(bits), schema=table().schema)


def records(replaced: bool) -> eq.Table:
    codes = np.concatenate(list(table(2000).batches()), axis=1)
    if replaced:
        codes[:, 0] = 1 - codes[:, 0]
    return of_records(codes)


def attempt(ask: Callable[[], Any]) -> str:
    try:
        return repr(ask())
    except EquipoiseError as error:
        return f"{type(error).__name__}: {error}"


def questions(mode: Any, folder: Path, data: eq.Table, noise: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    """Everything that a session says and leaves: answers, refusals, its state, log and ledger."""
    folder.mkdir()
    seen, told = Seen(), []
    settings = {"epsilon": 50.0, "analyst_epsilon": 50.0, "num_analysts": 2, **SESSIONS[mode]}
    with same_dice(noise, monkeypatch, seen), monkeypatch.context() as patch:
        patch.chdir(folder)
        session = Session.open(data, mode=mode, ledger="ledger.sqlite", run="r", **settings)
        for text in (*QUERIES, "a = true and d = true", "b ="):
            told.append(attempt(lambda text=text: session.ask("ada", text)))
        told.append(attempt(lambda: session.ask_many("bob", [("a", "b"), "c = true"], key="k")))
        told.append(attempt(lambda: session.ask_many("bob", [("a", "b"), "c = true"], key="k")))
        told.append(attempt(lambda: session.ask("bob", "a = true", key="k")))
        told.append(attempt(lambda: session.ask_many("ada", [("a", "b")])))
        told.append(attempt(lambda: session.ask("carol", "a = true")))
        told += [repr(asdict(session.status())), repr(session.left("ada")), repr(session.statement())]
        told.append(repr(session.hypothesis().marginal((0, 1, 2)).tolist()))
        session.close()
        told.append(attempt(lambda: session.ask("ada", "a = true")))
    return told, seen, tables_of(folder / "ledger.sqlite")


@pytest.mark.parametrize("mode", SESSIONS)
def test_a_session_tells_nothing_but_what_was_paid_for(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests = Outcomes(WindowTest.test)
    monkeypatch.setattr(
        WindowTest,
        "test",
        lambda self, count, label, *, low, high: tests.of((label, low, high), self, count, label, low=low, high=high),
    )
    recording = Recording(1)
    here = questions(mode, tmp_path / "here", records(False), recording, monkeypatch)
    assert any("source='paid'" in line for line in here[0])
    assert {line.split(":")[0] for line in here[0] if "Error:" in line} == {"QueryError", "SettingError", "BudgetError"}
    assert len(tests) + len(recording.calls) > 5
    tests.replay()
    assert questions(mode, tmp_path / "there", records(True), Replay(recording.calls), monkeypatch) == here


def test_a_leak_of_tuning_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative controls: a log line that tells of the counts."""
    play = tuning.play_game

    def telling(prepared: Any, gate: Any, truth: Any, **more: Any) -> Any:
        logging.getLogger("equipoise").warning("%d", reveal(truth) @ np.arange(truth.num_values))
        return play(prepared, gate, truth, **more)

    monkeypatch.setattr(tuning, "play_game", telling)
    recording = Recording(1)
    here = run(TUNE, tmp_path / "here", lines(), recording, monkeypatch)
    there = run(TUNE, tmp_path / "there", neighbour(), Replay(recording.calls), monkeypatch)
    assert there.logged != here.logged


def test_a_leak_of_learning_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    choose = Learner.choose

    def telling(self: Any, gate: Any, points: Any, **more: Any) -> Any:
        logging.getLogger("equipoise").warning("%d", points._bits[:, 0].sum() + 100 * points._bits[:, -1].sum())
        return choose(self, gate, points, **more)

    monkeypatch.setattr(Learner, "choose", telling)
    recording = Recording(1)
    here = run(LEARN, tmp_path / "here", lines(), recording, monkeypatch)
    there = run(LEARN, tmp_path / "there", neighbour(), Replay(recording.calls), monkeypatch)
    assert there.logged != here.logged


def test_a_leak_of_a_session_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    take = Recording.gaussian

    def telling(self: Any, values: Any, scale: float) -> Any:
        logging.getLogger("equipoise").warning("%s", values)
        return take(self, values, scale)

    monkeypatch.setattr(Recording, "gaussian", telling)
    here, there = (
        questions("noise", tmp_path / str(which), records(which), Recording(1), monkeypatch) for which in (False, True)
    )
    assert there[1].logged != here[1].logged
