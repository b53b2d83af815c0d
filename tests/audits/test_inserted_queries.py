"""Noise belongs to a query, not to the moment: a query put in before others changes the noise of none of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.analysts import MANY, QUERIES, table
from tests.leaks import Seen, same_dice
from tests.noise import SeededNoise

from equipoise.analysts import Session, answer_round
from equipoise.privacy import capped
from equipoise.privacy.keyed_noise import KeyedNoise

Noises = dict[tuple[str | int, ...], int]


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Noises]:
    """What noise each label has, with the same secret each time."""
    found: Noises = {}
    real = KeyedNoise.laplace

    def laplace(this: KeyedNoise, label: tuple[str | int, ...], scale: Fraction) -> int:
        found[label] = real(this, label, scale)
        return found[label]

    with same_dice(SeededNoise(1), monkeypatch, Seen()), monkeypatch.context() as patch:
        patch.setattr(KeyedNoise, "laplace", laplace)
        yield found


def of_bob(noises: Noises) -> Noises:
    return {label: noise for label, noise in noises.items() if label[0] == "bob"}


def session_of(mode: Any, monkeypatch: pytest.MonkeyPatch, inserted: bool) -> Noises:
    terms = {"num_analysts": 3, "queries_each": MANY}
    with watched(monkeypatch) as noises:
        session = Session.open(table(), mode=mode, epsilon=50.0, analyst_epsilon=50.0, **terms)
        for number, text in enumerate(QUERIES):
            if inserted:
                session.ask("ada", text)
                session.ask("bob", "c = false", key=f"inserted {number}")
            session.ask("bob", text)
            session.ask("bob", text, key=f"{number}")
    return noises


@pytest.mark.parametrize("mode", ["online", "pmw"])
def test_a_query_inserted_into_a_session_changes_no_other_noise(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    alone, together = of_bob(session_of(mode, monkeypatch, False)), session_of(mode, monkeypatch, True)
    kept = {label: noise for label, noise in alone.items() if label[1] == "key"}
    assert len(kept) == len(QUERIES)
    assert {label: together[label] for label in kept} == kept
    assert len(together) > len(alone) == 2 * len(QUERIES)
    assert len(set(together.values())) > len(QUERIES), "noise that no two share"


def test_another_analysts_queries_change_no_noise_of_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for asks in (("bob",), ("ada", "bob")):
        with watched(monkeypatch) as noises:
            terms = {"num_analysts": 3, "queries_each": MANY}
            session = Session.open(table(), mode="online", epsilon=50.0, analyst_epsilon=50.0, **terms)
            for text in QUERIES:
                for analyst in asks:
                    session.ask(analyst, text)
        found.append(of_bob(noises))
    assert found[0] == found[1]
    assert len(found[0]) == len(QUERIES)


def test_a_query_inserted_into_a_round_changes_no_other_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capped, "draw_proportional", lambda shares: int(np.argmax(shares)))
    batches = {"bob": [QUERIES[0], QUERIES[1], QUERIES[0]]}
    longer = {"ada": ["c = true"], "bob": ["c = false", *batches["bob"]]}
    found = []
    for asked in (batches, longer):
        terms = {"num_analysts": 20, "queries_each": 500, "only_if_better": False}
        with watched(monkeypatch) as noises:
            answer_round(table(), asked, mode="per-query", epsilon=2.0, analyst_epsilon=5.0, **terms)
        found.append(noises)
    both = found[0].keys() & found[1].keys()
    assert len(both) >= 2, "the others came when the values of an analyst were used up"
    assert {label: found[1][label] for label in both} == {label: found[0][label] for label in both}
    assert ("bob", "round", 0, "2:10") in found[1].keys() - found[0].keys()
