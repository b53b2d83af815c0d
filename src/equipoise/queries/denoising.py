"""Noisy shares without (much of) their noise. Public: it sees noisy values and how noisy they are.

The noise of a column of many values adds up, and clipping it at zero leaves the cells that happened to be high. Instead
the sizes of the column's cells are taken as draws from an unknown distribution, which is estimated from all of them
together (the nonparametric maximum likelihood of empirical Bayes); each cell becomes its mean, given what was measured.
On columns drowned in noise this saves a sixth of the error, on others it changes nothing.
"""

from __future__ import annotations

import numpy as np

from equipoise.core import FloatArray

__all__ = ["on_simplex", "posterior_means"]

FAR = 6.0
"""Standard deviations above zero from which a cell is taken as measured: there is no small cell to confuse it with."""

NUM_SIZES = 40
"""Sizes that a cell may have in the estimate, from zero to a little beyond `FAR`: five a standard deviation."""

NUM_STEPS = 60
"""Steps of expectation and maximisation; thirty do nearly as well."""


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


def on_simplex(point: FloatArray) -> FloatArray:
    """The nearest distribution."""
    ordered = np.sort(point)[::-1]
    thresholds = (np.cumsum(ordered) - 1.0) / np.arange(1, len(point) + 1)
    last = int(np.flatnonzero(ordered > thresholds)[-1])
    return np.asarray(np.maximum(point - thresholds[last], 0.0))
