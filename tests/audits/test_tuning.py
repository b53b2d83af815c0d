"""Exact audit of choosing the best of a random number of runs: the whole law of what is released, on both neighbours.

A run is a noisy count with a noisy score, both discrete Gaussian, summed up without sampling. Its best-of-K law follows
from the generating function of K. Negative control: the price of one run does not cover it.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.noise import log_gaussian_pmf, log_laplace_pmf

from equipoise.privacy.accountant import Cost, cost, epsilon_at
from equipoise.privacy.events import Tuned

ORDERS = (1.2, 2.0, 5.0, 20.0)
COUNTS = (10, 11)


def run_law(count: int, value_scale: float, score_scale: float, pure: bool = False) -> np.ndarray:
    """Pr[value, score] of one run: a noisy count, and a noisy score that prefers tables with a large count."""
    pmf = log_laplace_pmf if pure else log_gaussian_pmf
    reach = np.arange(-70, 91)
    value, score = (
        np.exp([pmf(int(offset) - count, scale) for offset in reach]) for scale in (value_scale, score_scale)
    )
    return np.outer(value, score)


def best_law(run: np.ndarray, law: str, stop: float) -> np.ndarray:
    """The law of the run with the largest score; among equal scores each is as likely as in one run.

    With f the generating function of K, the level of scores from a to b has probability f(Q(<=b)) - f(Q(<a)), which is
    written in the tails p = 1 - (1 - stop) Q so that nothing cancels.
    """
    levels = run.sum(axis=0)
    tails = np.append(np.cumsum(levels[::-1])[::-1], 0.0)
    p = stop + (1 - stop) * tails
    if law == "geometric":
        chosen = stop * levels / (p[:-1] * p[1:])
    else:
        chosen = np.log1p(-(1 - stop) * levels / p[:-1]) / math.log(stop)
    return run * np.divide(chosen, levels, out=np.zeros_like(levels), where=levels > 0)


def divergence(here: np.ndarray, there: np.ndarray, order: float) -> float:
    kept = (here > 1e-280) & (there > 1e-280)
    p, q = np.log(here[kept]), np.log(there[kept])
    return float(np.logaddexp.reduce(order * p + (1 - order) * q) / (order - 1))


def bound(price: Cost, order: float) -> float:
    return float(price.rho) * order + float(price.shift) + math.log(price.factor) / (order - 1)


@pytest.mark.parametrize("law", ["logarithmic", "geometric"])
@pytest.mark.parametrize("scales", [(2.0, 2.0), (6.0, 1.0), (1.0, 9.0)])
@pytest.mark.parametrize("stop", [Fraction(1, 3), Fraction(1, 40)])
def test_the_best_of_a_random_number_of_runs_costs_at_most_its_price(
    law: str, scales: tuple[float, float], stop: Fraction
) -> None:
    rho = sum(Fraction(1) / (2 * Fraction(scale) ** 2) for scale in scales)
    price = cost(Tuned(rho, False, law, stop))
    here, there = (best_law(run_law(count, *scales), law, float(stop)) for count in COUNTS)
    assert here.sum() == pytest.approx(1, abs=1e-9)
    for a, b in ((here, there), (there, here)):
        for order in ORDERS:
            assert divergence(a, b, order) <= bound(price, order)
        for epsilon in (0.5, 1.0, 2.0):
            delta = float(np.maximum(a - math.exp(epsilon) * b, 0).sum())
            assert delta < 1e-13 or epsilon_at(price, delta=delta) >= epsilon


@pytest.mark.parametrize("law", ["logarithmic", "geometric"])
def test_the_price_of_a_single_run_does_not_cover_it(law: str) -> None:
    """Almost all of the budget on the score, many runs: the chosen score is an extreme, and tells more of the table."""
    scales, stop = (6.0, 1.0), Fraction(1, 40)
    rho = sum(Fraction(1) / (2 * Fraction(scale) ** 2) for scale in scales)
    here, there = (best_law(run_law(count, *scales), law, float(stop)) for count in COUNTS)
    single = Cost(rho, None)
    pairs = ((here, there), (there, here))
    over = [divergence(a, b, order) / bound(single, order) for order in ORDERS for a, b in pairs]
    assert max(over) > 1.1


@pytest.mark.parametrize(("law", "times"), [("logarithmic", 2), ("geometric", 3)])
def test_pure_runs_cost_two_or_three_times_one_of_them_and_not_less(law: str, times: int) -> None:
    stop, epsilon = Fraction(1, 60), Fraction(1, 2)
    # A score of two values, as good as certain to come from the neighbour: the worst case, enumerated directly.
    p, q = 1e-3, 1e-3 * math.exp(float(epsilon))
    runs = [np.array([[1 - tail, tail]]) for tail in (p, q)]
    here, there = (best_law(run, law, float(stop)) for run in runs)
    seen = float(np.abs(np.log(here / there)).max())
    charged = cost(Tuned(epsilon, True, law, stop)).epsilon
    assert charged == times * epsilon
    assert seen <= float(charged)
    wide = [best_law(run_law(count, 8.0, 8.0, pure=True), law, float(stop)) for count in COUNTS]
    assert np.abs(np.log(wide[0] / wide[1])).max() <= float(cost(Tuned(Fraction(1, 4), True, law, stop)).epsilon)
    assert np.abs(np.log(wide[0] / wide[1])).max() > 1.2 * 0.25  # one run's price does not cover it
