"""Which marginals to measure next: by what is expected to be left, checked against all that could be chosen."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from equipoise.data.domain import Domain
from equipoise.queries.merging import Merging
from equipoise.queries.unsure import DEPENDENCE, times_to_measure

NAMES = tuple("abcdef")


def merging(*largest: float, size: int = 2) -> Merging:
    """Columns of parts of one value each, of which the first has that share and the others share the rest."""
    parts = tuple(np.arange(size) for _ in largest)
    known = tuple(np.array([most] + [(1.0 - most) / (size - 1)] * (size - 1)) for most in largest)
    return Merging(Domain(NAMES[: len(largest)], (size,) * len(largest)), parts, known)


def left(
    chosen: Counter[tuple[int, ...]], sets: list[tuple[int, ...]], largest: list[float], known: float, stddev: float
) -> float:
    """Sum of squares of the variances of the largest cells, of columns of two values; written anew."""
    variance = {c: 1.0 / (2.0 / known**2 + 2.0 * chosen[(c,)] / stddev**2) for c in range(len(largest))}
    total = 0.0
    for columns in sets:
        cell = np.prod([largest[c] for c in columns])
        unsure = sum((cell / largest[c]) ** 2 * variance[c] for c in columns) + (DEPENDENCE * cell) ** 2
        times = chosen[columns] if len(columns) > 1 else 0
        total += (1.0 / (1.0 / unsure + times / stddev**2)) ** 2
    return float(total)


@pytest.mark.parametrize("seed", range(8))
def test_each_measurement_is_the_one_that_helps_most(seed: int) -> None:
    rng = np.random.default_rng(seed)
    largest = rng.uniform(0.5, 0.98, 5).tolist()
    sets = [(0, 1, 2), (1, 3), (2, 3, 4), (0, 4)]
    candidates = [*((c,) for c in range(5)), *sets]
    before: Counter[tuple[int, ...]] = Counter()
    for num_times in range(1, 8):
        now = times_to_measure(merging(*largest), sets, 0.06, 0.08, num_times)
        assert sum(now.values()) == num_times
        assert now - before
        assert not before - now
        errors = [left(before + Counter([c]), sets, largest, 0.06, 0.08) for c in candidates]
        assert left(now, sets, largest, 0.06, 0.08) == pytest.approx(min(errors), rel=1e-9)
        before = now


def test_a_marginal_of_large_cells_is_measured_and_one_of_small_cells_is_not() -> None:
    chosen = times_to_measure(merging(0.9, 0.9, 0.9, 0.2, 0.2, 0.2, size=6), [(0, 1, 2), (3, 4, 5)], 0.05, 0.08, 10)
    assert chosen[(0, 1, 2)] > 5
    assert chosen[(3, 4, 5)] == 0
    assert not any(chosen[(c,)] for c in (3, 4, 5))


def test_a_column_of_many_marginals_is_measured_itself() -> None:
    sets = [(0, other) for other in range(1, 6)]
    chosen = times_to_measure(merging(0.5, 0.99, 0.99, 0.99, 0.99, 0.99), sets, 0.05, 0.08, 3)
    assert chosen[(0,)] == 1
    few = times_to_measure(merging(0.5, 0.99, 0.99, 0.99, 0.99, 0.99), sets[:1], 0.05, 0.08, 3)
    assert few[(0,)] == 0, "of one marginal, the marginal tells more"


def test_columns_of_one_part_have_nothing_to_measure() -> None:
    known = (np.array([1.0]), np.array([0.6, 0.4]), np.array([0.25] * 4))
    parts = (np.zeros(1, dtype=np.int64), np.arange(2), np.zeros(4, dtype=np.int64))
    columns = Merging(Domain(("a", "b", "c"), (1, 2, 4)), parts, known)
    chosen = times_to_measure(columns, [(0, 1), (1, 2), (0, 1, 2)], 0.05, 0.08, 6)
    assert sum(chosen.values()) == 6
    assert not chosen[(0,)]
    assert not chosen[(2,)]


@pytest.mark.parametrize("duplicates", [1, 3])
def test_a_marginal_that_is_asked_twice_counts_once(duplicates: int) -> None:
    sets = list(itertools.chain.from_iterable([[(0, 1)] * duplicates, [(1, 2)]]))
    once = times_to_measure(merging(0.9, 0.8, 0.7), [(0, 1), (1, 2)], 0.05, 0.08, 5)
    assert times_to_measure(merging(0.9, 0.8, 0.7), sets, 0.05, 0.08, 5) == once
