"""Conditional release by exact laws: Lemma D as it is proved, the calls it counts, whole runs against their price."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from equipoise.privacy.accountant import cost, delta_of
from equipoise.privacy.events import ConditionalRelease
from equipoise.privacy.prices import calls_of_conditional_release


@given(st.floats(0.01, 3.0), st.floats(1e-6, 1 - 1e-6), st.floats(0, 1))
def test_each_test_is_a_coin_that_does_not_look_and_a_mechanism_that_does(e: float, c: float, share: float) -> None:
    """Lemma D: with hits of probability c <= a the laws are (1 - p)[no] + p B, p the same for both, B pure-e close."""
    most = min(math.exp(e) * c, 1 - math.exp(-e) * (1 - c))  # what a pure-e mechanism allows
    a = c + share * (most - c)
    p = (math.exp(e) * a - c) / math.expm1(e)
    assert a - 1e-9 <= p <= 1 + 1e-9
    hits, misses = (a / p, c / p), (1 - a / p, 1 - c / p)
    assert min(hits) >= 1 / (math.exp(e) + 1) - 1e-9
    assert misses[1] <= math.exp(e) * misses[0] + 1e-9
    assert misses[0] <= misses[1] + 1e-12


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1, 2), Fraction(2)])
@pytest.mark.parametrize("max_hits", [1, 10, 1000])
@pytest.mark.parametrize("delta", [Fraction(1, 100), Fraction(1, 10**9)])
def test_more_calls_than_are_charged_for_have_probability_below_delta(
    epsilon: Fraction, max_hits: int, delta: Fraction
) -> None:
    """The exact law of the calls before the last hit, each hitting as seldom as Lemma D allows."""
    calls = calls_of_conditional_release(epsilon=epsilon, max_hits=max_hits, delta=delta)
    chance = 1 / (math.exp(epsilon) + 1)
    assert stats.nbinom.sf(calls - max_hits, max_hits, chance) <= float(delta)
    assert stats.nbinom.sf(max_hits * 2 - max_hits, max_hits, chance) > float(delta)  # two a hit would not do


def delta_seen(
    e: float, counts: tuple[int, int], window: tuple[int, int], *, max_hits: int, num_tests: int, epsilon: float
) -> float:
    """The exact delta at epsilon of a run on one count and then its neighbour's, always against one window.

    Beyond the window, above or below it, noisy values of neighbouring counts inside it have a constant ratio; so what
    matters of a run is how many values were above, how many below, and how many tests passed.
    """
    q = math.exp(-e)
    above, below = ([q ** abs(d) / (1 + q) for d in side] for side in _distances(counts, window))
    passed = [1 - one - two for one, two in zip(above, below, strict=True)]
    total = 0.0
    for up in range(max_hits + 1):
        for down in range(max_hits + 1 - up):
            hits = up + down
            ways = math.comb(hits, up)
            for misses in [num_tests - hits] if hits < max_hits else range(num_tests - max_hits + 1):
                orders = math.comb(num_tests, hits) if hits < max_hits else math.comb(misses + hits - 1, misses)
                here, there = (above[i] ** up * below[i] ** down * passed[i] ** misses for i in (0, 1))
                total += orders * ways * max(0.0, here - math.exp(epsilon) * there)
    return total


def _distances(counts: tuple[int, int], window: tuple[int, int]) -> tuple[list[int], list[int]]:
    low, high = window
    assert all(low <= count <= high for count in counts)
    return [high + 1 - count for count in counts], [count - low + 1 for count in counts]


RUNS = [
    (Fraction(1, 5), (10, 11), (8, 12), 1, 60),
    (Fraction(1, 5), (11, 10), (8, 12), 1, 60),
    (Fraction(1, 2), (10, 11), (4, 11), 3, 300),
    (Fraction(1, 2), (11, 10), (4, 11), 3, 300),
    (Fraction(1), (10, 9), (9, 40), 5, 400),
]
"""Epsilon of a test, neighbouring counts, the window, hits allowed, and tests made."""


@pytest.mark.parametrize(("e", "counts", "window", "max_hits", "num_tests"), RUNS)
def test_a_whole_run_costs_at_most_its_price(
    e: Fraction, counts: tuple[int, int], window: tuple[int, int], max_hits: int, num_tests: int
) -> None:
    whole = delta_seen(float(e), counts, window, max_hits=max_hits, num_tests=num_tests, epsilon=-math.inf)
    assert whole == pytest.approx(1, abs=1e-9)
    price = cost(ConditionalRelease(e, max_hits, Fraction(1, 10**6)))
    for epsilon in np.linspace(0, 3, 13):
        found = delta_seen(float(e), counts, window, max_hits=max_hits, num_tests=num_tests, epsilon=float(epsilon))
        allowed = delta_of(rho=price.rho, epsilon=float(epsilon)) + (1 + math.exp(epsilon)) * float(price.delta)
        assert found <= allowed


def test_tests_that_pass_are_not_free_by_themselves() -> None:
    """Charged for its hits alone, as sparse vector is misread: a long row of passes is caught."""
    e, epsilon = Fraction(1, 2), 0.5
    runs = [
        delta_seen(float(e), counts, (4, 11), max_hits=1, num_tests=300, epsilon=epsilon)
        for counts in ((10, 11), (11, 10))
    ]
    assert max(runs) > 1e-3
    assert delta_of(rho=cost(ConditionalRelease(e, 1, Fraction(1, 10**6))).rho, epsilon=epsilon) > max(runs)
    # One pure-1/2 mechanism has no delta at epsilon 1/2 at all.
    assert delta_seen(float(e), (10, 11), (4, 11), max_hits=1, num_tests=1, epsilon=epsilon) == pytest.approx(
        0, abs=1e-12
    )
