"""What noisy marginals tell of single columns: each column's own distribution, from all that has the column.

Pooled. A marginal's sums are a column's distribution, but each sum collects the noise of all the cells that it adds up,
and most of these hold next to nothing. So cells count by what is expected of them. With e_o the share that independent
columns make of the other columns' values o, a cell (v, o) is p_v e_o, plus noise of variance σ², plus what the columns'
dependence adds, of variance D e_o, say, which sums to zero over o. Of all unbiased Σ_o w_o x_vo the least variance,
σ² Σ w_o² + D Σ e_o (w_o - 1)², is that of w_o ~ e_o / (σ² + D e_o): sums of all cells where there is no noise, the few
large ones where there is much. The expected shares themselves come from plain sums. Against those the error on tables
of people and loans is a tenth to a third smaller.

Then denoised (`queries.denoising`): by what all the column's cells tell of their sizes, and by what neighbours tell of
one another. What noise is left says how much the column counts in the fit.

Post-processing of the measurements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from equipoise.core import FloatArray
from equipoise.data_players.mixture_block import Columns, Measured
from equipoise.queries.denoising import estimated, on_simplex

__all__ = ["OneWay", "as_marginals", "denoised", "expected_shares", "pooled_one_ways"]

DEPENDENCE = 0.005
"""D: variance that dependence adds to a cell, for each share that is expected of the other columns' values. From a half
to twice as much does about as well on all tables tried."""


class OneWay(NamedTuple):
    """A column's shares, and their precision: 0, and all alike, where nothing was measured."""

    shares: FloatArray
    precision: float


def pooled_one_ways(
    measured: Mapping[Columns, Measured], sizes: Sequence[int], expected: Sequence[FloatArray] | None = None
) -> list[OneWay]:
    """Each column's shares, from all marginals that were measured whole.

    Args:
        measured: Noisy marginals.
        sizes: Number of values of each column.
        expected: Distributions of the columns, by which cells count; None: all alike, so that these are plain sums.

    Example:
        >>> cells = np.array([[0.68, 0.04, 0.02, -0.01], [0.27, -0.01, 0.02, 0.01]])
        >>> noisy = {(0, 1): Measured(cells, np.full(cells.shape, 1000.0))}
        >>> round(pooled_one_ways(noisy, [2, 4])[0].precision)  # sums of four
        250
        >>> likely = [np.array([0.7, 0.3]), np.array([0.95, 0.03, 0.02, 0.0])]
        >>> round(pooled_one_ways(noisy, [2, 4], likely)[0].precision)
        755
    """
    return [_pooled(column, size, measured, expected) for column, size in enumerate(sizes)]


def denoised(measured: Mapping[Columns, Measured], sizes: Sequence[int]) -> list[OneWay]:
    """The distribution of each column, without (much of) the noise."""
    sums = [_without_noise(column) for column in pooled_one_ways(measured, sizes)]
    pooled = pooled_one_ways(measured, sizes, [column.shares for column in sums])
    return [_without_noise(column) for column in pooled]


def as_marginals(one_ways: Sequence[OneWay], measured: Mapping[Columns, Measured]) -> dict[Columns, Measured]:
    """The columns of which something is known, but for those measured by themselves in part: these stay as they are."""
    whole = {columns for columns, marginal in measured.items() if marginal.precisions.min() > 0.0}
    return {
        (column,): Measured(shares, np.full(shares.shape, precision))
        for column, (shares, precision) in enumerate(one_ways)
        if precision > 0.0 and ((column,) in whole or (column,) not in measured)
    }


def expected_shares(columns: Sequence[int], one_ways: Sequence[FloatArray]) -> FloatArray:
    """What independent columns make of the cells of a marginal; 1 for that of no column."""
    return np.asarray(reduce(np.multiply.outer, [one_ways[c] for c in columns], np.ones(())))


def _pooled(
    column: int, size: int, measured: Mapping[Columns, Measured], expected: Sequence[FloatArray] | None
) -> OneWay:
    total, precision = np.zeros(size), 0.0
    for columns, marginal in measured.items():
        if column not in columns or marginal.precisions.min() <= 0.0:
            continue
        cells = np.moveaxis(marginal.shares, columns.index(column), 0).reshape(size, -1)
        variance = float((1.0 / marginal.precisions).mean())
        if expected is None:
            summed, worth = cells.sum(axis=1), 1.0 / (variance * cells.shape[1])
        else:
            shares = expected_shares([c for c in columns if c != column], expected).reshape(-1)
            weights = shares / (variance + DEPENDENCE * shares)
            weights /= weights @ shares
            summed = cells @ weights
            worth = 1.0 / float(variance * (weights @ weights) + DEPENDENCE * (shares @ (weights - 1.0) ** 2))
        total += worth * (summed - summed.mean())  # all shares together are 1, and what is off there is noise
        precision += worth
    if size == 1 or precision == 0.0:
        return OneWay(np.full(size, 1.0 / size), 0.0)
    return OneWay(1.0 / size + total / precision, precision)


def _without_noise(column: OneWay) -> OneWay:
    if column.precision == 0.0:
        return column
    found = estimated(column.shares, column.precision**-0.5)
    return OneWay(on_simplex(found.values), 1.0 / found.variance)
