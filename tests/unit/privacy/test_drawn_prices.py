"""Draws and coins: their price against exact divergences, and the mechanisms that charge it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.games import bits
from tests.noise import NoNoise

from equipoise.errors import BudgetError, SettingError
from equipoise.privacy import accountant, mechanisms
from equipoise.privacy.events import Coins, Draws, Event, Exponential
from equipoise.privacy.private import GRID

ORDERS = (1.1, 2.0, 8.0, 64.0)


def divergence(p: float, q: float, order: float) -> float:
    """Rényi divergence of two coins, by logarithms of both outcomes."""
    terms = [order * np.log(a) + (1 - order) * np.log(b) for a, b in ((p, q), (1 - p, 1 - q))]
    return float(np.logaddexp(*terms) / (order - 1))


@given(st.floats(1e-4, 0.5), st.floats(0.01, 3.0), st.floats(0.0, 2.0), st.floats(0.0, 1.0), st.floats(-1.0, 1.0))
def test_a_coin_costs_no_more_than_its_price(
    rate: float, slack: float, spread: float, place: float, move: float
) -> None:
    spread = spread + rate
    price = accountant.cost(Coins(Fraction(rate), Fraction(slack), Fraction(spread), 1))
    r = slack + place * spread
    other = min(max(r + move * rate, slack), slack + spread)
    p, q = float(np.exp(-r)), float(np.exp(-other))
    assert price.epsilon is not None
    for a, b in ((p, q), (q, p)):
        loss = max(abs(np.log(a / b)), abs(np.log((1 - a) / (1 - b))))
        assert loss <= float(price.epsilon) * (1 + 1e-9) + 1e-12
        for order in ORDERS:
            assert divergence(a, b, order) <= order * float(price.rho) * (1 + 1e-9) + 1e-12


def test_the_price_of_a_coin_is_nearly_attained_and_half_of_it_is_not_enough() -> None:
    rate, slack = 1e-3, 0.05
    price = float(accountant.cost(Coins(Fraction(rate), Fraction(slack), Fraction(1, 100), 1)).rho)
    worst = max(
        divergence(float(np.exp(-a)), float(np.exp(-b)), order) / order
        for a, b in ((slack, slack + rate), (slack + rate, slack))
        for order in ORDERS
    )
    assert price / 8 < worst <= price
    hoeffding = (rate / -np.expm1(-slack)) ** 2 / 8
    assert price < 0.8 * hoeffding, "a coin far from a half is cheaper than Hoeffding's bound"


def test_draws_cost_as_many_exponential_mechanisms() -> None:
    epsilon = Fraction(3, 70)
    assert accountant.cost(Draws(epsilon, 40)) == accountant.cost(Exponential(epsilon)) * 40


class Purse:
    """Pays for so many events."""

    def __init__(self, allowed: int) -> None:
        self.noise, self.allowed, self.charged = Watched(), allowed, list[Event]()

    def debit(self, event: Event) -> None:
        if len(self.charged) >= self.allowed:
            raise BudgetError("nothing left")
        self.charged.append(event)


class Watched(NoNoise):
    """Remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[np.ndarray, float]] = []

    def draws(self, scores: np.ndarray, scale: float, num_draws: int) -> np.ndarray:
        self.asked.append((scores, scale))
        return super().draws(scores, scale, num_draws)

    def coins(self, exponents: np.ndarray, scale: float) -> np.ndarray:
        self.asked.append((exponents, scale))
        return super().coins(exponents, scale)


def test_payoffs_are_those_of_queries_and_then_of_their_negations() -> None:
    """Three of ten records are 1; five records were played of which two are 1, so 50 counts against 20 and 30."""
    payoffs = bits(3, 10).truth().payoffs(np.array([30.0, 20.0]), times=5)
    assert payoffs.num_values == 4
    assert payoffs.linf_sensitivity == 5 * GRID
    purse = Purse(1)
    mechanisms.draw(purse, payoffs, epsilon=Fraction(1, 2), num_draws=3)
    scores, scale = purse.noise.asked[0]
    assert (scores / GRID).tolist() == [5.0, -5.0, -5.0, 5.0]
    assert scale == 2 * 5 * GRID / 0.5
    with pytest.raises(TypeError, match="whole workload"):
        payoffs.payoffs(np.zeros(4))


def test_nothing_is_looked_at_before_it_is_paid_for() -> None:
    truth = bits(3, 10).truth()
    purse = Purse(0)
    with pytest.raises(BudgetError):
        mechanisms.draw(purse, truth.payoffs(np.zeros(2)), epsilon=Fraction(1), num_draws=1)
    with pytest.raises(BudgetError):
        mechanisms.keep(purse, truth.payoffs(np.zeros(2)), epsilon=Fraction(1), slack=Fraction(1), largest=10)
    assert purse.noise.asked == []


def test_keeping_charges_its_rate_and_never_keeps_more_often_than_the_slack_allows() -> None:
    """A payoff beyond the largest one is cut off, so that the price holds whatever the counts are."""
    truth = bits(3, 10).truth()
    purse = Purse(1)
    epsilon, slack = Fraction(1, 25), Fraction(3, 10)
    mechanisms.keep(purse, truth.payoffs(np.array([-1000.0, 3.0])), epsilon=epsilon, slack=slack, largest=10)
    assert purse.charged == [Coins(epsilon / 2, slack, 10 * epsilon, 4)]
    exponents, scale = purse.noise.asked[0]
    assert (exponents >= 0.3 * scale).all()
    assert (exponents <= 0.3 * scale + 1 + 20 * GRID).all()
    with pytest.raises(SettingError, match="one count"):
        mechanisms.keep(purse, truth.payoffs(np.zeros(2), times=2), epsilon=epsilon, slack=slack, largest=10)


def test_the_larger_a_payoff_the_likelier_it_is_kept() -> None:
    """Counts 7 and 3 of 10, less public 2 and 3, and their negations: payoffs 5, 0, -5, 0; the last is cut at 4."""
    purse, epsilon, slack = Purse(1), Fraction(1, 25), Fraction(3, 10)
    mechanisms.keep(purse, bits(3, 10).truth().payoffs(np.array([2.0, 3.0])), epsilon=epsilon, slack=slack, largest=4)
    exponents, scale = purse.noise.asked[0]
    assert scale == 50 * GRID
    assert exponents.tolist() == [15 * GRID + gap * GRID for gap in (0, 4, 8, 4)]
