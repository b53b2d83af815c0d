"""What noisy marginals tell of pairs of columns: which cells are empty, and which a fit misses. Post-processing.

Empty cells. Where one value implies another, the cells beside the implied one are empty, but each of them was measured
with noise; a fit that cannot go below zero gives each a little, and the implied cell lacks the sum. So where much is
expected and next to nothing is seen, the cells are taken as empty: another measurement is made up that says zero, more
precisely than what was measured. If they do hold something it is less than the noise, which is what that costs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.core import FloatArray
from equipoise.data_players.mixture_block import Columns, Measured

__all__ = ["Pooled", "empty_cells", "pooled_pairs", "share_missed", "with_empty_cells"]

EXPECTED = 8.0
"""Standard deviations that independent columns make of cells, at least, that are taken as empty: nothing is to be
learnt from not seeing what was not to be seen."""

SEEN = 1.5
"""Standard deviations that was seen of them at most. Of cells that are empty this finds 14 in 15; cells that hold three
standard deviations are taken for empty once in 15 times, and those that hold what was expected, never."""

CERTAINTY = 10.0
"""Precision of the zero, relative to what was measured: 4 leaves half of the lack, 20 gains nothing more."""

LARGE = 3.0
"""Standard deviations of a cell that may count as missed: among the many small ones, noise alone would miss some."""

MISSED = 2.7
"""Standard deviations by which it is missed then: by noise alone, of 1,000 cells seven."""


class Pooled(NamedTuple):
    """A marginal's shares, most often a pair's, from all marginals that have it, and their standard deviation."""

    shares: FloatArray
    stddev: float


def pooled_pairs(measured: Mapping[Columns, Measured], one_ways: Sequence[FloatArray]) -> dict[tuple[int, int], Pooled]:
    """Every pair of columns that was measured together, with the sums that the one-way marginals say.

    Those are known better than the pair's own sums: it tells only what is beyond them. Summing out multiplies the
    noise's variance by the number of cells that are summed (see `mixture_one_ways`). Marginals not measured whole are
    left out.
    """
    totals: dict[tuple[int, int], tuple[FloatArray, float]] = {}
    for columns, marginal in measured.items():
        if len(columns) < 2 or marginal.precisions.min() <= 0.0:
            continue
        variance = float((1.0 / marginal.precisions).sum())
        for pair in combinations(columns, 2):
            summed = marginal.shares.sum(axis=tuple(axis for axis, c in enumerate(columns) if c not in pair))
            worth = summed.size / variance
            total, precision = totals.get(pair, (np.zeros(summed.shape), 0.0))
            totals[pair] = total + worth * summed, precision + worth
    return {
        pair: Pooled(_with_sums(total / precision, *(one_ways[c] for c in pair)), precision**-0.5)
        for pair, (total, precision) in totals.items()
    }


def empty_cells(pair: Pooled, a: FloatArray, b: FloatArray) -> NDArray[np.bool_]:
    """The cells of a pair that are taken as empty: by themselves, or as all but one of a value's.

    Example:
        >>> half = np.array([0.5, 0.5])
        >>> empty_cells(Pooled(np.array([[0.51, -0.01], [-0.01, 0.51]]), 0.01), half, half)
        array([[False,  True],
               [ True, False]])
    """
    much, little = EXPECTED * pair.stddev, SEEN * pair.stddev
    empty = (np.multiply.outer(a, b) > much) & (pair.shares < little)
    for shares, part, own, other in ((pair.shares, empty, a, b), (pair.shares.T, empty.T, b, a)):
        implied = shares.argmax(axis=1)
        implies = (own * (1.0 - other[implied]) > much) & (own - shares.max(axis=1) < little)
        part[implies] |= np.arange(len(other)) != implied[implies, None]
    return empty


def with_empty_cells(
    to_fit: Mapping[Columns, Measured], measured: Mapping[Columns, Measured], one_ways: Sequence[FloatArray]
) -> dict[Columns, Measured]:
    """What is to be fitted, and the zeros of the cells that are empty by what was measured."""
    result = dict(to_fit)
    for columns, pair in pooled_pairs(measured, one_ways).items():
        empty = empty_cells(pair, *(one_ways[c] for c in columns))
        if not empty.any():
            continue
        certain = empty * (CERTAINTY / pair.stddev**2)
        before = result.get(columns, Measured(np.zeros(empty.shape), np.zeros(empty.shape)))
        precisions = before.precisions + certain
        known = np.divide(before.precisions, precisions, out=np.zeros(empty.shape), where=precisions > 0.0)
        result[columns] = Measured(before.shares * known, precisions)
    return result


def share_missed(pairs: Mapping[tuple[int, int], Pooled], tables: Sequence[NDArray[np.floating]]) -> float:
    """Of the large cells of pairs, the share that a mixture, given by its components' tables, misses by `MISSED`.

    Example:
        >>> never_together = Pooled(np.array([[0.0, 0.5], [0.5, 0.0]]), 0.01)
        >>> half = np.full((1, 2), 0.5)
        >>> share_missed({(0, 1): never_together}, [half, half])
        1.0
    """
    num_missed, num_large = 0, 0
    for (a, b), pair in pairs.items():
        fitted = tables[a].T @ tables[b] / len(tables[a])
        large = fitted > LARGE * pair.stddev
        num_large += int(large.sum())
        num_missed += int((large & (np.abs(pair.shares - fitted) > MISSED * pair.stddev)).sum())
    return num_missed / max(num_large, 1)


def _with_sums(shares: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    """The nearest table that has these sums."""
    rows, columns = shares.sum(axis=1) - a, shares.sum(axis=0) - b
    both = (shares.sum() - 1.0) / shares.size
    return np.asarray(shares - rows[:, None] / len(b) - columns[None, :] / len(a) + both)
