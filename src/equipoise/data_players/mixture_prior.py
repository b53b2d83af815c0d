"""What is known of noisy marginals before a mixture is fitted to them: most cells are small. Post-processing.

Two things follow, both from the measurements alone.

One-way marginals. The noise of a column of many values adds up, and clipping it at zero leaves the cells that happened
to be high. Instead the sizes of the column's cells are taken as draws from an unknown distribution, which is estimated
from all of them together (the nonparametric maximum likelihood of empirical Bayes); each cell becomes its mean, given
what was measured. On columns drowned in noise this saves a sixth of the error, on others it changes nothing.

Weights. Where independent columns make next to nothing of a cell, compared with its noise, the measurement says little
beyond "small", and following it is following noise. So the precision of a cell counts by √(e/(e + stddev/10)), e being
the product of its one-way shares, relative to the marginal's largest. Not by more: cells far above what independence
makes of them are what there is to learn, and a stronger weighting learns them too late.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from equipoise.core import FloatArray
from equipoise.data_players.mixture_block import Columns, Measured
from equipoise.data_players.mixture_pooled import with_empty_cells

__all__ = ["Prepared", "posterior_means", "prepared"]

FAR = 6.0
"""Standard deviations above zero from which a cell is taken as measured: there is no small cell to confuse it with."""

NUM_SIZES = 40
"""Sizes that a cell may have in the estimate, from zero to a little beyond `FAR`: five a standard deviation."""

NUM_STEPS = 60
"""Steps of expectation and maximisation; thirty do nearly as well."""

NEXT_TO_NOTHING = 0.1
"""Of a standard deviation: cells expected below that count less. Tried on few tables: 1 in its place made the largest
error of a precise measurement a fifth larger, no weights made the mean error of a noisy one a twentieth larger."""

LEAST_WEIGHT = 1e-3
"""Of a cell's precision, what counts in any case: what was expected may be wrong."""


class Prepared(NamedTuple):
    """What to fit.

    Attributes:
        measured: The marginals, those of one column without (much of) their noise, with the weights of their cells,
            and pairs of which cells are empty (`mixture_pooled`).
        one_ways: The distribution of each column; uniform where nothing was measured.
    """

    measured: dict[Columns, Measured]
    one_ways: list[FloatArray]


def prepared(measured: Mapping[Columns, Measured], sizes: Sequence[int]) -> Prepared:
    """Marginals as they should be fitted, from marginals as they were measured (precisions: 1/variance)."""
    one_ways = [_one_way(column, size, measured) for column, size in enumerate(sizes)]
    result = {}
    for columns, marginal in measured.items():
        whole_column = len(columns) == 1 and marginal.precisions.min() > 0
        shares = one_ways[columns[0]] if whole_column else marginal.shares
        expected = reduce(np.multiply.outer, [one_ways[c] for c in columns])
        result[columns] = Measured(shares, marginal.precisions * _weights(expected, marginal.precisions))
    return Prepared(with_empty_cells(result, measured, one_ways), one_ways)


def posterior_means(noisy: FloatArray, stddev: float) -> FloatArray:
    """The expected size of each cell given its noisy value, for cells of any unknown sizes that are not negative.

    Example:
        >>> posterior_means(np.array([-0.2, 0.1, 0.1, 0.0, 9.0]), 0.1).round(2)
        array([0.01, 0.04, 0.04, 0.02, 9.  ])
    """
    means = noisy.copy()
    near = noisy < FAR * stddev
    if not near.any():
        return means
    sizes = np.linspace(0.0, (FAR + 2.0) * stddev, NUM_SIZES)
    likelihoods = np.exp(-0.5 * ((np.maximum(noisy[near], -FAR * stddev)[:, None] - sizes) / stddev) ** 2)
    weights = np.full(NUM_SIZES, 1.0 / NUM_SIZES)
    for _ in range(NUM_STEPS):
        # One cell of each size, together counted as one, keeps few cells from being taken for all there is.
        totals = (likelihoods * (weights / (likelihoods @ weights)[:, None])).sum(axis=0) + 1.0 / NUM_SIZES
        weights = totals / totals.sum()
    posterior = likelihoods * weights
    means[near] = (posterior @ sizes) / posterior.sum(axis=1)
    return means


def _one_way(column: int, size: int, measured: Mapping[Columns, Measured]) -> FloatArray:
    """The best estimate of a column's own distribution from the marginals measured whole; else uniform.

    Summing out multiplies the noise's variance by the number of cells that are summed, so that is what a marginal's
    precision is divided by.
    """
    total, precision = np.zeros(size), 0.0
    for columns, marginal in measured.items():
        if column in columns and marginal.precisions.min() > 0:
            axes = tuple(axis for axis, c in enumerate(columns) if c != column)
            summed = marginal.shares.sum(axis=axes)
            worth = size / float((1.0 / marginal.precisions).sum())
            total += worth * (summed - summed.mean())
            precision += worth
    if size == 1 or precision == 0.0:
        return np.full(size, 1.0 / size)
    return _on_simplex(posterior_means(1.0 / size + total / precision, precision**-0.5))


def _weights(expected: FloatArray, precisions: FloatArray) -> FloatArray:
    """How much each cell's precision counts, at most 1; any number where nothing was measured."""
    stddevs = np.divide(1.0, np.sqrt(precisions), out=np.full(precisions.shape, np.inf), where=precisions > 0)
    weights = np.sqrt(expected / (expected + NEXT_TO_NOTHING * stddevs))
    return np.asarray(np.maximum(weights / max(float(weights.max()), 1e-300), LEAST_WEIGHT))


def _on_simplex(point: FloatArray) -> FloatArray:
    """The nearest distribution."""
    ordered = np.sort(point)[::-1]
    thresholds = (np.cumsum(ordered) - 1.0) / np.arange(1, len(point) + 1)
    last = int(np.flatnonzero(ordered > thresholds)[-1])
    return np.asarray(np.maximum(point - thresholds[last], 0.0))
