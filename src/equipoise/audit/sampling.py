"""Sampling audits: a lower bound on epsilon from runs with the product's own noise, that holds but for a tiny chance.

A move of a game is made N times on each of two neighbouring tables, after the same moves. An event is chosen on half of
the runs; on the other half its probabilities are bounded by Clopper and Pearson's intervals, and
log((p_low - delta) / p'_high) is a lower bound on the epsilon that belongs to delta. Nothing is assumed of the
mechanism; the intervals fail with probability `FAILURE` in all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.stats import beta

from equipoise.core import FloatArray, Move
from equipoise.privacy.conversion import epsilon_at
from equipoise.privacy.cost import Cost

__all__ = ["FAILURE", "Sampled", "bound", "sample"]

FAILURE = 1e-10
"""Of both intervals of one audit together."""
MOST_VALUES = 6
"""Noisy values of a move that are looked at."""


class Sampled(NamedTuple):
    """What an audit by sampling found.

    Attributes:
        claimed: Epsilon at `delta`, from the charge.
        found: A lower bound on the true one.
        delta: Where.
        num_runs: On each table.
    """

    claimed: float
    found: float
    delta: float
    num_runs: int

    @property
    def holds(self) -> bool:
        """Whether the charge may be true."""
        return self.found <= self.claimed


def sample(
    here: Callable[[], Move], there: Callable[[], Move], charge: Cost, *, num_runs: int, delta: float
) -> Sampled:
    """Make a move many times on two tables and compare what is found with its charge.

    Args:
        here: Makes the move on the one table.
        there: Makes it on its neighbour.
        charge: What it costs.
        num_runs: On each table.
        delta: Where epsilon is compared; 0 for a pure charge.
    """
    one, two = (np.array([_feature(world()) for _ in range(num_runs)]) for world in (here, there))
    score = _score(one[: num_runs // 2], two[: num_runs // 2])
    at_one, at_two = score(one), score(two)
    found = max(bound(at_one, at_two, delta=delta), bound(-at_two, -at_one, delta=delta))
    pure = math.inf if charge.epsilon is None else float(charge.epsilon)
    claimed = min(pure, epsilon_at(charge, delta=delta)) if delta else pure
    return Sampled(claimed, found, delta, num_runs)


def bound(here: FloatArray, there: FloatArray, *, delta: float) -> float:
    """A lower bound on epsilon at delta from one number of each run: events are "the number is at least c".

    Example:
        >>> rng = np.random.default_rng(0)
        >>> bound(rng.normal(size=9000) + 3, rng.normal(size=9000), delta=0.0) > 2
        True
    """
    half, rest = len(here) // 2, len(here) - len(here) // 2
    cuts = np.unique(np.concatenate([here[:half], there[:half]]))
    p = 1 - np.searchsorted(np.sort(here[:half]), cuts) / half
    q = 1 - np.searchsorted(np.sort(there[:half]), cuts) / half
    cut = cuts[np.argmax((p - delta) / (q + 20 / half))]  # rarer events have intervals too wide to tell
    p_low = _low(int(np.sum(here[half:] >= cut)), rest)
    q_high = 1 - _low(int(np.sum(there[half:] < cut)), rest)
    return math.log((p_low - delta) / q_high) if p_low > delta else -math.inf


def _low(hits: int, runs: int) -> float:
    """Clopper and Pearson's lower bound on a probability."""
    return float(beta.ppf(FAILURE / 2, hits, runs - hits + 1)) if hits else 0.0


def _feature(move: Move) -> FloatArray:
    """The first query, and the first noisy values; without values, the first queries."""
    values = move.ids if move.values is None else move.values
    found = np.zeros(1 + MOST_VALUES)
    found[0] = move.ids[0] if len(move.ids) else -1
    found[1 : 1 + min(MOST_VALUES, len(values))] = values[:MOST_VALUES]
    return found


def _score(one: FloatArray, two: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """A number that is larger the likelier a run is on the one table: of runs of the first halves only.

    Within the runs that name the same query: the log-ratio of their numbers, and that of Gaussians with their means.
    """
    rules = {}
    for query in np.unique(np.concatenate([one[:, 0], two[:, 0]])):
        a, b = one[one[:, 0] == query][:, 1:], two[two[:, 0] == query][:, 1:]
        slope, centre = np.zeros(MOST_VALUES), np.zeros(MOST_VALUES)
        if min(len(a), len(b)) > 10:
            slope = (a.mean(axis=0) - b.mean(axis=0)) / np.maximum(np.var(np.concatenate([a, b]), axis=0), 1e-9)
            centre = (a.mean(axis=0) + b.mean(axis=0)) / 2
        rules[query] = (math.log((len(a) + 1) / (len(b) + 1)), slope, centre)

    def score(runs: FloatArray) -> FloatArray:
        result = np.zeros(len(runs))
        for query, (frequency, slope, centre) in rules.items():
            where = runs[:, 0] == query
            result[where] = frequency + (runs[where][:, 1:] - centre) @ slope
        return result

    return score
