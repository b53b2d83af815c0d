"""Sizes of a column's cells, each told by its own noisy value and by its neighbours'. Public: it sees noisy values.

Where values have an order that means something (ages, amounts, dates), neighbours have like sizes, but for single
values that many records have, and for places where that changes. So the sizes are taken as a chain along the order:
from one cell to the next a size stays near where it was, or jumps to another one, drawn from what sizes there are in
the column; and now and then a cell has a size of its own, drawn from the same, that tells its neighbours nothing. How
often either is, and what sizes there are, is learnt from the column itself, by expectation and maximisation (Baum and
Welch); so where the order means nothing, cells tell of one another only what sizes are usual. How near is near is not
known either: several widths are tried, and each counts by its likelihood.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from equipoise.core import FloatArray

__all__ = ["FAR", "Sizes", "sizes_along"]

FAR = 6.0
"""Standard deviations above zero from which a cell is taken as measured: there is no small cell to confuse it with."""

NUM_LEVELS = 40
"""Sizes that a cell may have, from zero to a little beyond `FAR`: the smaller, the closer together."""

FINE = 0.25
"""Standard deviations below which levels are evenly spaced, and above which nearness is relative: a tenth of a cell's
size, whatever it is."""

WIDTHS = (0.1, 0.25, 0.6)
"""How far a size that stays near may wander from one cell to the next, in logarithms. Others in their place change the
error by a hundredth."""

JUMPS, ALONE, NUM_THOUGHT = 0.2, 0.1, 4.0
"""How often a size jumps, and how often a cell's is its own, as it is thought before any cell is seen; and the cells
that this counts for."""

LEAST = 0.01
"""How often either is taken to be so, at least."""

NUM_SPREAD = 5.0
"""Cells, spread over all sizes, that are thought to have been seen: few cells are not taken for all there is."""

NUM_STEPS = 15
"""Steps of expectation and maximisation."""


class Sizes(NamedTuple):
    """Expected sizes of cells, and how far off they are expected to be: variances."""

    means: FloatArray
    variances: FloatArray


def sizes_along(noisy: FloatArray, stddev: float) -> Sizes:
    """The expected size of each cell given all noisy values, in their order; sizes are not negative.

    Example:
        >>> sizes_along(np.array([5.0, 0.1, -0.1, 0.2, 0.9, 1.2, 1.0, 0.7, 1.2, 0.8]), 0.3).means.round(1)
        array([5. , 0.1, 0.1, 0.2, 0.9, 1. , 0.9, 0.9, 1. , 0.9])
    """
    levels, nears = _grid()
    relative = np.asarray(noisy, dtype=np.float64) / stddev
    far = relative >= FAR
    logs = -0.5 * (np.maximum(relative, -FAR)[:, None] - levels) ** 2
    logs[far] = 0.0  # What is far from zero says nothing of small ones; those before and after it are neighbours.
    seen = np.exp(logs - logs.max(axis=1, keepdims=True))
    found = [_learnt(seen, near, np.ascontiguousarray(near.T)) for near in nears]
    likelihoods = np.array([likelihood for _, likelihood in found])
    weights = np.exp(likelihoods - likelihoods.max())
    weights /= weights.sum()
    posterior = sum(weight * each for weight, (each, _) in zip(weights, found, strict=True))
    means = posterior @ levels
    variances = posterior @ levels**2 - means**2
    return Sizes(np.where(far, relative, means) * stddev, np.where(far, 1.0, variances) * stddev**2)


@cache
def _grid() -> tuple[FloatArray, tuple[FloatArray, ...]]:
    """The levels, in standard deviations, and for each width the probabilities of staying near, from row to column."""
    levels = FINE * np.sinh(np.linspace(0.0, np.arcsinh((FAR + 2.0) / FINE), NUM_LEVELS))
    logs = np.log(levels + FINE)
    nears = []
    for width in WIDTHS:
        near = np.exp(-0.5 * ((logs[:, None] - logs) / width) ** 2)
        nears.append(near / near.sum(axis=1, keepdims=True))
    return levels, tuple(nears)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _learnt(seen: NDArray[Any], near: NDArray[Any], near_transposed: NDArray[Any]) -> tuple[NDArray[Any], float]:
    """The posterior of each cell's level, in the chain that is learnt from all of them, and its log-likelihood.

    `seen` has the likelihoods of each cell's levels. Loops are written out: with whole rows compiling takes four times
    as long, and running ten times.
    """
    num_cells, num_levels = seen.shape
    usual, jumps, alone, likelihood = np.full(num_levels, 1.0 / num_levels), JUMPS, ALONE, 0.0
    either, before, stayed, posterior = (
        np.empty_like(seen),
        np.empty_like(seen),
        np.empty_like(seen),
        np.empty_like(seen),
    )
    by_itself, after, told = np.empty(num_cells), np.empty(num_levels), np.empty(num_levels)
    for _ in range(NUM_STEPS):
        likelihood, num_jumps, num_alone = 0.0, 0.0, 0.0
        for i in range(num_cells):
            if i == 0:
                stayed[0] = 0.0
            else:
                _moved(before[i - 1], near, 1.0 - jumps, stayed[i])
            by_itself[i], total = 0.0, 0.0
            for v in range(num_levels):
                by_itself[i] += alone * usual[v] * seen[i, v]
            for v in range(num_levels):
                either[i, v] = (1.0 - alone) * seen[i, v] + by_itself[i]
                before[i, v] = (stayed[i, v] + (jumps if i > 0 else 1.0) * usual[v]) * either[i, v]
                total += before[i, v]
            for v in range(num_levels):
                before[i, v] /= total
            likelihood += math.log(total)
        visits = np.full(num_levels, NUM_SPREAD / num_levels)
        after[:] = 1.0
        for i in range(num_cells - 1, -1, -1):
            total, all_jumped, all_stayed, itself = 0.0, 0.0, 0.0, 0.0
            for v in range(num_levels):
                posterior[i, v] = before[i, v] * after[v]
                told[v] = either[i, v] * after[v]
                total += posterior[i, v]
                all_jumped += jumps * usual[v] * told[v]
                all_stayed += stayed[i, v] * told[v]
            both = all_jumped + all_stayed
            for v in range(num_levels):
                of_chain = (1.0 - alone) * seen[i, v] / either[i, v]
                itself += posterior[i, v] / total * (1.0 - of_chain)
                posterior[i, v] *= of_chain / total
                visits[v] += posterior[0, v] if i == 0 else jumps * usual[v] * told[v] / both * of_chain
            for v in range(num_levels):
                own = itself * alone * usual[v] * seen[i, v] / by_itself[i]
                posterior[i, v] += own
                visits[v] += own
            num_alone += itself
            if i > 0:
                num_jumps += all_jumped / both
                _moved(told, near_transposed, 1.0 - jumps, after)
                for v in range(num_levels):
                    after[v] = (after[v] + all_jumped) / both
        jumps = max((num_jumps + NUM_THOUGHT * JUMPS) / (num_cells - 1 + NUM_THOUGHT), LEAST)
        alone = max((num_alone + NUM_THOUGHT * ALONE) / (num_cells + NUM_THOUGHT), LEAST)
        total = visits.sum()
        for v in range(num_levels):
            usual[v] = visits[v] / total
    return posterior, likelihood


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _moved(weights: NDArray[Any], rows: NDArray[Any], scale: float, result: NDArray[Any]) -> None:
    """`scale` times the weighted sum of the rows, into `result`: row after row, so that it vectorises."""
    result[:] = 0.0
    for u in range(len(weights)):
        weight = scale * weights[u]
        for v in range(len(result)):
            result[v] += weight * rows[u, v]
