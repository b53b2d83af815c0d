"""As test_taint, for sessions, rounds and learning: once paid for, what comes out does not depend on the records."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.analysts import MANY, QUERIES, table
from tests.learners import PLENTY, records
from tests.noise import SeededNoise

import equipoise as eq
from equipoise.analysts import Session, answer_round
from equipoise.audit.book import MemoryBook
from equipoise.oracles.classes.conjunctions import Conjunctions
from equipoise.oracles.classes.minimisers import ByEnumeration
from equipoise.privacy.gate import Gate
from equipoise.privacy.learner import MECHANISMS, Learner, Mechanism
from equipoise.privacy.private_points import PrivatePoints

SESSIONS: dict[str, dict[str, Any]] = {
    "online": {"queries_each": MANY},
    "pmw": {"queries_each": MANY},
    "noise": {"queries_each": 100},
}
ROUNDS: dict[str, dict[str, Any]] = {
    "noise": {"num_analysts": 20, "queries_each": 10},
    "apart": {"num_analysts": 20, "queries_each": 10},
    "per-query": {"num_analysts": 20, "queries_each": 500, "only_if_better": False},
    "per-analyst": {"num_analysts": 1000, "queries_each": 10},
}


def corrupted() -> eq.Table:
    """As many records, and every one of them another."""
    given = table()
    codes = 1 - np.concatenate(list(given.batches()), axis=1)
    bits = {name: pa.array(column.astype(bool)) for name, column in zip("abc", codes, strict=True)}
    return eq.read(pa.table(bits), schema=given.schema)


@pytest.mark.parametrize("mode", SESSIONS)
def test_what_a_session_has_told_stays_when_the_records_change(mode: Any, tmp_path: Path) -> None:
    settings = {"epsilon": 50.0, "analyst_epsilon": 50.0, "num_analysts": 3, **SESSIONS[mode]}

    def session(data: eq.Table) -> Session:
        return Session.open(data, mode=mode, ledger=tmp_path / "ledger.sqlite", run="r", **settings)

    first = session(table())
    told = [first.ask("ada", text, key=text) for text in QUERIES]
    assert any(answer.source == "paid" for answer in told)
    second = session(corrupted())
    assert [second.ask("ada", text, key=text) for text in QUERIES] == told
    assert np.array_equal(first.hypothesis().marginal((0, 1, 2)), second.hypothesis().marginal((0, 1, 2)))
    assert first.status() == second.status()
    assert first.statement()["events"] == second.statement()["events"]


@pytest.mark.parametrize("mode", ROUNDS)
def test_what_a_round_has_told_stays_when_the_records_change(mode: Any, tmp_path: Path) -> None:
    batches = {"ada": list(QUERIES), "bob": [("a", "b", "c")], "carol": ["a = true"]}

    def answered(data: eq.Table) -> Any:
        common = {"epsilon": 2.0, "analyst_epsilon": 5.0, "ledger": tmp_path / "ledger.sqlite", "run": "r"}
        return answer_round(data, batches, mode=mode, **common, **ROUNDS[mode])

    first, second = answered(table()), answered(corrupted())
    assert first.mode == mode
    assert second.answers == first.answers
    assert (first.synopsis is None) == (second.synopsis is None)
    if first.synopsis is not None:
        assert np.array_equal(first.synopsis.marginal((0, 1)), second.synopsis.marginal((0, 1)))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_rule_that_was_chosen_stays_when_the_records_change(mechanism: Mechanism) -> None:
    points = records(num_records=400, num_features=3)
    other = PrivatePoints(1 - points._bits, -points._weights)
    delta = {"gaussian_rspm": Fraction(1, 100), "prsma": Fraction(1)}.get(mechanism, Fraction(0))
    learner = Learner(Conjunctions(3), mechanism, Fraction(20), delta, ByEnumeration(), 400)
    book = MemoryBook(PLENTY)
    chosen = learner.choose(Gate(book, noise=SeededNoise(1)), points)
    again = learner.choose(Gate(MemoryBook(PLENTY, stored=list(book.stored))), other)
    assert np.array_equal(again.parameters, chosen.parameters)
    assert again.event == chosen.event
    assert again.certificate == chosen.certificate
