"""Which marginals to measure, and how precisely, so that a fitted model answers a workload best. Public facts only.

`queries.allocation` minimises the error of unbiased answers. A fitted model is biased, for the better: what it is not
told it guesses, by independence and by smaller marginals, and guesses well. So the error that counts is that of the
best guess, and measuring pays only as far as the noise is smaller than what there is to learn.

In the terms of `queries.residuals`: the residual of columns A, measured at precision p_A, is off by 1/p_A a cell; a
model that expects it to be small, of variance 1/π_A, is off by 1/(p_A + π_A). The plan minimises

    max over the workload's marginals C, or their sum, of  Σ_{A⊆C} c_AC / (p_A + π_A),        p = Mτ n² ρ,

over shares τ of rho; the workload's own marginals get a FLOOR on top, as far as it is not all noise. With π = 0 this
is the unbiased problem. Where p is far below π measuring does not help, and the budget goes to fewer columns at a
time: with n² ρ falling, from the workload's marginals to pairs to single columns.

What is expected. Tables have few likely values a column, however many it has: a residual lives on about
m̃_A = Π min(m_i, LIKELY) cells, and c and π count those. Its squares sum to about ENERGY of its number of columns. A
column's own distribution is off at all of its values, so up to SPREAD of them count there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from equipoise.core import FloatArray
from equipoise.errors import QueryError, SettingError
from equipoise.queries.lattice import Columns, Lattice, closure

__all__ = ["Measurements", "Objective", "choose_measurements"]

Objective = Literal["both", "max", "mean"]

LIKELY = 4
"""Values that most of a column's records have."""

SPREAD = 64
"""Values of a column at which its own distribution may be off. Some columns have all their records in few values; in
those that do not, the noise of that many adds up."""

ENERGY = (0.3, 0.01, 0.002)
"""Sum of squares of what one, two, three columns tell beyond fewer, as shares of the rows; from there a fifth for each
column more. Orders of magnitude, seen in tables of people, loans and networks: half or twice as much changes little."""

FLOOR: dict[Objective, float] = {"both": 0.5, "max": 0.5, "mean": 0.3}
"""Part of the budget that the workload's own marginals share equally in any case: what is expected is a guess, and a
large interaction that was not expected is seen only there."""

LOUD = 1.0
"""Sum of squares of a marginal's noise beyond which its part of the floor is cut, in proportion: shares of the rows
have squares that sum to one at most, so there is nothing in such a table to be seen but the very largest cells."""

NUM_STEPS = 400
"""Steps of the search, each cheap; after 100 the objective is within a percent of where it ends."""

NEGLIGIBLE = 1e-3
"""Shares below this part of an equal one are not measured: tables of noise that nothing would be learnt from."""


@dataclass(frozen=True)
class Measurements:
    """A plan of measurement.

    Attributes:
        shares: For each marginal to measure, its share of rho, positive; they sum to one.
        expected: What the plan minimised: squared error, summed over the likely cells of a marginal.
    """

    shares: Mapping[Columns, float]
    expected: float


def choose_measurements(
    sizes: Sequence[int],
    column_sets: Sequence[Columns],
    resolution: float,
    *,
    objective: Objective = "both",
) -> Measurements:
    """Shares of rho for marginals and their sub-marginals. Public: no data.

    Args:
        sizes: Number of values of each column of the domain.
        column_sets: The workload's marginals, each with increasing column positions.
        resolution: n² ρ: the precision, in shares of the rows, of a marginal that the whole budget is spent on.
        objective: "mean" minimises the sum over the workload's marginals, the others the largest.

    Raises:
        QueryError: every column of the workload has a single value.
        SettingError: the resolution is not positive.

    Example:
        >>> for resolution in (1e9, 1e2):  # Plenty of rows and budget, then next to nothing.
        ...     plan = choose_measurements((9, 9, 9), [(0, 1, 2)], resolution, objective="mean")
        ...     print({columns: round(share, 2) for columns, share in plan.shares.items()})
        {(0,): 0.02, (1,): 0.02, (2,): 0.02, (0, 1): 0.07, (0, 2): 0.07, (1, 2): 0.07, (0, 1, 2): 0.72}
        {(0,): 0.33, (1,): 0.33, (2,): 0.33, (0, 1, 2): 0.01}
    """
    if not 0.0 < resolution < math.inf:
        raise SettingError("the resolution, the squared number of rows times rho, must be positive")
    wanted = list(dict.fromkeys(tuple(i for i in columns if sizes[i] > 1) for columns in column_sets))
    targets = [columns for columns in wanted if columns]
    if not targets:
        raise QueryError("there is nothing to measure: every column of the workload has a single value")
    problem = _Problem.posed(sizes, targets, resolution)
    chosen, expected = problem.solved(is_max=objective != "mean")
    chosen = np.where(chosen >= NEGLIGIBLE / len(chosen), chosen, 0.0)
    positions = {columns: i for i, columns in enumerate(problem.candidates)}
    floors = np.zeros(len(chosen))
    for columns in targets:
        equal = FLOOR[objective] / len(targets)
        noise = math.prod(sizes[i] for i in columns) / (resolution * equal)
        floors[positions[columns]] = equal * min(1.0, LOUD / noise)
    kept = (1.0 - floors.sum()) * chosen / chosen.sum() + floors
    measured = {columns: float(share) for columns, share in zip(problem.candidates, kept, strict=True) if share > 0}
    return Measurements(measured, expected)


@dataclass(frozen=True, eq=False)
class _Problem:
    """The problem in arrays.

    Attributes:
        candidates: The marginals that may be measured.
        seen: Its `seen` gives the residuals' precisions.
        used: Its `used` gives a marginal's error from those of the residuals, in likely cells.
        num_likely: Likely cells of each of the workload's marginals.
        expected: π.
        resolution: n² ρ.
    """

    candidates: tuple[Columns, ...]
    seen: Lattice
    used: Lattice
    num_likely: FloatArray
    expected: FloatArray
    resolution: float

    @classmethod
    def posed(cls, sizes: Sequence[int], targets: Sequence[Columns], resolution: float) -> _Problem:
        candidates = closure(targets)
        likely = [min(size, LIKELY) for size in sizes]
        seen = Lattice.build(sizes, targets, candidates)
        return cls(
            candidates,
            seen=seen,
            used=_spread(Lattice.build(likely, targets, candidates), sizes),
            num_likely=np.array([float(math.prod(likely[i] for i in columns)) for columns in targets]),
            expected=np.array([math.prod(likely[i] for i in a) / _energy(len(a)) for a in seen.residuals]),
            resolution=resolution,
        )

    def solved(self, *, is_max: bool) -> tuple[FloatArray, float]:
        """Shares, and the objective there: steps of `queries.allocation`, whose bound holds with π added to p too."""
        shares = np.full(len(self.candidates), 1.0 / len(self.candidates))
        weights = np.full(len(self.num_likely), 1.0 / len(self.num_likely))
        best, best_value = shares, math.inf
        for _ in range(NUM_STEPS):
            precisions = self.expected + self.resolution * self.seen.seen.times(shares)
            errors = self.num_likely * self.used.used.times(1.0 / precisions)
            value = float(errors.max() if is_max else errors.sum())
            if value < best_value:
                best, best_value = shares, value
            if is_max:
                weights = weights * np.sqrt(errors)
                weights /= weights.sum()
            coefficients = self.used.used.transposed_times(weights * self.num_likely)
            shares = shares * np.sqrt(self.seen.seen.transposed_times(coefficients / precisions**2))
            shares /= shares.sum()
        return best, best_value


def _spread(lattice: Lattice, sizes: Sequence[int]) -> Lattice:
    """The lattice in likely cells, single columns counted at their spread of values."""
    counted = np.ones(len(lattice.residuals))
    for number, columns in enumerate(lattice.residuals):
        if len(columns) == 1:
            counted[number] = min(sizes[columns[0]], SPREAD) / min(sizes[columns[0]], LIKELY)
    used = lattice.used
    return replace(lattice, used=replace(used, values=used.values * counted[used.columns]))


def _energy(num_columns: int) -> float:
    return ENERGY[num_columns - 1] if num_columns <= len(ENERGY) else ENERGY[-1] * 0.2 ** (num_columns - len(ENERGY))
