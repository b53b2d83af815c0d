"""Fitting a log-linear model to noisy answers, one query at a time.

The maximum-entropy distribution whose answers are near their targets m_i is D ∝ exp(Σ λ_i q_i) with λ minimising

    log Σ_x exp(Σ_i λ_i (q_i(x) - m_i))  +  Σ_i a_i |λ_i|  +  Σ_i b_i λ_i² / 2.

With a = b = 0 the answers meet their targets; a_i is a slack, |q_i(D) - m_i| ≤ a_i; b_i is a variance: it makes D the
minimiser of KL(D || uniform) + Σ (q_i(D) - m_i)² / (2 b_i). Along one coordinate the sum is a function of one number
and of q_i(D) alone: without penalties its minimiser is the exact KL projection on {q_i(D) = m_i}. Descending
coordinate by coordinate costs the cells of one query a step, converges (smooth convex plus separable), and leaves
every iterate a proper distribution.
"""

from __future__ import annotations

import math

import numba

from equipoise.core import FloatArray, IntArray
from equipoise.data_players.log_linear import Tilted, tilt
from equipoise.data_players.regions import sum_over

__all__ = ["descend", "project"]

CLAMP = 1e-6
"""Answers and targets are kept this far from 0 and 1 where a log-odds is taken (MECHANISMS 4.2; the authors' code)."""


def project(model: Tilted, targets: FloatArray, *, tolerance: float, max_steps: int) -> int:
    """Exact KL projections, each on the query that is furthest off; changes the model in place.

    Args:
        model: Its queries are the measured ones.
        targets: One a query of the model.
        tolerance: Stops when no answer is further than this from its target.
        max_steps: Stops after so many projections.

    Returns:
        How many projections were made.
    """
    arrays = (model.weights, model.total, model.coefficients, targets)
    return int(_project(*arrays, tolerance, max_steps, *model.regions))


def descend(
    model: Tilted,
    targets: FloatArray,
    *,
    slack: FloatArray,
    variance: FloatArray,
    tolerance: float,
    max_sweeps: int,
) -> int:
    """Coordinate descent on the penalised dual; changes the model in place, starting from where it is.

    Args:
        model: Its queries are the measured ones.
        targets: One a query of the model.
        slack: a_i, not negative.
        variance: b_i, not negative.
        tolerance: Stops when in a whole sweep no answer was further than this from where its coordinate is optimal.
        max_sweeps: Stops after so many sweeps over all queries.

    Returns:
        How many sweeps were made.
    """
    arrays = (model.weights, model.total, model.coefficients, targets, slack, variance)
    return int(_descend(*arrays, tolerance, max_sweeps, *model.regions))


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _log_odds(probability: float) -> float:
    clamped = min(max(probability, CLAMP), 1.0 - CLAMP)
    return math.log(clamped / (1.0 - clamped))


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _project(
    weights: FloatArray,
    total: FloatArray,
    coefficients: FloatArray,
    targets: FloatArray,
    tolerance: float,
    max_steps: int,
    bases: IntArray,
    starts: IntArray,
    axes: IntArray,
    listed: IntArray,
) -> int:
    for step in range(max_steps):
        worst, gap, answer = -1, tolerance, 0.0
        for i in range(len(targets)):
            played = sum_over(weights, bases[i], axes[starts[i] : starts[i + 1]], listed) / total[0]
            if abs(targets[i] - played) > gap and played > 0.0:
                worst, gap, answer = i, abs(targets[i] - played), played
        if worst < 0:
            return step
        change = _log_odds(targets[worst]) - _log_odds(answer)
        coefficients[worst] += change
        tilt(weights, total, worst, change, bases, starts, axes, listed)
    return max_steps


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _descend(
    weights: FloatArray,
    total: FloatArray,
    coefficients: FloatArray,
    targets: FloatArray,
    slack: FloatArray,
    variance: FloatArray,
    tolerance: float,
    max_sweeps: int,
    bases: IntArray,
    starts: IntArray,
    axes: IntArray,
    listed: IntArray,
) -> int:
    for sweep in range(max_sweeps):
        furthest = 0.0
        for i in range(len(targets)):
            region = axes[starts[i] : starts[i + 1]]
            played = sum_over(weights, bases[i], region, listed) / total[0]
            if played <= 0.0 or played >= 1.0:
                continue
            best = _best_coefficient(played, coefficients[i], targets[i], slack[i], variance[i])
            change = best - coefficients[i]
            if change == 0.0:
                continue
            odds = played / (1.0 - played) * math.exp(change)
            furthest = max(furthest, abs(odds / (1.0 + odds) - played))
            coefficients[i] = best
            tilt(weights, total, i, change, bases, starts, axes, listed)
        if furthest <= tolerance:
            return sweep + 1
    return max_sweeps


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _best_coefficient(played: float, coefficient: float, target: float, slack: float, variance: float) -> float:
    """The minimiser of the dual along one coordinate: where answer - target + slack·sign(λ) + variance·λ = 0."""
    odds = math.log(played) - math.log1p(-played) - coefficient  # log-odds of the answer at λ = 0
    at_zero = 1.0 / (1.0 + math.exp(-odds)) - target
    if abs(at_zero) <= slack:
        return 0.0
    aim = target + slack if at_zero > 0.0 else target - slack
    unpenalised: float = _log_odds(aim) - odds
    if variance == 0.0:
        return unpenalised
    low, high = min(0.0, unpenalised), max(0.0, unpenalised)
    # Newton from inside a bracket, halved whenever Newton would leave it: the derivative is increasing.
    best: float = 0.5 * (low + high)
    for _ in range(60):
        answer = 1.0 / (1.0 + math.exp(-(odds + best)))
        slope = answer - aim + variance * best
        if slope > 0.0:
            high = best
        else:
            low = best
        step = slope / (answer * (1.0 - answer) + variance)
        moved: float = best - step
        if not low <= moved <= high:
            moved = 0.5 * (low + high)
        if abs(moved - best) <= 1e-12 * (1.0 + abs(best)):
            return moved
        best = moved
    return best
