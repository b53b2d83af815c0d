"""Noisy shares without (much of) their noise. Public: it sees noisy values and how noisy they are.

The noise of a column of many values adds up, and clipping it at zero leaves the cells that happened to be high. Instead
the sizes of the column's cells are taken as draws from an unknown distribution, which is estimated from all of them
together (the nonparametric maximum likelihood of empirical Bayes); each cell becomes its mean, given what was measured.
On columns drowned in noise this saves a sixth of the error, on others it changes nothing.

Where there are enough values for their order to be seen to mean something, neighbours tell more of one another than
that (`queries.level_chain`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.core import FloatArray
from equipoise.queries.level_chain import FAR, Sizes, sizes_along

__all__ = ["Estimate", "estimated", "on_simplex", "sizes_apart"]

IN_ORDER = 8
"""Values from which neighbours are asked: fewer do not tell how alike they are."""

NUM_SIZES = 40
"""Sizes that a cell may have in the estimate, from zero to a little beyond `FAR`: five a standard deviation."""

LEAST_LEFT = 0.5
"""Of the noise's variance, what an estimate is taken to have left at least. With a third, a large value that was
smoothed away by mistake is now and then the largest error of all answers."""

NUM_STEPS = 60
"""Steps of expectation and maximisation; thirty do nearly as well."""


class Estimate(NamedTuple):
    """Values without (much of) their noise, and the mean of their squared errors, as far as it is known."""

    values: FloatArray
    variance: float


def estimated(noisy: FloatArray, stddev: float) -> Estimate:
    """Noisy values in a meaningful order, or in none, without (much of) the noise; not negative.

    Example:
        >>> round(estimated(np.array([0.9, 1.2, 1.0, 0.7, 1.2, 0.8, 1.0, 1.3]), 0.4).variance, 3)  # half of 0.4 squared
        0.08
        >>> round(estimated(np.array([9.1, 3.1, 6.1, 7.0, 5.2]), 0.2).variance, 3)  # nothing to gain
        0.04
    """
    found = sizes_along(noisy, stddev) if len(noisy) >= IN_ORDER else sizes_apart(noisy, stddev)
    left = float(found.variances.mean())
    return Estimate(found.means, min(max(left, LEAST_LEFT * stddev**2), stddev**2))


def sizes_apart(noisy: FloatArray, stddev: float) -> Sizes:
    """The expected size of each cell given its noisy value, for cells of any unknown sizes that are not negative.

    Example:
        >>> sizes_apart(np.array([-0.2, 0.1, 0.1, 0.0, 9.0]), 0.1).means.round(2)
        array([0.01, 0.04, 0.04, 0.02, 9.  ])
    """
    means, variances = noisy.copy(), np.full(len(noisy), stddev**2)
    near = noisy < FAR * stddev
    if not near.any():
        return Sizes(means, variances)
    sizes = np.linspace(0.0, (FAR + 2.0) * stddev, NUM_SIZES)
    likelihoods = np.exp(-0.5 * ((np.maximum(noisy[near], -FAR * stddev)[:, None] - sizes) / stddev) ** 2)
    weights = np.full(NUM_SIZES, 1.0 / NUM_SIZES)
    for _ in range(NUM_STEPS):
        # One cell of each size, together counted as one, keeps few cells from being taken for all there is.
        totals = (likelihoods * (weights / (likelihoods @ weights)[:, None])).sum(axis=0) + 1.0 / NUM_SIZES
        weights = totals / totals.sum()
    posterior = likelihoods * weights
    posterior /= posterior.sum(axis=1, keepdims=True)
    means[near] = posterior @ sizes
    variances[near] = posterior @ sizes**2 - means[near] ** 2
    return Sizes(means, variances)


def on_simplex(point: FloatArray) -> FloatArray:
    """The nearest distribution."""
    ordered = np.sort(point)[::-1]
    thresholds = (np.cumsum(ordered) - 1.0) / np.arange(1, len(point) + 1)
    last = int(np.flatnonzero(ordered > thresholds)[-1])
    return np.asarray(np.maximum(point - thresholds[last], 0.0))
