"""The sentences of statements, by the two who write them; what cannot be put in words is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.unit.privacy.test_event_words import WORDS

from equipoise.errors import OutputError
from equipoise.privacy import events
from equipoise.privacy.event_words import describe_event
from equipoise.privacy.stored_events import to_json
from equipoise.verification.terms import PRICES
from equipoise.verification.words import adjacency_of, definitions_of, words_of

EVENTS = [event for event, _ in WORDS]
LAWS = [events.Tuned(Fraction(1, 50), False, "logarithmic", stop) for stop in (Fraction(1, 37), Fraction(9, 10))]


def test_every_kind_that_has_a_price_has_words() -> None:
    assert {event.kind for event in EVENTS} == set(PRICES)


@pytest.mark.parametrize("event", [*EVENTS, *LAWS, events.Exponential(Fraction(1, 3))], ids=lambda event: event.kind)
def test_both_say_the_same(event: events.Event) -> None:
    assert words_of(to_json(event)) == describe_event(event)


def test_both_round_alike() -> None:
    rng = np.random.default_rng(0)
    for _ in range(500):
        size, scale = (Fraction(float(10 ** rng.uniform(-4, 6))) for _ in range(2))
        for event in (events.Gaussian(size, scale), events.Laplace(size, scale), events.Draws(scale, 2)):
            assert words_of(to_json(event)) == describe_event(event)


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "nosuch"},
        {"kind": "laplace", "scale": "1/2"},
        {"kind": "laplace", "scale": "1e9", "sensitivity": "1"},
        {"kind": "gaussian", "variance": "-1", "sensitivity_squared": "1"},
        {"kind": "draws", "epsilon": "1" * 400, "num_draws": 1},
        {"kind": "tuned", "law": "logarithmic", "stop": "1", "pure": False, "budget": "1"},
        {"kind": "group", "event": {}, "size": 2},
        {"kind": "group", "event": None, "size": 2},
        {},
    ],
)
def test_what_cannot_be_read_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(OutputError, match="cannot be put in words"):
        words_of(body)


def test_a_guarantee_is_called_what_its_figures_are() -> None:
    assert definitions_of({"delta": 0.0}, is_zcdp=True) == ("pure differential privacy",)
    tuned, plain = (definitions_of({"delta": 1e-6}, is_zcdp=zcdp) for zcdp in (False, True))
    assert not any("zCDP" in name for name in tuned)
    assert not any("Rényi" in name for name in plain)


def test_neighbours_are_those_of_the_unit() -> None:
    people = {"unit": "person", "rows_per_unit": 3}
    assert adjacency_of(people) == "up to 3 records of one unit (person) replaced; the number of records is public"
    assert adjacency_of({"unit": "person", "rows_per_unit": 1}).startswith("the one record of one unit (person)")
    assert adjacency_of({"unit": "one record", "rows_per_unit": 1}).startswith("one record replaced by another")
