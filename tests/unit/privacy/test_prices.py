"""The price of every kind of event, by the formula of its row in `prices.cost`, worked out here by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from equipoise.privacy.accountant import Cost, cost
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
from equipoise.privacy.prices import total

E, D = Fraction(1, 10), Fraction(1, 10**9)
HALF = E * E / 2

EXACT: list[tuple[Event, Cost]] = [
    (Gaussian(Fraction(2), Fraction(100)), Cost(Fraction(1, 100), None)),
    (Laplace(Fraction(3), Fraction(30)), Cost(HALF, E)),
    (Exponential(E), Cost(E * E / 8, E)),
    (Exponential(E, 5), Cost(5 * E * E / 8, 5 * E)),
    (PermuteAndFlip(E), Cost(HALF, E)),
    (Draws(E, 5), Cost(5 * E * E / 8, 5 * E)),
    # k = 2 grid + 2 gap + 1 units: 2 * 64 + 2 * 3 + 1 = 135; four separators.
    (
        SeparatorLaplace(4, 64, 3, Fraction(5400)),
        Cost(HALF, E, conditional_rho=HALF, conditional_epsilon=E),
    ),
    (Prsma(E, D), Cost((62 * E) ** 2 / 2, None, 11 * D)),
    (AboveThreshold(E / 4, 3 * E / 4, 7), Cost(HALF, E)),
    (NoisyStop(E, D), Cost(HALF, E, D)),
    (Gated(Fraction(1, 50), 3), Cost(Fraction(3, 50), None)),
    (Group(Exponential(E, 2), 3), Cost(9 * 2 * E * E / 8, 6 * E)),
    (Group(Gaussian(Fraction(2), Fraction(100)), 3), Cost(Fraction(9, 100), None)),
    (Group(NoisyStop(E, D), 1), Cost(HALF, E, D)),
    (Tuned(E, True, "logarithmic", Fraction(1, 5)), Cost((2 * E) ** 2 / 2, 2 * E)),
    (Tuned(E, True, "geometric", Fraction(1, 5)), Cost((3 * E) ** 2 / 2, 3 * E)),
]


@pytest.mark.parametrize(("event", "price"), EXACT, ids=lambda x: getattr(x, "kind", ""))
def test_prices_without_roots_are_exact(event: Event, price: Cost) -> None:
    if (event.event if isinstance(event, Group) else event).kind in ("gaussian", "exponential", "draws"):
        assert cost(event).gaussian  # which has a root: test_gaussian_privacy.py
        price = replace(price, gaussian=cost(event).gaussian)
    assert cost(event) == price
    assert total([(event, 3), (Laplace(Fraction(1), 1 / E), 1)]) == price + price + price + Cost(HALF, E)


def near(found: Fraction | None, wanted: float) -> bool:
    """Not below, and above by less than a share of 1e-6."""
    assert found is not None
    return wanted * (1 - 1e-12) <= float(found) <= wanted * (1 + 1e-6)


def test_capped_draws_cost_the_sum_of_their_ranges() -> None:
    """Three rounds: ranges .1 + .02 and .2 + .02; twice as much for two draws a round."""
    for draws in (1, 2):
        price = cost(CappedHedge(E, 3, draws, Fraction(1, 50)))
        assert near(price.rho, draws * (0.12**2 + 0.22**2) / 8)
        assert near(price.epsilon, draws * (0.12 + 0.22))


def test_a_conditional_release_costs_its_calls() -> None:
    """N = (1 + zeta) R (e^e + 1), zeta = (t + sqrt(t² + 2 R t))/R, t = log(1/delta)."""
    t = math.log(1e9)
    calls = math.ceil((1 + (t + math.sqrt(t * t + 20 * t)) / 10) * 10 * (math.exp(0.1) + 1))
    assert cost(ConditionalRelease(E, 10, D)) == Cost(calls * HALF, None, D)


@pytest.mark.parametrize(
    ("slack", "spread"), [(Fraction(1, 5), Fraction(1)), (Fraction(1), Fraction(2)), (Fraction(1, 10), Fraction(1, 10))]
)
def test_a_coin_costs_its_range_at_the_bias_nearest_to_a_half(slack: Fraction, spread: Fraction) -> None:
    """(h + h/(e^s - 1))² v(p): v is 1/8 where a half is in reach; else (1 - 2p)/(4 log((1 - p)/p)), p the nearest."""
    most, least = math.exp(-float(slack)), math.exp(-float(slack + spread))
    p = most if most < 0.5 else least
    v = 0.125 if least <= 0.5 <= most else (1 - 2 * p) / (4 * math.log((1 - p) / p))
    other = 0.1 / math.expm1(float(slack))
    price = cost(Coins(E, slack, spread, 3))
    assert near(price.rho, 3 * (0.1 + other) ** 2 * v)
    assert near(price.epsilon, 3 * max(0.1, other))


def test_a_game_with_analysts_costs_the_pure_price_of_its_epsilon() -> None:
    rate = Fraction(1 / (2 * (1000 * math.log(1e6)) ** 0.5))
    price = cost(AnalystGame(1000, Fraction(1, 12000), rate, Fraction(1, 10**6)))
    assert price.epsilon is not None
    assert float(price.epsilon) == pytest.approx(0.025, abs=5e-4)
    assert near(price.rho, float(price.epsilon) ** 2 / 2)
    assert price.delta == Fraction(1, 10**6)


def test_gaussian_noise_on_separators_is_conditional_and_needs_its_delta() -> None:
    """Shift k = 3 units, m = 100 noises of s = 400: k/s times the tail of their sum, by Chernoff at its best u, and
    m (k/s)²/2."""
    price = cost(SeparatorGaussian(100, 1, 0, Fraction(400), Fraction(1, 10**6)))

    def tail(u: float) -> float:
        centre = math.erfc(-u / math.sqrt(2)) + 2 / (400 * math.sqrt(2 * math.pi))
        return (100 * (u * u / 2 + math.log(centre)) + math.log(1e6)) / u

    size = min(tail(u / 10_000) for u in range(1, 50_000))
    assert near(price.rho, (3 / 400 * size + 100 * (3 / 400) ** 2 / 2) ** 2 / 2)
    assert (price.epsilon, price.delta, price.conditional_rho) == (None, Fraction(1, 10**6), price.rho)
    assert price.conditional_epsilon == 0


def test_a_tuned_release_costs_a_run_with_shift_and_factor() -> None:
    """Geometric, stop 1/5: factor E[K] = 5; shift h [rho (b - 1) + log(5)/b], h = 2, at its best b."""
    rho = Fraction(1, 50)
    price = cost(Tuned(rho, False, "geometric", Fraction(1, 5)))
    b = math.sqrt(math.log(5) / 0.02)
    assert (price.rho, price.epsilon, price.delta) == (rho, None, 0)
    assert near(price.shift, 2 * (0.02 * (b - 1) + math.log(5) / b))
    assert near(price.factor, 5)
    slower = cost(Tuned(rho, False, "logarithmic", Fraction(1, 5)))
    assert near(slower.shift, 0.02 * (b - 1) + math.log(5) / b)
    assert near(slower.factor, 4 / math.log(5))
