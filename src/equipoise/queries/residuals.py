r"""Best answers to a workload of marginals from noisy marginals, through residuals; the domain is never formed.

Setting. `x_C` is the true table of counts of the columns C. For some column sets B we hold y_B = x_B + noise, the noise
independent between cells with variance 1/τ_B; τ_B is the precision of the measurement. The number of rows is public.

Residuals. Column i has m_i values. Write m(B\A) for the product of m_i over the columns of B that are not in A. The
residual r_A is what the marginal of A says beyond all smaller ones: x_A centred along each of its axes (the mean along
an axis is subtracted, axis after axis). A centred table sums to zero along each axis, so residuals of different A,
spread evenly over a larger table, are orthogonal, and

    x_C = Σ_{A⊆C} r_A / m(C\A)        (each r_A repeated along the columns of C\A; r_∅ is the number of rows).

Best estimate. The noise is uncorrelated, so by Gauss and Markov the best linear unbiased estimate minimises
Σ_B τ_B ‖y_B - x_B‖². By Pythagoras ‖y_B - x_B‖² = Σ_{A⊆B} ‖r_A(y_B) - r_A‖² / m(B\A), where r_A(y_B) is the residual of
the noisy table summed down to A. Regrouped by A, the sum to minimise is

    Σ_A Σ_{B⊇A} τ_B / m(B\A) · ‖r_A(y_B) - r_A‖².

Each residual may be any centred table, independently of the others, so each is estimated alone, by the weighted mean

    r̂_A = Σ_{B⊇A} τ_B / m(B\A) · r_A(y_B) / p_A,        p_A = Σ_{B⊇A} τ_B / m(B\A).

Summing a noisy table out over B\A multiplies its cells' variance by m(B\A), so r̂_A has the covariance of white noise
of variance 1/p_A, centred; different r̂_A are uncorrelated. Centring leaves Π_{i∈A} (1 - 1/m_i) of a cell's
variance, so

    Var(x̂_C, any cell) = Σ_{∅≠A⊆C} 1/p_A · Π_{i∈A} (1 - 1/m_i) / m(C\A)².

All answers are made of the same residuals, so they agree wherever they overlap. A column of one value has no residual.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.core import FloatArray, IntArray
from equipoise.errors import QueryError, SettingError

__all__ = [
    "Columns",
    "Incidence",
    "Lattice",
    "check_columns",
    "closure",
    "predicted_rmse",
    "predicted_variances",
    "reconstruct",
]

Columns = tuple[int, ...]


def closure(column_sets: Iterable[Columns]) -> tuple[Columns, ...]:
    """All nonempty subsets of the given column sets, smaller ones first, then in lexicographic order.

    Example:
        >>> closure([(0, 2), (2, 1)])
        ((0,), (1,), (2,), (0, 2), (1, 2))
    """
    found = {subset for columns in column_sets for subset in _subsets(tuple(sorted(columns)))}
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
            for a in _subsets(_informative(larger, sizes)):
                if a in position:
                    seen.append((position[a], b, 1.0 / _num_cells_outside(a, larger, sizes)))
        for c, larger in enumerate(column_sets):
            for a in _subsets(_informative(larger, sizes)):
                centred = math.prod(1.0 - 1.0 / sizes[i] for i in a)
                used.append((c, position[a], centred / float(_num_cells_outside(a, larger, sizes)) ** 2))
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
    _check_precisions(precisions)
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
    num_cells = np.array([_num_cells_outside((), columns, sizes) for columns in column_sets], dtype=np.float64)
    variances = predicted_variances(sizes, column_sets, precisions)
    return math.sqrt(float(num_cells @ variances) / float(num_cells.sum()))


def reconstruct(
    measured: Mapping[Columns, NDArray[Any]],
    precisions: Mapping[Columns, float],
    column_sets: Sequence[Columns],
    num_rows: int,
) -> dict[Columns, FloatArray]:
    """Best linear unbiased answers to marginals from noisy marginals (module docstring), consistent with each other.

    Args:
        measured: Noisy counts: for increasing column positions, a tensor with one axis a column.
        precisions: 1/variance of the noise of each measured marginal; one with precision 0 is ignored.
        column_sets: The marginals to answer: the workload's, or any whose columns were measured together.
        num_rows: The public number of rows, which every answer sums to.

    Raises:
        QueryError: a marginal's columns were never measured together, or the tensors contradict each other in shape.
        SettingError: a measured marginal has no precision, or one that is negative or not finite.

    Example:
        >>> noisy = {(0,): np.array([7, 4]), (0, 1): np.array([[2, 4], [3, 1]])}
        >>> answers = reconstruct(noisy, {(0,): 0.5, (0, 1): 1.0}, [(0,), (1,), (0, 1)], num_rows=10)
        >>> answers[(0, 1)]
        array([[2.125, 4.125],
               [2.875, 0.875]])
        >>> answers[(0,)], answers[(1,)]
        (array([6.25, 3.75]), array([5., 5.]))
    """
    _check_precisions({columns: precisions.get(columns, math.nan) for columns in measured})
    used = {columns: tensor for columns, tensor in measured.items() if precisions[columns] > 0.0}
    sizes = _sizes_of(used)
    for columns in column_sets:
        check_columns(columns, math.inf)
    residuals = _estimated_residuals(used, precisions, sizes, {a for c in column_sets for a in _subsets(c)})
    return {columns: _assembled(columns, residuals, sizes, num_rows) for columns in column_sets}


def _estimated_residuals(
    measured: Mapping[Columns, NDArray[Any]],
    precisions: Mapping[Columns, float],
    sizes: Mapping[int, int],
    wanted: set[Columns],
) -> dict[Columns, FloatArray]:
    """r̂_A for every wanted A. Weighted tables are summed first and centred once: centring is linear."""
    totals: dict[Columns, FloatArray] = {}
    residual_precisions: dict[Columns, float] = {}
    for columns, tensor in measured.items():
        for a, table in _summed_out(columns, np.asarray(tensor, dtype=np.float64)):
            if a not in wanted:
                continue
            weight = precisions[columns] / _num_cells_outside(a, columns, sizes)
            residual_precisions[a] = residual_precisions.get(a, 0.0) + weight
            if a in totals:
                totals[a] += weight * table
            else:
                totals[a] = weight * table
    for a, total in totals.items():
        total /= residual_precisions[a]
        for axis in range(len(a)):
            total -= total.mean(axis=axis, keepdims=True)
    return totals


def _summed_out(columns: Columns, table: FloatArray) -> Iterator[tuple[Columns, FloatArray]]:
    """The table of every nonempty subset of the columns, each summed from one with a single column more."""
    tables = {columns: table}
    yield columns, table
    for size in range(len(columns) - 1, 0, -1):
        for a in combinations(columns, size):
            extra = next(i for i in columns if i not in a)
            parent = tuple(i for i in columns if i in a or i == extra)
            tables[a] = tables[parent].sum(axis=parent.index(extra))
            yield a, tables[a]


def _assembled(
    columns: Columns, residuals: Mapping[Columns, FloatArray], sizes: Mapping[int, int], num_rows: int
) -> FloatArray:
    """x̂_C: the number of rows and the residuals of all subsets, each spread evenly."""
    missing = [i for i in columns if i not in sizes]
    if missing:
        raise QueryError(f"column {missing[0]} was not measured; measure a marginal that contains columns {columns}")
    shape = tuple(sizes[i] for i in columns)
    answer = np.full(shape, num_rows / math.prod(shape))
    for a in _subsets(tuple(i for i in columns if sizes[i] > 1)):
        if a not in residuals:
            raise QueryError(f"no measured marginal contains columns {a} together; measure one, or ask for less")
        spread = tuple(sizes[i] if i in a else 1 for i in columns)
        answer += residuals[a].reshape(spread) / _num_cells_outside(a, columns, sizes)
    return answer


def _sizes_of(measured: Mapping[Columns, NDArray[Any]]) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for columns, tensor in measured.items():
        check_columns(columns, math.inf)
        if tensor.ndim != len(columns):
            raise QueryError(f"the measured marginal of columns {columns} needs one axis for each column")
        for column, size in zip(columns, tensor.shape, strict=True):
            if sizes.setdefault(column, size) != size:
                raise QueryError(f"measured marginals disagree about the number of values of column {column}")
    return sizes


def _check_precisions(precisions: Mapping[Columns, float]) -> None:
    for columns, precision in precisions.items():
        if not 0.0 <= precision < math.inf:
            raise SettingError(f"the marginal of columns {columns} needs a precision, finite and not negative")


def check_columns(columns: Columns, num_columns: float) -> None:
    """Refuse what is not a marginal of a domain with so many columns."""
    increasing = all(a < b for a, b in pairwise(columns))
    if not columns or not increasing or columns[0] < 0 or columns[-1] >= num_columns:
        raise QueryError(f"a marginal needs columns of the domain, at least one, in increasing order; not {columns}")


def _informative(columns: Columns, sizes: Sequence[int]) -> Columns:
    """Without the columns that have one value: their residuals are zero."""
    return tuple(i for i in columns if sizes[i] > 1)


def _subsets(columns: Columns) -> Iterator[Columns]:
    """All nonempty subsets."""
    for size in range(1, len(columns) + 1):
        yield from combinations(columns, size)


def _num_cells_outside(inner: Columns, outer: Columns, sizes: Sequence[int] | Mapping[int, int]) -> int:
    """Π m_i over the columns of `outer` that are not in `inner`."""
    return math.prod(sizes[i] for i in outer if i not in inner)


def _incidence(entries: list[tuple[int, int, float]], shape: tuple[int, int]) -> Incidence:
    rows, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
    return Incidence(
        np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64), np.array(values, dtype=np.float64), shape
    )
