"""Sampling audits: a lower bound on epsilon from runs with the product's own noise, that holds but for a tiny chance.

A move of a game is made N times on each of two neighbouring tables, after the same moves. An event is chosen on half of
the runs; on the other half its probabilities are bounded by Clopper and Pearson's intervals, p from below and q from
above. Then log((p - delta) / q) is a lower bound on the epsilon that belongs to delta, and the Rényi divergence of a
coin of p from a coin of q, over its order, is one on rho: to tell only whether the event happened loses, never adds
(bun2016concentrated, Lemma 1.8). Nothing is assumed of the mechanism; the intervals fail with probability `FAILURE`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.stats import beta

from equipoise.core import FloatArray, IntArray, Move
from equipoise.privacy.conversion import epsilon_at
from equipoise.privacy.cost import Cost

__all__ = ["FAILURE", "Sampled", "epsilon_bound", "rho_bound", "sample"]

FAILURE = 1e-10
"""Of all intervals of one audit together: two events in two directions, each with two."""
NUM_INTERVALS = 8
ORDERS = (1.01, 1.5, 2.0, 4.0, 16.0)
MOST_EVENTS = 500
"""Events that one is chosen from."""
MOST_VALUES = 6
"""Noisy values of a move that are looked at."""


class Sampled(NamedTuple):
    """What an audit by sampling found.

    Attributes:
        claimed: Epsilon at `delta`, from the charge.
        found: A lower bound on the true one.
        delta: Where.
        claimed_rho: The charge.
        found_rho: A lower bound on the true one.
        num_runs: On each table.
    """

    claimed: float
    found: float
    delta: float
    claimed_rho: float
    found_rho: float
    num_runs: int

    @property
    def holds(self) -> bool:
        """Whether the charge may be true."""
        return self.found <= self.claimed and self.found_rho <= self.claimed_rho


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
    ways = ((at_one, at_two), (-at_two, -at_one))
    pure = math.inf if charge.epsilon is None else float(charge.epsilon)
    return Sampled(
        min(pure, epsilon_at(charge, delta=delta)) if delta else pure,
        max(epsilon_bound(*way, delta=delta) for way in ways),
        delta,
        float(charge.rho),
        max(rho_bound(*way) for way in ways),
        num_runs,
    )


def epsilon_bound(here: FloatArray, there: FloatArray, *, delta: float) -> float:
    """A lower bound on epsilon at delta from one number of each run: events are "the number is at least c".

    Example:
        >>> rng = np.random.default_rng(0)
        >>> epsilon_bound(rng.normal(size=9000) + 3, rng.normal(size=9000), delta=0.0) > 2
        True
    """

    def log_ratio(p: FloatArray, q: FloatArray) -> FloatArray:
        return np.log(np.maximum(p - delta, 1e-300) / q)

    return max(0.0, _bound(here, there, log_ratio))


def rho_bound(here: FloatArray, there: FloatArray) -> float:
    """A lower bound on rho from the same.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> 0.2 < rho_bound(rng.normal(size=20000) + 1, rng.normal(size=20000)) <= 0.5
        True
    """

    def divergence(p: FloatArray, q: FloatArray) -> FloatArray:
        q = np.minimum(q, 1 - 1e-12)
        apart = np.maximum(p, q)  # intervals that overlap tell nothing
        found = [
            np.log(apart**order * q ** (1 - order) + (1 - apart) ** order * (1 - q) ** (1 - order))
            / ((order - 1) * order)
            for order in ORDERS
        ]
        return np.asarray(np.max(found, axis=0))

    return max(0.0, _bound(here, there, divergence))


def _bound(here: FloatArray, there: FloatArray, loss: Callable[[FloatArray, FloatArray], FloatArray]) -> float:
    """The loss of the event that has the largest on the first half of the runs, on the second."""
    half = len(here) // 2
    cuts = np.unique(np.concatenate([here[:half], there[:half]]))
    cuts = cuts[np.linspace(0, len(cuts) - 1, min(len(cuts), MOST_EVENTS)).astype(int)]
    cut = cuts[np.argmax(loss(*_probabilities(here[:half], there[:half], cuts)))]
    return float(loss(*_probabilities(here[half:], there[half:], np.array([cut])))[0])


def _probabilities(here: FloatArray, there: FloatArray, cuts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of numbers being at least each of the cuts: a lower bound on the one table, an upper one on the other."""
    hits = len(here) - np.searchsorted(np.sort(here), cuts)
    misses = np.searchsorted(np.sort(there), cuts)
    return _low(hits, len(here)), 1 - _low(misses, len(there))


def _low(hits: IntArray, runs: int) -> FloatArray:
    """Clopper and Pearson's lower bounds on probabilities."""
    found = beta.ppf(FAILURE / NUM_INTERVALS, np.maximum(hits, 1), runs - np.maximum(hits, 1) + 1)
    return np.where(hits > 0, found, 0.0)


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
