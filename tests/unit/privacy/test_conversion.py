"""Conversions of costs that have more than a rho, against the formula that they come from."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from equipoise.privacy.analyst_accountant import _epsilon, _tail, game_epsilon
from equipoise.privacy.conversion import _log_delta, delta_of, epsilon_at, epsilon_of, rho_at, rho_of
from equipoise.privacy.cost import Cost

RHO = Fraction(1, 50)
TUNED = Cost(RHO, None, shift=Fraction(1, 10), factor=Fraction(5))


def log_delta(epsilon: float, order: float, shift: float = 0.0, factor: float = 1.0) -> float:
    """canonne2020discrete, Proposition 12, for a divergence of rho a + shift + log(factor)/(a - 1)."""
    exponent = (order - 1) * (order * 0.02 + shift - epsilon) + math.log(factor)
    return exponent - math.log(order - 1) + order * math.log1p(-1 / order)


def least_epsilon(delta: float, shift: float, factor: float) -> float:
    """By trying many orders: for each, epsilon is explicit."""
    orders = 1 + np.exp(np.linspace(-3, 8, 200_001))
    bent = np.log(orders - 1) - orders * np.log1p(-1 / orders)
    found = orders * 0.02 + shift + (math.log(factor) - math.log(delta) - bent) / (orders - 1)
    return float(found.min())


@pytest.mark.parametrize(("shift", "factor"), [(0.0, 1.0), (0.1, 1.0), (0.0, 5.0), (0.1, 5.0)])
def test_epsilon_of_a_cost_with_shift_and_factor(shift: float, factor: float) -> None:
    made = Cost(RHO, None, shift=Fraction(shift), factor=Fraction(factor))
    found, best = epsilon_at(made, delta=1e-6), least_epsilon(1e-6, shift, factor)
    assert best * (1 - 1e-9) <= found <= best * (1 + 1e-7)


def test_a_failure_probability_leaves_less_of_delta() -> None:
    own = Fraction(1, 10**8)
    found = epsilon_at(Cost(RHO, None, own), delta=1e-6)
    left = 1e-6 - (1 + math.exp(found)) * 1e-8
    assert epsilon_of(rho=RHO, delta=left) <= found * (1 + 1e-12)
    assert found <= epsilon_of(rho=RHO, delta=left) * (1 + 1e-6)
    assert found > epsilon_of(rho=RHO, delta=1e-6)
    assert epsilon_at(Cost(RHO, None, Fraction(1, 10**6)), delta=1e-6) == math.inf
    assert epsilon_at(Cost(RHO, None, Fraction(1, 2 * 10**6)), delta=1e-6) == math.inf
    tuned = Cost(RHO, None, own, Fraction(1, 10), Fraction(5))
    assert epsilon_at(tuned, delta=1e-6) > epsilon_at(TUNED, delta=1e-6)


def test_what_a_tuned_cost_takes_from_a_total_is_its_divergence_at_the_totals_order() -> None:
    limit = float(rho_of(epsilon=1.0, delta=1e-6))
    orders = 1 + np.exp(np.linspace(-3, 8, 200_001))
    bent = (orders - 1) * (orders * limit - 1.0) - np.log(orders - 1) + orders * np.log1p(-1 / orders)
    order = float(orders[np.argmin(bent)])
    for shift, factor in ((0.1, 5.0), (0.1, 1.0), (0.0, 5.0)):
        made = Cost(RHO, None, shift=Fraction(shift), factor=Fraction(factor))
        wanted = 0.02 + (shift + math.log(factor) / (order - 1)) / order
        assert float(rho_at(made, epsilon=1.0, delta=1e-6)) == pytest.approx(wanted, rel=1e-4)
    assert rho_at(Cost(RHO, None), epsilon=1.0, delta=1e-6) == RHO


def test_nothing_costs_nothing() -> None:
    assert epsilon_of(rho=0, delta=1e-6) == delta_of(rho=0, epsilon=1.0) == 0
    assert delta_of(rho=50, epsilon=0.1) == 1.0
    assert epsilon_at(Cost(), delta=1e-6) == 0


def test_delta_is_that_of_the_best_order_and_rounded_up() -> None:
    orders = 1 + np.exp(np.linspace(-3, 8, 200_001))
    best = min(log_delta(1.0, float(order)) for order in orders[::50])
    assert math.exp(best) * (1 - 1e-3) <= delta_of(rho=RHO, epsilon=1.0) <= math.exp(best) * (1 + 1e-8)


def test_what_is_rounded_is_rounded_to_the_private_side() -> None:
    """By a share of 1e-12, which is more than floats err by here: half of it is still within delta."""
    for epsilon, delta in ((1.0, 1e-6), (0.1, 1e-9), (8.0, 1e-3)):
        rho = float(rho_of(epsilon=epsilon, delta=delta))
        assert _log_delta(rho * (1 + 5e-13), epsilon) <= math.log(delta)
        assert _log_delta(rho * (1 + 1e-9), epsilon) > math.log(delta)
        back = epsilon_of(rho=rho, delta=delta)
        assert _log_delta(rho, back * (1 - 5e-13)) <= math.log(delta)
        assert _log_delta(rho, back * (1 - 1e-9)) > math.log(delta)


def test_parts_of_the_accountant_for_analysts() -> None:
    assert _epsilon(0.0, 1e-6) == 0
    for rho in (1e-6, 0.02, 1.0, 9.0):
        exact = epsilon_of(rho=rho, delta=1e-6)
        assert exact * (1 - 1e-9) <= _epsilon(rho, 1e-6) <= exact * (1 + 1e-6) + 1e-9
    assert _tail(10, 0, 0.9) == 1.0, "before the mean the terms still grow"
    exact = stats.binom.sf(3, 10, 0.1)
    assert exact <= _tail(10, 3, 0.1) <= exact * 1.05
    assert _tail(10, 10, 0.1) == 0


def test_a_game_that_hardly_ever_differs_leaves_each_case_half_of_delta_at_most() -> None:
    """One round, parameters by hand: log(1 + P_1/P_0 (e^e - 1)), e the epsilon of rate²/8 at delta 1/2."""
    found = game_epsilon(num_rounds=1, distance=0.06, rate=2.0, delta=0.1)
    worth = epsilon_of(rho=0.5, delta=0.5)
    assert found == pytest.approx(math.log1p(0.06 / 0.94 * math.expm1(worth)), rel=1e-5)


@pytest.mark.parametrize("rho", [1e-30, 1e-24, 1e-12])
def test_hardly_any_rho_is_hardly_any_epsilon_and_never_less_than_none(rho: float) -> None:
    found = epsilon_of(rho=rho, delta=1e-6)
    assert 0 <= found <= rho + 2 * math.sqrt(rho * math.log(1e6)) + 2e-12
    assert _log_delta(rho, found) <= math.log(1e-6)
