"""How to divide a budget between marginals so that a workload of marginals is answered best.

Under replace-one, measuring a marginal at precision τ (noise of variance 1/τ on each cell) costs τ in rho: two cells
move by one, 2/(2 (1/τ)). So a plan is a share of rho for each marginal that may be measured, and the variances of the
answers (`residuals`) scale with 1/rho. With p = Mτ the residuals' precisions, the plan minimises

    mean:  F_λ(τ) = Σ_C λ_C v_C(τ) = Σ_A c_A / p_A          for public weights λ of the workload's marginals,
    max:   max_C w_C v_C(τ) = max_λ F_λ(τ)                  over all λ that sum to one,

over shares τ ≥ φ that sum to one (φ: the floor, zero unless asked for). Both are convex.

Method. With h = -∇F_λ ≥ 0, Cauchy's inequality 1/p_A ≤ Σ_B (M_AB τ'_B / p'_A)² / (M_AB τ_B) bounds F_λ by a sum of h_B τ'_B²/τ_B,
tight at τ = τ' (a floor adds terms that do not move). Its minimum is τ_B ∝ τ'_B √h_B, so that step never makes F_λ worse.
For the maximum, the weights λ follow by the multiplicative step λ_C ∝ λ_C √(w_C v_C): a game of two players, each
reweighing what it holds.

Certificate. For every plan τ', Cauchy's inequality gives Σ_A c_A/p'_A · Σ_A c_A p'_A/p_A² ≥ (Σ_A c_A/p_A)², and the second
factor is h·τ' ≤ h·φ + (1 - Σφ) max h. So F_λ(τ') ≥ F_λ(τ)² / (h·φ + (1 - Σφ) max h) for any τ and λ, and the maximum over λ
is no smaller. The gap reported is between the plan returned and the best such bound met on the way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, get_args

import numpy as np

from equipoise.core import FloatArray
from equipoise.errors import QueryError, SettingError
from equipoise.queries.residuals import Columns, Lattice, closure

__all__ = ["Allocation", "Objective", "allocate", "widened"]

Objective = Literal["mean", "marginals", "max"]

MAX_STEPS = 20_000
"""Steps after which the search stops wherever it is; usual workloads need 10 to 100, random ones up to 1,300."""

NEGLIGIBLE = 1e-3
"""Part of the budget that may be moved away from the smallest shares, and the loss accepted for it: a measurement saved
is a table of noise less to draw, store and fit."""

SMALL_COLUMN = 4
"""Values beyond which adding a column to a marginal of two to four columns hides more than it shows (`widened`)."""

MAX_TRIED = 16
"""Columns tried when a marginal is widened: those least used so far, so that thousands of marginals stay cheap."""


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
    """The lattice with weights: `scales` multiply the variances, `weights` is the first λ, which moves if `is_max`."""

    lattice: Lattice
    scales: FloatArray
    weights: FloatArray
    is_max: bool
    floors: FloatArray

    def variances(self, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The residuals' precisions, and the scaled variances of the workload's marginals."""
        precisions = self.lattice.seen.times(shares)
        return precisions, self.scales * self.lattice.used.times(1.0 / precisions)

    def objective(self, variances: FloatArray) -> float:
        return float(variances.max() if self.is_max else self.weights @ variances)

    def slope(self, precisions: FloatArray, weights: FloatArray) -> FloatArray:
        """H = -∇F_λ."""
        coefficients = self.lattice.used.transposed_times(weights * self.scales)
        return self.lattice.seen.transposed_times(coefficients / precisions**2)


def allocate(
    sizes: Sequence[int],
    column_sets: Sequence[Columns],
    weights: Sequence[float] | FloatArray | None = None,
    objective: Objective = "mean",
    floor: float | None = None,
    candidates: Sequence[Columns] | None = None,
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
        floor: Part of rho (0 to 1) that is divided equally between the workload's marginals in any case; the rest is
            optimised. Default: none.
        candidates: The marginals that may be measured; default: the workload's and all their subsets. Wider ones
            help where columns have two or three values (`widened`).
        tolerance: The gap at which to stop.

    Returns:
        The plan, with a certified gap. Columns with one value are left out of the measured marginals: they say nothing.

    Raises:
        QueryError: there is nothing to measure, or the candidates cannot answer the workload.

    Example:
        >>> plan = allocate((2, 3, 4), [(0, 1), (1, 2)])
        >>> {columns: round(share, 2) for columns, share in plan.shares.items()}, plan.gap < 0.01
        ({(0, 1): 0.39, (1, 2): 0.61}, True)
    """
    problem, measurable = _posed(sizes, column_sets, weights, objective, floor, candidates)
    shares, bound = _optimised(problem, tolerance)
    shares = _without_negligible(problem, shares)
    value = problem.objective(problem.variances(shares)[1])
    kept = {columns: float(share) for columns, share in zip(measurable, shares, strict=True) if share > 0}
    return Allocation(kept, value, max(value / bound - 1.0, 0.0))


def widened(sizes: Sequence[int], column_sets: Sequence[Columns]) -> tuple[Columns, ...]:
    """Candidates for `allocate`: the workload's marginals, their subsets, and wider ones that may pay.

    One measurement of B tells of each workload marginal C ⊆ B at precision 1/Π_{i∈B\\C} m_i of its own. Where columns
    have few values the sum of these over C exceeds the 1 that measuring one C alone gives: three columns of two values
    hold three pairs at 1/2 each. So each workload marginal is grown while that sum grows, one column of at most four
    values at a time, ties going to the column least used: about one wider marginal for each of the workload's.

    Example:
        >>> widened((2, 2, 2, 9), [(0, 1), (0, 2), (1, 2), (0, 3)])[-2:]
        ((1, 2), (0, 1, 2))
    """
    workload = set(column_sets)
    widths = {len(columns) for columns in workload}
    num_uses = {i: 0 for i, size in enumerate(sizes) if 1 < size <= SMALL_COLUMN}

    def worth(columns: Columns) -> float:
        inside = (c for width in widths for c in combinations(columns, width) if c in workload)
        return math.fsum(1.0 / math.prod(sizes[i] for i in columns if i not in c) for c in inside)

    found: set[Columns] = set()
    for columns in column_sets:
        grown, best = columns, worth(columns)
        while True:
            tried = sorted(num_uses.keys() - set(grown), key=lambda i: (num_uses[i], i))[:MAX_TRIED]
            larger = [tuple(sorted((*grown, i))) for i in tried]
            worths = [worth(b) for b in larger]
            if not worths or max(worths) <= best * (1 + 1e-9):
                break
            best = max(worths)
            grown = larger[worths.index(best)]
        if grown != columns and grown not in found:
            found.add(grown)
            for i in num_uses.keys() & set(grown):
                num_uses[i] += 1
    extra = sorted(found - set(closure(column_sets)), key=lambda c: (len(c), c))
    return (*closure(column_sets), *extra)


def _posed(
    sizes: Sequence[int],
    column_sets: Sequence[Columns],
    weights: Sequence[float] | FloatArray | None,
    objective: Objective,
    floor: float | None,
    candidates: Sequence[Columns] | None,
) -> tuple[_Problem, tuple[Columns, ...]]:
    """The problem in arrays, and the marginals that the shares are for."""
    if objective not in get_args(Objective):
        raise SettingError(f"the objective must be one of {', '.join(get_args(Objective))}")
    if not 0.0 <= (floor or 0.0) <= 1.0:
        raise SettingError("the floor is a part of the budget: between 0 and 1")
    importance = np.ones(len(column_sets)) if weights is None else np.asarray(weights, dtype=np.float64)
    if importance.shape != (len(column_sets),) or not (np.isfinite(importance) & (importance > 0)).all():
        raise SettingError("weights must be positive and finite, one for each of the workload's marginals")
    Lattice.build(sizes, column_sets, candidates or ())  # Refuses columns that are not of the domain.
    wanted = [tuple(i for i in columns if sizes[i] > 1) for columns in column_sets]
    if not any(wanted):
        raise QueryError("there is nothing to measure: every column of the workload has a single value")
    targets = [columns for columns in dict.fromkeys(wanted) if columns]
    measurable = closure(targets)
    if candidates is not None:
        reduced = (tuple(i for i in columns if sizes[i] > 1) for columns in candidates)
        measurable = tuple(dict.fromkeys(columns for columns in reduced if columns))
    if floor:
        measurable = tuple(dict.fromkeys((*measurable, *targets)))
    lattice = Lattice.build(sizes, column_sets, measurable)
    unseen = np.flatnonzero(lattice.seen.times(np.ones(len(measurable))) == 0)
    if len(unseen):
        raise QueryError(f"no candidate contains columns {lattice.residuals[unseen[0]]} together; add one that does")
    floors = np.array([(floor or 0.0) / len(targets) if columns in set(targets) else 0.0 for columns in measurable])
    return _weighted(lattice, sizes, column_sets, importance, objective, floors), measurable


def _weighted(
    lattice: Lattice,
    sizes: Sequence[int],
    column_sets: Sequence[Columns],
    importance: FloatArray,
    objective: Objective,
    floors: FloatArray,
) -> _Problem:
    if objective == "max":
        uniform = np.full(len(column_sets), 1.0 / len(column_sets))
        return _Problem(lattice, importance, uniform, True, floors)
    if objective == "mean":
        importance = importance * np.array([float(math.prod(sizes[i] for i in c)) for c in column_sets])
    return _Problem(lattice, np.ones(len(column_sets)), importance / importance.sum(), False, floors)


def _optimised(problem: _Problem, tolerance: float) -> tuple[FloatArray, float]:
    """The best shares met, and the best proved lower bound of the objective."""
    floors, weights = problem.floors, problem.weights
    free = 1.0 - float(floors.sum())
    moving = np.full(len(floors), free / len(floors))
    best, value, bound = floors + moving, math.inf, 0.0
    for _ in range(MAX_STEPS):
        precisions, variances = problem.variances(floors + moving)
        slope = problem.slope(precisions, weights)
        average = float(weights @ variances)
        if problem.objective(variances) < value:
            best, value = floors + moving, problem.objective(variances)
        bound = max(bound, average**2 / (float(slope @ floors) + free * float(slope.max())))
        if value <= bound * (1.0 + tolerance):
            break
        moving = moving * np.sqrt(slope)
        moving *= free / moving.sum()
        if problem.is_max:
            weights = weights * np.sqrt(variances)
            weights /= weights.sum()
    return best, bound


def _without_negligible(problem: _Problem, shares: FloatArray) -> FloatArray:
    """The shares with the smallest set to zero, as far as that moves and costs next to nothing."""
    value = problem.objective(problem.variances(shares)[1])
    order = np.argsort(shares, kind="stable")
    order = order[problem.floors[order] == 0.0]
    cumulated = np.cumsum(shares[order])
    for allowed in (NEGLIGIBLE, NEGLIGIBLE / 10, NEGLIGIBLE / 100):
        kept = shares.copy()
        kept[order[cumulated <= allowed]] = 0.0
        free = float((kept - problem.floors).sum())
        if free > 0.0:
            kept = problem.floors + (kept - problem.floors) * ((1.0 - float(problem.floors.sum())) / free)
        precisions = problem.lattice.seen.times(kept)
        if (precisions > 0.0).all() and problem.objective(problem.variances(kept)[1]) <= value * (1.0 + NEGLIGIBLE):
            return kept
    return shares
