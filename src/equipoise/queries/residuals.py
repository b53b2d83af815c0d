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
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.core import FloatArray
from equipoise.errors import QueryError
from equipoise.queries.lattice import Columns, cells_outside, check_columns, check_precisions, subsets

__all__ = ["reconstruct"]


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
    check_precisions({columns: precisions.get(columns, math.nan) for columns in measured})
    used = {columns: tensor for columns, tensor in measured.items() if precisions[columns] > 0.0}
    sizes = _sizes_of(used)
    for columns in column_sets:
        check_columns(columns, math.inf)
    residuals = _estimated_residuals(used, precisions, sizes, {a for c in column_sets for a in subsets(c)})
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
            weight = precisions[columns] / cells_outside(a, columns, sizes)
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
    for a in subsets(tuple(i for i in columns if sizes[i] > 1)):
        if a not in residuals:
            raise QueryError(f"no measured marginal contains columns {a} together; measure one, or ask for less")
        spread = tuple(sizes[i] if i in a else 1 for i in columns)
        answer += residuals[a].reshape(spread) / cells_outside(a, columns, sizes)
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
