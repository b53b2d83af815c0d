"""How to divide a budget between marginals so that a workload of marginals is answered best.

Under replace-one, measuring a marginal at precision τ (noise of variance 1/τ on each cell) costs τ in rho: two cells
move by one, 2/(2 (1/τ)). So a plan is a share of rho for each marginal that may be measured, and the variances of the
answers (`residuals`) scale with 1/rho. With p = Mτ the residuals' precisions, the plan minimises

    mean:  F_λ(τ) = Σ_C λ_C v_C(τ) = Σ_A c_A / p_A          for public weights λ of the workload's marginals,
    max:   max_C w_C v_C(τ) = max_λ F_λ(τ)                  over all λ that sum to one,

over shares τ ≥ 0 that sum to one. Both are convex.

Method. Let h = -∇F_λ ≥ 0. By Cauchy's inequality 1/p_A ≤ Σ_B (M_AB τ'_B / p'_A)² / (M_AB τ_B), so F_λ(τ) is at most
Σ_B h_B(τ') τ'_B² / τ_B, with equality at τ = τ'. This bound is least at τ_B ∝ τ'_B √h_B,
so that step never makes F_λ worse. For the maximum, λ moves too, by λ_C ∝ λ_C √(w_C v_C): a game of two players, each
reweighing what it holds.

Certificate. For every plan τ', Cauchy's inequality gives Σ_A c_A/p'_A · Σ_A c_A p'_A/p_A² ≥ (Σ_A c_A/p_A)², and the
second factor is h·τ' ≤ max h. So F_λ(τ') ≥ F_λ(τ)² / max h for any τ and λ, and the maximum over λ is no
smaller. The gap reported is between the plan returned and the best such bound met on the way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from equipoise.core import FloatArray
from equipoise.errors import QueryError, SettingError
from equipoise.queries.lattice import Columns, Lattice, check_columns, closure

__all__ = ["Allocation", "Objective", "allocate"]

Objective = Literal["mean", "marginals", "max"]

MAX_STEPS = 20_000
"""Steps after which the search stops wherever it is; usual workloads need 10 to 100, random ones up to 1,300."""

NEGLIGIBLE = 1e-3
"""Relative loss accepted for not measuring the marginals with the smallest shares: each is one table of noise less to
draw, store and fit."""

RETRY_STEPS = 100
"""Steps to make up for the marginals that are no longer measured."""

DROPPED = (0.98, 0.95, 0.9, 0.8, 0.5)
"""A share is a candidate for zero when spending more on it helps less than this part of what spending helps on average
(at the optimum, less than 1 is enough); tried in this order until the loss is negligible."""


@dataclass(frozen=True)
class Allocation:
    """A plan of measurement.

    Attributes:
        shares: For each marginal to measure, its share of rho, positive; they sum to one.
        variance: The objective at rho = 1, in counts²; divide by rho.
        gap: No plan over the same candidates has an objective below `variance / (1 + gap)`: proved, not estimated.
    """

    shares: Mapping[Columns, float]
    variance: float
    gap: float

    def precisions(self, rho: float) -> dict[Columns, float]:
        """1/variance of the noise for each marginal to measure, when the plan costs rho in all."""
        return {columns: rho * share for columns, share in self.shares.items()}


@dataclass(frozen=True, eq=False)
class _Problem:
    """The lattice with weights, in arrays.

    Attributes:
        lattice: Its measured marginals are those that may be measured.
        scales: Multiply the variances of the workload's marginals.
        weights: λ, the one that counts or, if `is_max`, the first.
        is_max: Whether the largest scaled variance is the objective; else their mean by `weights`.
        equal: The shares that measure the workload's own marginals and nothing else, equally.
    """

    lattice: Lattice
    scales: FloatArray
    weights: FloatArray
    is_max: bool
    equal: FloatArray

    def variances(self, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The residuals' precisions, and the scaled variances of the workload's marginals."""
        precisions = self.lattice.seen.times(shares)
        with np.errstate(divide="ignore"):
            return precisions, self.scales * self.lattice.used.times(1.0 / precisions)

    def objective(self, variances: FloatArray) -> float:
        return float(variances.max() if self.is_max else self.weights @ variances)

    def value(self, shares: FloatArray) -> float:
        """The objective; infinite where the shares do not answer the workload."""
        return self.objective(self.variances(shares)[1])

    def slope(self, precisions: FloatArray, weights: FloatArray) -> FloatArray:
        """Minus the gradient of F_λ."""
        coefficients = self.lattice.used.transposed_times(weights * self.scales)
        return self.lattice.seen.transposed_times(coefficients / precisions**2)


def allocate(
    sizes: Sequence[int],
    column_sets: Sequence[Columns],
    weights: Sequence[float] | FloatArray | None = None,
    objective: Objective = "mean",
    tolerance: float = 0.005,
) -> Allocation:
    """Shares of rho for marginals and their sub-marginals that answer a workload of marginals best. Public: no data.

    Args:
        sizes: Number of values of each column of the domain.
        column_sets: The workload's marginals, each with increasing column positions.
        weights: Public importance of each marginal (positive), multiplying its variances; default: all equal.
        objective: "mean": the weighted mean variance over all cells of the workload, so the squared RMSE;
            "marginals": the weighted mean over marginals of their cells' variance, whatever their number of cells;
            "max": the largest weighted cell variance.
        tolerance: The gap at which to stop.

    Returns:
        The plan, with a certified gap. Columns with one value are left out of the measured marginals: they say nothing.

    Raises:
        QueryError: there is nothing to measure.

    Example:
        >>> plan = allocate((2, 3, 4), [(0, 1), (1, 2)])
        >>> {columns: round(share, 2) for columns, share in plan.shares.items()}, plan.gap < 0.01
        ({(0, 1): 0.39, (1, 2): 0.61}, True)
    """
    problem, measurable = _posed(sizes, column_sets, weights, objective)
    shares, value, bound = _planned(problem, tolerance)
    kept = {columns: float(share) for columns, share in zip(measurable, shares, strict=True) if share > 0}
    return Allocation(kept, value, max(value / bound - 1.0, 0.0))


def _posed(
    sizes: Sequence[int],
    column_sets: Sequence[Columns],
    weights: Sequence[float] | FloatArray | None,
    objective: Objective,
) -> tuple[_Problem, tuple[Columns, ...]]:
    """The problem in arrays, and the marginals that the shares are for."""
    if objective not in get_args(Objective):
        raise SettingError(f"the objective must be one of {', '.join(get_args(Objective))}")
    importance = np.ones(len(column_sets)) if weights is None else np.asarray(weights, dtype=np.float64)
    if importance.shape != (len(column_sets),) or not (np.isfinite(importance) & (importance > 0)).all():
        raise SettingError("weights must be positive and finite, one for each of the workload's marginals")
    for columns in column_sets:
        check_columns(columns, len(sizes))
    wanted = [tuple(i for i in columns if sizes[i] > 1) for columns in column_sets]
    if not any(wanted):
        raise QueryError("there is nothing to measure: every column of the workload has a single value")
    targets = [columns for columns in dict.fromkeys(wanted) if columns]
    measurable = closure(targets)
    lattice = Lattice.build(sizes, column_sets, measurable)
    own = set(targets)
    equal = np.array([1.0 / len(targets) if columns in own else 0.0 for columns in measurable])
    scales, first = _weighted(sizes, column_sets, importance, objective)
    return _Problem(lattice, scales, first, objective == "max", equal), measurable


def _weighted(
    sizes: Sequence[int], column_sets: Sequence[Columns], importance: FloatArray, objective: Objective
) -> tuple[FloatArray, FloatArray]:
    """The scales of the variances, and the (first) weights λ."""
    if objective == "max":
        return importance, np.full(len(column_sets), 1.0 / len(column_sets))
    if objective == "mean":
        importance = importance * np.array([float(math.prod(sizes[i] for i in c)) for c in column_sets])
    return np.ones(len(column_sets)), importance / importance.sum()


def _planned(problem: _Problem, tolerance: float) -> tuple[FloatArray, float, float]:
    """Shares that leave unmeasured what hardly helps, their objective, and its proved lower bound over all shares."""
    size = len(problem.equal)
    found = _search(problem, np.full(size, 1.0 / size), 0.0, tolerance, MAX_STEPS)
    accepted = max(found.value, found.bound * (1.0 + tolerance)) * (1.0 + NEGLIGIBLE)
    for level in DROPPED:
        start = np.where(found.relative_slope < level, 0.0, found.shares)
        if start.sum() > 0.0:
            fewer = _search(problem, start / start.sum(), found.bound, tolerance, RETRY_STEPS)
            if fewer.value <= accepted:
                found = fewer
                break
    if problem.value(problem.equal) <= found.value:
        return problem.equal, problem.value(problem.equal), found.bound
    return found.shares, found.value, found.bound


class _Found(NamedTuple):
    """The best shares met, minus the gradient there as a part of its mean, the objective, and its lower bound."""

    shares: FloatArray
    relative_slope: FloatArray
    value: float
    bound: float


def _search(problem: _Problem, shares: FloatArray, bound: float, tolerance: float, num_steps: int) -> _Found:
    """Steps of the method from these shares; those at zero stay there.

    `bound` is what is already proved. The slope covers the marginals at zero too, so every step can improve it.
    """
    weights = problem.weights
    found = _Found(shares, shares, math.inf, bound)
    for _ in range(num_steps):
        precisions, variances = problem.variances(shares)
        value = problem.objective(variances)
        if not math.isfinite(value):
            break
        slope = problem.slope(precisions, weights)
        average = float(weights @ variances)  # Also slope @ shares, by Euler: variances are homogeneous, of degree -1.
        if value < found.value:
            found = _Found(shares, slope / average, value, bound)
        bound = max(bound, average**2 / float(slope.max()))
        if found.value <= bound * (1.0 + tolerance):
            break
        shares = shares * np.sqrt(slope)
        shares /= shares.sum()
        if problem.is_max:
            weights = weights * np.sqrt(variances)
            weights /= weights.sum()
    return found._replace(bound=bound)
