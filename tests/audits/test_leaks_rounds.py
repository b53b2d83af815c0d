"""As test_leaks_elsewhere, for rounds: answers, refusals, reasons, statement, log, progress and ledger."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.analysts import QUERIES, table
from tests.audits.test_leaks_elsewhere import Outcomes, attempt, of_records
from tests.leaks import Recording, Replay, Seen, same_dice, tables_of

import equipoise as eq
from equipoise.analysts import answer_round, rounds
from equipoise.privacy import capped
from equipoise.privacy.capped import CappedDraws
from equipoise.privacy.conditional import WindowTest
from equipoise.privacy.private import reveal

ROUNDS: dict[str, dict[str, Any]] = {
    "noise": {"num_analysts": 20, "queries_each": 10},
    "apart": {"num_analysts": 20, "queries_each": 10},
    "per-query": {"num_analysts": 20, "queries_each": 500, "only_if_better": False},
    "per-analyst": {"num_analysts": 1000, "queries_each": 10},
}
BATCHES: dict[str, list[Any]] = {"ada": list(QUERIES), "bob": [("a", "b", "c")], "carol": ["a = true"]}


def records(replaced: bool) -> eq.Table:
    codes = np.concatenate(list(table().batches()), axis=1)
    if replaced:
        codes[:, 0] = 1 - codes[:, 0]
    return of_records(codes)


class Mechanisms:
    """The mechanisms of a round whose outcome is a choice, not noise on counts: written down, then played back."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._draws, self._tests = Outcomes(CappedDraws.draw), Outcomes(WindowTest.test)
        monkeypatch.setattr(CappedDraws, "draw", lambda this, sums, number: self._draws.of(number, this, sums, number))
        monkeypatch.setattr(
            WindowTest,
            "test",
            lambda this, count, label, *, low, high: self._tests.of(
                (label, low, high), this, count, label, low=low, high=high
            ),
        )
        # How many of the system's random bytes a draw takes depends on the law: it has dice of its own here.
        rng = np.random.default_rng(3)
        monkeypatch.setattr(capped, "draw_proportional", lambda p: int(rng.choice(len(p), p=p / p.sum())))

    def replay(self) -> None:
        self._draws.replay()
        self._tests.replay()

    def __len__(self) -> int:
        return len(self._draws) + len(self._tests)


def answered(mode: Any, folder: Path, data: eq.Table, noise: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    """Everything that a round says and leaves."""
    folder.mkdir()
    seen = Seen()

    @contextmanager
    def steps(name: str) -> Iterator[Any]:
        seen.shown.append((name, "begins"))
        yield lambda done, total: seen.shown.append((name, done, total))

    def ask(batches: Any, **changes: Any) -> Any:
        common = {"epsilon": 2.0, "analyst_epsilon": 5.0, "ledger": "ledger.sqlite", "run": "r", "steps": steps}
        made = answer_round(data, batches, **{"mode": mode, **common, **ROUNDS[mode], **changes})
        synopsis = None if made.synopsis is None else made.synopsis.marginal((0, 1, 2)).tolist()
        return made.answers, made.mode, made.reason, made.statement, synopsis

    with same_dice(noise, monkeypatch, seen), monkeypatch.context() as patch:
        patch.chdir(folder)
        told = [
            attempt(lambda: ask({"ada": ["a = true and d = true"]})),
            attempt(lambda: ask({"ada": ["a = true"] * 501})),
            attempt(lambda: ask({f"analyst {i}": ["a = true"] for i in range(1001)})),
            attempt(lambda: ask(BATCHES, memory_limit=1)),
            attempt(lambda: ask(BATCHES, analyst_total=(0.001, 1e-9), ledger="other.sqlite", mode="per-query")),
            attempt(lambda: ask(BATCHES)),
            attempt(lambda: ask(BATCHES)),  # found again
            attempt(lambda: ask(BATCHES | {"ada": ["b = true"]})),
            attempt(lambda: ask(BATCHES, epsilon=3.0)),
        ]
    return told, seen, tables_of(folder / "ledger.sqlite")


@pytest.mark.parametrize("mode", ROUNDS)
def test_a_round_tells_nothing_but_what_was_paid_for(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanisms, recording = Mechanisms(monkeypatch), Recording(1)
    here = answered(mode, tmp_path / "here", records(False), recording, monkeypatch)
    told, seen, ledger = here
    assert f"'{mode}'" in told[5], "the round is the one asked for"
    assert told[5] == told[6]
    assert {line.split(":")[0] for line in told if "Error:" in line or "Conflict:" in line} >= {
        "QueryError",
        "BudgetError",
        "SettingError",
        "LedgerConflict",
    }
    assert len(mechanisms) + len(recording.calls) > 0
    assert seen.shown
    assert ledger
    mechanisms.replay()
    assert answered(mode, tmp_path / "there", records(True), Replay(recording.calls), monkeypatch) == here


@pytest.mark.parametrize("way", ["log", "progress"])
def test_a_leak_of_a_round_is_found_out(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative controls: a log line, or a number of steps, that tells of the counts."""
    real = rounds.respond

    def telling(work: Any) -> Any:
        counts = reveal(work.rows.count(work.queries))
        if way == "log":
            logging.getLogger("equipoise").warning("%d", counts @ np.arange(len(counts)))
        else:
            work.progress(int(counts @ np.arange(len(counts))), 10**9)
        return real(work)

    monkeypatch.setattr(rounds, "respond", telling)
    recording = Recording(1)
    here = answered("noise", tmp_path / "here", records(False), recording, monkeypatch)
    there = answered("noise", tmp_path / "there", records(True), Replay(recording.calls), monkeypatch)
    assert there[0] == here[0]
    assert there[1] != here[1]
