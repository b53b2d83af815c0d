"""How often to measure marginals next, by what single columns say of them: those whose answers are least sure. Public.

A cell of a marginal can be far off only if it is large, and most workloads have few marginals with large cells: of 64
triples of loans a dozen have one that holds a seventh of the rows. Noisy single columns tell which. With columns a, b,
c known up to variances v, independent columns make of a cell p_a p_b p_c, which is off by

    U = (p_b p_c)² v_a + (p_a p_c)² v_b + (p_a p_b)² v_c + (DEPENDENCE p_a p_b p_c)²,

and, measured with variance s² by itself, by 1/(1/U + 1/s²): one measurement of the triple then tells what three of its
columns would. Each of the measurements goes, one after the other, to the column or the marginal for which the squares
of all these variances, of the largest cell of each marginal, fall most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from equipoise.core import FloatArray
from equipoise.queries.merging import Merging

__all__ = ["times_to_measure"]

DEPENDENCE = 0.1
"""How far a cell is expected to be from what independent columns make of it, relative to its size."""

MOST = 1000
"""Marginals that are looked at: those with the largest cells."""


def times_to_measure(
    merging: Merging, column_sets: Sequence[tuple[int, ...]], known: float, stddev: float, num_times: int
) -> Counter[tuple[int, ...]]:
    """How often to measure single columns and marginals, `num_times` in all.

    Args:
        merging: The columns, as far as they are known.
        column_sets: The workload's marginals.
        known: Standard deviation of a column's cells, as they are known, in shares of the rows.
        stddev: That of one more measurement.
        num_times: Measurements to share out.

    Example:
        >>> from equipoise.data.domain import Domain
        >>> parts = tuple(np.arange(2) for _ in range(4))
        >>> shares = tuple(np.array([most, 1.0 - most]) for most in (0.9, 0.9, 0.5, 0.5))
        >>> columns = Merging(Domain(tuple("abcd"), (2, 2, 2, 2)), parts, shares)
        >>> sorted(times_to_measure(columns, [(0, 1), (2, 3)], 0.1, 0.1, 5).items())
        [((0, 1), 4), ((2, 3), 1)]
    """
    sizes = np.array(merging.merged.sizes)
    largest = np.array([np.bincount(*column).max() for column in zip(merging.parts, merging.known, strict=True)])
    wanted = sorted(dict.fromkeys(column_sets), key=lambda columns: -float(np.prod(largest[list(columns)])))[:MOST]
    # Of as many cells as a column has, what their sum being known leaves of the noise.
    left = 1.0 - 1.0 / sizes
    variances, told = left * known**2, np.divide(1.0, left, out=np.zeros(len(sizes)), where=sizes > 1) / stddev**2
    slopes = _squared_slopes(wanted, largest)
    guessed = np.array([(DEPENDENCE * np.prod(largest[list(columns)])) ** 2 for columns in wanted])
    measured = np.zeros(len(wanted))
    chosen: Counter[tuple[int, ...]] = Counter()
    for _ in range(num_times):
        unsure = slopes @ variances + guessed
        now = _together(unsure, measured)
        better = np.divide(variances, 1.0 + variances * told)
        of_columns = _together(unsure[:, None] - slopes * (variances - better), measured[:, None])
        gains = np.append(
            (now[:, None] ** 2 - of_columns**2).sum(axis=0), now**2 - _together(unsure, measured + stddev**-2) ** 2
        )
        best = int(gains.argmax())
        if best < len(sizes):
            variances[best] = better[best]
            chosen[(best,)] += 1
        else:
            measured[best - len(sizes)] += stddev**-2
            chosen[wanted[best - len(sizes)]] += 1
    return chosen


def _squared_slopes(wanted: Sequence[tuple[int, ...]], largest: FloatArray) -> FloatArray:
    """For each marginal and column, how much an error of the column's largest share counts in the largest cell."""
    slopes = np.zeros((len(wanted), len(largest)))
    for row, columns in zip(slopes, wanted, strict=True):
        for column in columns:
            row[column] = np.prod([largest[c] for c in columns if c != column]) ** 2
    return slopes


def _together(variances: FloatArray, precisions: FloatArray) -> FloatArray:
    """What is left of variances after further measurements of those precisions."""
    return np.asarray(variances / (1.0 + variances * precisions))
