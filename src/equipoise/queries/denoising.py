"""Noisy shares without (much of) their noise. Public: it sees noisy values and how noisy they are.

The noise of a column of many values adds up, and clipping it at zero leaves the cells that happened to be high. Instead
the sizes of the column's cells are taken as draws from an unknown distribution, which is estimated from all of them
together (the nonparametric maximum likelihood of empirical Bayes); each cell becomes its mean, given what was measured.
On columns drowned in noise this saves a sixth of the error, on others it changes nothing.

Where values have an order that means something, neighbours tell more of one another than that. Whether they do is told
by Stein's unbiased estimate of an estimate's squared error, |x(y) - y|² + 2 σ² div x(y) - m σ², which is made of the
noisy values alone: of means, of local means of several widths and of the mean of all, the one that it says is best.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from equipoise.core import FloatArray

__all__ = ["Estimate", "estimated", "on_simplex", "posterior_means", "smoothed"]

FAR = 6.0
"""Standard deviations above zero from which a cell is taken as measured: there is no small cell to confuse it with."""

NUM_SIZES = 40
"""Sizes that a cell may have in the estimate, from zero to a little beyond `FAR`: five a standard deviation."""

WIDTHS = (2, 3, 5, 9, 17, 33)
"""Of local means."""

LEAST_LEFT = 0.5
"""Of the noise's variance, what an estimate is taken to have left at least: Stein's estimate has noise itself. With a
third, a large value that was smoothed away by mistake is now and then the largest error of all answers."""

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


class Estimate(NamedTuple):
    """Values without (much of) their noise, and the mean of their squared errors, as far as it is known."""

    values: FloatArray
    variance: float


def smoothed(noisy: FloatArray, stddev: float) -> FloatArray:
    """The values of `estimated`.

    Example:
        >>> smoothed(np.array([0.9, 1.2, 1.0, 0.7, 1.2]), 0.4).round(2)
        array([1., 1., 1., 1., 1.])
        >>> smoothed(np.array([9.1, 0.1, -0.1, 7.0, 0.2]), 0.2).round(1)
        array([9.1, 0.1, 0.1, 7. , 0.1])
    """
    return estimated(noisy, stddev).values


def estimated(noisy: FloatArray, stddev: float) -> Estimate:
    """Noisy values in a meaningful order, or in none, without (much of) the noise; not negative.

    Example:
        >>> round(estimated(np.array([0.9, 1.2, 1.0, 0.7, 1.2]), 0.4).variance, 3)  # the least: half of 0.4 squared
        0.08
        >>> round(estimated(np.array([9.1, 3.1, 6.1, 7.0, 5.2]), 0.2).variance, 3)  # nothing to smooth
        0.04
    """
    ways: list[Callable[[FloatArray], FloatArray]] = [partial(posterior_means, stddev=stddev), _mean]
    ways += [partial(_local_means, width=width) for width in WIDTHS if 2 * width - 1 <= len(noisy)]
    risk, number = min((_risk(way, noisy, stddev), number) for number, way in enumerate(ways))
    left = risk / len(noisy) - stddev**2
    return Estimate(ways[number](noisy), min(max(left, LEAST_LEFT * stddev**2), stddev**2))


def _risk(way: Callable[[FloatArray], FloatArray], noisy: FloatArray, stddev: float) -> float:
    """Stein's estimate of the squared error, and m σ² more; the divergence along one direction of signs, fixed."""
    signs, step = np.random.default_rng(0).choice([-1.0, 1.0], len(noisy)), 0.1 * stddev
    divergence = float(signs @ (way(noisy + step * signs) - way(noisy - step * signs))) / (2.0 * step)
    return float(((way(noisy) - noisy) ** 2).sum()) + 2.0 * stddev**2 * divergence


def _mean(noisy: FloatArray) -> FloatArray:
    return np.full(len(noisy), max(float(noisy.mean()), 0.0))


def _local_means(noisy: FloatArray, width: int) -> FloatArray:
    """Means of neighbours, nearer ones counting more; at the ends, of those that there are."""
    weights = np.convolve(np.ones(width), np.ones(width))
    counted = np.convolve(np.ones(len(noisy)), weights, "same")
    return np.maximum(np.convolve(noisy, weights, "same") / counted, 0.0)


def on_simplex(point: FloatArray) -> FloatArray:
    """The nearest distribution."""
    ordered = np.sort(point)[::-1]
    thresholds = (np.cumsum(ordered) - 1.0) / np.arange(1, len(point) + 1)
    last = int(np.flatnonzero(ordered > thresholds)[-1])
    return np.asarray(np.maximum(point - thresholds[last], 0.0))
