"""Sampling audits: a lower bound on epsilon from runs with the product's own noise, that holds but for a tiny chance.

A move of a game is made N times on each of two neighbouring tables, after the same moves. An event is chosen on the
first quarter of the runs, which is enough to choose; on the others its probabilities are bounded by Clopper and
Pearson's intervals, p from below and q from above. Then log((p - delta) / q) is a lower bound on the epsilon that
belongs to delta, and the Rényi divergence of a coin of p from a coin of q, over its order, is one on rho: to tell only
whether the event happened loses, never adds (bun2016concentrated, Lemma 1.8). Nothing is assumed of the mechanism; the
intervals fail with probability `FAILURE`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
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
HELD_OUT = 4
"""One run in so many is there to choose by, and not counted."""
FEWEST = 10
"""Noisy values of a query on each table that say in which direction they differ."""


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
    one, two = ([world() for _ in range(num_runs)] for world in (here, there))
    score = _score(one[: num_runs // HELD_OUT], two[: num_runs // HELD_OUT])
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
    """The loss of an event on the runs that count: the one that would have the largest if they were as those before."""
    first = len(here) // HELD_OUT
    counted = len(here) - first
    if not first:
        return 0.0
    cuts = np.unique(np.concatenate([here[:first], there[:first]]))
    cuts = cuts[np.linspace(0, len(cuts) - 1, min(len(cuts), MOST_EVENTS)).astype(int)]
    cut = cuts[np.argmax(loss(*_probabilities(here[:first], there[:first], cuts, counted)))]
    return float(loss(*_probabilities(here[first:], there[first:], np.array([cut]), counted))[0])


def _probabilities(
    here: FloatArray, there: FloatArray, cuts: FloatArray, num_runs: int
) -> tuple[FloatArray, FloatArray]:
    """Of numbers being at least each of the cuts: a lower bound on the one table, an upper one on the other.

    As so many runs with these shares would give them; to be a bound it takes the runs' own number.
    """
    hits = len(here) - np.searchsorted(np.sort(here), cuts)
    misses = np.searchsorted(np.sort(there), cuts)
    return _low(hits * (num_runs / len(here)), num_runs), 1 - _low(misses * (num_runs / len(there)), num_runs)


def _low(hits: NDArray[np.floating], runs: int) -> FloatArray:
    """Clopper and Pearson's lower bounds on probabilities."""
    some = np.where(hits > 0, hits, 1)
    return np.where(hits > 0, beta.ppf(FAILURE / NUM_INTERVALS, some, runs - some + 1), 0.0)


class _Entries(NamedTuple):
    """What moves say, an entry a query: of which run, which query, and its noisy value.

    Where nothing was measured, a query and its complement are two. Where something was, signs follow from the values.
    """

    runs: IntArray
    keys: IntArray
    values: FloatArray


def _entries(moves: list[Move]) -> _Entries:
    runs, keys, values = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
    for number, move in enumerate(moves):
        runs.append(np.full(len(move.ids), number))
        keys.append(4 * move.ids + (np.sign(move.signs) + 2 if move.values is None else 0))
        values.append(np.zeros(len(move.ids)) if move.values is None else np.asarray(move.values, dtype=np.float64))
    return _Entries(np.concatenate(runs), np.concatenate(keys), np.concatenate(values))


def _score(one: list[Move], two: list[Move]) -> Callable[[list[Move]], FloatArray]:
    """A number that is larger the likelier a run is on the one table: learnt from the runs that do not count.

    The log-ratio of what is named and measured, over all entries of a move as if they were independent: of a query's
    frequencies on the two tables, and of Gaussians with the means of its values there.
    """
    a, b = _entries(one), _entries(two)
    size = int(max(a.keys.max(initial=0), b.keys.max(initial=0))) + 1
    times = [np.bincount(each.keys, minlength=size) for each in (a, b)]
    means = [
        np.bincount(each.keys, each.values, size) / np.maximum(number, 1)
        for each, number in zip((a, b), times, strict=True)
    ]
    squares = sum(
        np.bincount(each.keys, (each.values - mean[each.keys]) ** 2, size)
        for each, mean in zip((a, b), means, strict=True)
    )
    variance = np.maximum(squares / np.maximum(times[0] + times[1] - 2, 1), 1e-9)
    slope = np.where(np.minimum(*times) > FEWEST, (means[0] - means[1]) / variance, 0.0)
    frequency, centre = np.log((times[0] + 1) / (times[1] + 1)), (means[0] + means[1]) / 2

    def score(moves: list[Move]) -> FloatArray:
        told = _entries(moves)
        known = told.keys < size  # a query that no run named before says nothing
        keys = np.where(known, told.keys, 0)
        ratios = frequency[keys] + slope[keys] * (told.values - centre[keys])
        return np.bincount(told.runs, np.where(known, ratios, 0.0), len(moves)).astype(np.float64)

    return score
