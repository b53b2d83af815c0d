"""The second accountant against the first, event by event, and its refusals."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest

from equipoise.errors import OutputError
from equipoise.privacy import accountant, events
from equipoise.privacy.events import (
    AboveThreshold,
    AnalystGame,
    CappedHedge,
    Coins,
    ConditionalRelease,
    Draws,
    Event,
    Exponential,
    Gated,
    Gaussian,
    Group,
    Laplace,
    NoisyStop,
    PermuteAndFlip,
    Prsma,
    SeparatorGaussian,
    SeparatorLaplace,
    Tuned,
)
from equipoise.privacy.stored_events import to_json
from equipoise.verification import analyst_prices, prices  # noqa: F401
from equipoise.verification.terms import PRICES, Terms, add_up, epsilon, terms_of

EXAMPLES: tuple[Event, ...] = (
    Gaussian(Fraction(2), Fraction("7006.9")),
    Laplace(Fraction(1), Fraction(40, 3)),
    Exponential(Fraction(1, 50), 3),
    PermuteAndFlip(Fraction(1, 7)),
    ConditionalRelease(Fraction(1, 100), 100, Fraction(1, 10**8)),
    Draws(Fraction(1, 30), 12),
    Coins(Fraction(1, 40), Fraction(1, 5), Fraction(2), 9),
    Coins(Fraction(1, 40), Fraction(9, 10), Fraction(1, 100), 2),
    Coins(Fraction(1, 40), Fraction(693147, 10**6), Fraction(1, 10**6), 2),
    SeparatorLaplace(10, 64, 3, Fraction(3000)),
    SeparatorGaussian(10, 64, 3, Fraction(9000), Fraction(1, 10**6)),
    Prsma(Fraction(1, 100), Fraction(1, 10**7)),
    AboveThreshold(Fraction(1, 30), Fraction(1, 20), 4),
    CappedHedge(Fraction(1, 400), 30, 2, Fraction(1, 10**6)),
    NoisyStop(Fraction(1, 10), Fraction(1, 10**7)),
    AnalystGame(1000, Fraction(1, 6000), Fraction(1, 240), Fraction(1, 10**6)),
    AnalystGame(20, Fraction(1, 60), Fraction(1, 24), Fraction(1, 10**6)),
    Group(Exponential(Fraction(1, 50)), 3),
    Gated(Fraction(1, 700), 20),
    Tuned(Fraction(1, 300), False, "logarithmic", Fraction(1, 37)),
    Tuned(Fraction(1, 300), False, "geometric", Fraction(1, 10)),
    Tuned(Fraction(1, 3), True, "geometric", Fraction(1, 10)),
)


def test_every_kind_of_event_has_a_second_price() -> None:
    kinds = {cls.kind for cls in get_args(events.Event)}
    assert kinds == set(PRICES)
    assert kinds == {event.kind for event in EXAMPLES}


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: event.kind)
def test_the_first_price_is_never_below_the_second_and_hardly_above(event: Event) -> None:
    first, second = accountant.cost(event), terms_of(json.loads(json.dumps(to_json(event))))
    slack = 1 + Fraction(1, 10**9) if isinstance(event, SeparatorGaussian | AnalystGame) else 1 + Fraction(1, 10**20)
    assert second.rho <= first.rho * slack
    # A coin near 1/2 is rounded up to a fair one's price; a game's tail is bounded, not added up.
    assert float(first.rho) <= float(second.rho) * (1 + (3e-2 if isinstance(event, AnalystGame) else 3e-4))
    if not isinstance(event, Coins | AnalystGame):
        assert float(first.rho) <= float(second.rho) * (1 + 1e-8)
    assert (first.epsilon is None) == (second.pure is None)
    if first.epsilon is not None and second.pure is not None:
        assert second.pure <= first.epsilon * slack
        assert float(first.epsilon) <= float(second.pure) * (1 + (2e-2 if isinstance(event, AnalystGame) else 1e-8))
    assert first.delta == second.delta
    assert second.shift <= first.shift * slack
    assert float(first.shift) <= float(second.shift) * (1 + 1e-8)
    assert float(second.log_factor) == pytest.approx(math.log(first.factor), rel=1e-12, abs=1e-15)
    assert events.conditional(event) == second.conditional


def test_conversions_agree() -> None:
    rng = np.random.default_rng(3)
    for _ in range(40):
        rho, delta = Fraction(10 ** rng.uniform(-7, 1.5)), 10 ** rng.uniform(-15, -1)
        first = accountant.epsilon_of(rho=rho, delta=delta)
        second = epsilon(Terms(rho, None), delta)
        assert second <= first * (1 + 1e-11)
        assert first <= second * (1 + 1e-6) + 1e-12


def test_a_pure_bound_caps_the_epsilon() -> None:
    assert epsilon(Terms(Fraction(50), Fraction(1, 10)), 1e-6) == pytest.approx(0.1)


def test_what_is_added_up_is_the_sum() -> None:
    one, two = Terms(Fraction(1), Fraction(2), Fraction(3), Fraction(4), Fraction(5)), Terms(Fraction(1), None)
    assert add_up([one, one]) == one.times(2)
    assert add_up([one, two]).pure is None
    assert add_up([]) == Terms(gaussian=Fraction(0))
    half = replace(two, gaussian=Fraction(1, 2))
    assert add_up([half, half]).gaussian == 1
    assert add_up([half, two]).gaussian is None


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "unheard_of"},
        {},
        {"kind": "gaussian", "sensitivity_squared": "1", "variance": "0"},
        {"kind": "gaussian", "sensitivity_squared": "1"},
        {"kind": "laplace", "sensitivity": "x", "scale": "1"},
        {"kind": "laplace", "sensitivity": "1", "scale": "1e999999999"},
        {"kind": "tuned", "budget": "1", "pure": True, "law": "poisson", "stop": "1/2"},
        {"kind": "group", "size": 2, "event": {"kind": "prsma", "epsilon": "1/9", "delta": "1/9"}},
    ],
)
def test_what_cannot_be_priced_is_refused(body: dict[str, object]) -> None:
    with pytest.raises(OutputError):
        terms_of(body)


@pytest.mark.parametrize("number", [1.5, 2.0, "2", None, [2]])
def test_a_number_of_draws_that_is_no_whole_number_is_refused(number: object) -> None:
    """Found by fuzzing: it was priced in floats, and the conversion broke on them."""
    with pytest.raises(OutputError, match="cannot be read"):
        terms_of({"kind": "exponential", "epsilon": "1/50", "num_selected": number})
