"""Conversions of costs that have more than a rho, against the formula that they come from."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from equipoise.privacy.conversion import delta_of, epsilon_at, epsilon_of, rho_at, rho_of
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
