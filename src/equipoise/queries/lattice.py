"""What noisy marginals will tell of a workload of marginals, before any is measured: the variances of the best answers.

Marginals tell of residuals, and residuals of marginals; `residuals` has the definitions and the proof, and makes the
answers when the measurements are there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from equipoise.core import FloatArray, IntArray
from equipoise.errors import QueryError, SettingError

__all__ = [
    "Columns",
    "Incidence",
    "Lattice",
    "cells_outside",
    "check_columns",
    "check_precisions",
    "closure",
    "predicted_rmse",
    "predicted_variances",
    "subsets",
]

Columns = tuple[int, ...]


def closure(column_sets: Iterable[Columns]) -> tuple[Columns, ...]:
    """All nonempty subsets of the given column sets, smaller ones first, then in lexicographic order.

    Example:
        >>> closure([(0, 2), (2, 1)])
        ((0,), (1,), (2,), (0, 2), (1, 2))
    """
    found = {subset for columns in column_sets for subset in subsets(tuple(sorted(columns)))}
    return tuple(sorted(found, key=lambda columns: (len(columns), columns)))


@dataclass(frozen=True, eq=False)
class Incidence:
    """A sparse matrix between marginals and residuals: entry k is `values[k]` at (`rows[k]`, `columns[k]`)."""

    rows: IntArray
    columns: IntArray
    values: FloatArray
    shape: tuple[int, int]

    def times(self, vector: FloatArray) -> FloatArray:
        """The matrix times a vector."""
        return np.bincount(self.rows, self.values * vector[self.columns], self.shape[0]).astype(np.float64, copy=False)

    def transposed_times(self, vector: FloatArray) -> FloatArray:
        """The transposed matrix times a vector."""
        return np.bincount(self.columns, self.values * vector[self.rows], self.shape[1]).astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class Lattice:
    """How measured marginals tell of residuals, and residuals of the workload's marginals.

    Attributes:
        residuals: The column sets A whose residuals the workload needs.
        seen: `seen.times(τ)` is the precision p_A of each residual.
        used: `used.times(1/p)` is the variance of a cell of each of the workload's marginals.
    """

    residuals: tuple[Columns, ...]
    seen: Incidence
    used: Incidence

    @classmethod
    def build(cls, sizes: Sequence[int], column_sets: Sequence[Columns], measured: Sequence[Columns]) -> Lattice:
        """The lattice of a workload and of the marginals that are, or may be, measured."""
        for columns in (*column_sets, *measured):
            check_columns(columns, len(sizes))
        residuals = closure(_informative(columns, sizes) for columns in column_sets)
        position = {columns: i for i, columns in enumerate(residuals)}
        seen, used = [], []
        for b, larger in enumerate(measured):
            for a in subsets(_informative(larger, sizes)):
                if a in position:
                    seen.append((position[a], b, 1.0 / cells_outside(a, larger, sizes)))
        for c, larger in enumerate(column_sets):
            for a in subsets(_informative(larger, sizes)):
                centred = math.prod(1.0 - 1.0 / sizes[i] for i in a)
                used.append((c, position[a], centred / float(cells_outside(a, larger, sizes)) ** 2))
        return cls(
            residuals,
            _incidence(seen, (len(residuals), len(measured))),
            _incidence(used, (len(column_sets), len(residuals))),
        )


def predicted_variances(
    sizes: Sequence[int], column_sets: Sequence[Columns], precisions: Mapping[Columns, float]
) -> FloatArray:
    """Variance of a cell (the same for all its cells) of each marginal, as `reconstruct` will answer it, in counts².

    Args:
        sizes: Number of values of each column of the domain.
        column_sets: The marginals to answer.
        precisions: For each measured marginal, 1/variance of its noise. Under replace-one, measuring a marginal at
            precision τ costs τ in rho, so an `allocate`d share times the rho to spend is a precision.

    Returns:
        One variance for each of `column_sets`; infinite where the measurements do not determine the answer.

    Example:
        >>> predicted_variances((2, 4), [(0,), (0, 1)], {(0, 1): 0.5}).tolist()  # Summing 4 cells, with n known.
        [4.0, 1.75]
    """
    check_precisions(precisions)
    lattice = Lattice.build(sizes, column_sets, tuple(precisions))
    residual_precisions = lattice.seen.times(np.array(list(precisions.values()), dtype=np.float64))
    with np.errstate(divide="ignore"):
        return lattice.used.times(1.0 / residual_precisions)


def predicted_rmse(sizes: Sequence[int], column_sets: Sequence[Columns], precisions: Mapping[Columns, float]) -> float:
    """Root of the mean, over all cells of all the marginals, of the predicted variance; in counts.

    Example:
        >>> predicted_rmse((2, 4), [(0,)], {(0, 1): 0.5})
        2.0
    """
    num_cells = np.array([cells_outside((), columns, sizes) for columns in column_sets], dtype=np.float64)
    variances = predicted_variances(sizes, column_sets, precisions)
    return math.sqrt(float(num_cells @ variances) / float(num_cells.sum()))


def check_columns(columns: Columns, num_columns: float) -> None:
    """Refuse what is not a marginal of a domain with so many columns."""
    increasing = all(a < b for a, b in pairwise(columns))
    if not columns or not increasing or columns[0] < 0 or columns[-1] >= num_columns:
        raise QueryError(f"a marginal needs columns of the domain, at least one, in increasing order; not {columns}")


def subsets(columns: Columns) -> Iterator[Columns]:
    """All nonempty subsets."""
    for size in range(1, len(columns) + 1):
        yield from combinations(columns, size)


def cells_outside(inner: Columns, outer: Columns, sizes: Sequence[int] | Mapping[int, int]) -> int:
    """Π m_i over the columns of `outer` that are not in `inner`."""
    return math.prod(sizes[i] for i in outer if i not in inner)


def check_precisions(precisions: Mapping[Columns, float]) -> None:
    """Refuse what is not a precision."""
    for columns, precision in precisions.items():
        if not 0.0 <= precision < math.inf:
            raise SettingError(f"the marginal of columns {columns} needs a precision, finite and not negative")


def _informative(columns: Columns, sizes: Sequence[int]) -> Columns:
    """Without the columns that have one value: their residuals are zero."""
    return tuple(i for i in columns if sizes[i] > 1)


def _incidence(entries: list[tuple[int, int, float]], shape: tuple[int, int]) -> Incidence:
    rows, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
    return Incidence(
        np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64), np.array(values, dtype=np.float64), shape
    )
