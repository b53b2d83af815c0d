from __future__ import annotations

import numpy as np

from equipoise.oracles.instance import Instance, OneHot
from equipoise.oracles.reduction import reduce


def test_equal_conjunctions_merge_and_impossible_ones_go() -> None:
    record = OneHot.of([5, 5, 5])
    columns = [[0, 1], [1, 0], [0, 0], [0, 0], [2, 1], [2, 1]]
    codes = [[1, 2], [2, 1], [1, 2], [3, 3], [0, 0], [0, 0]]
    negated = [False, True, False, False, False, True]
    reduction = reduce(Instance.of(record, columns, codes, [3.0, 1, 1, 1, 1, 1], negated), np.random.default_rng(0))
    # Rows 0 and 1 are one conjunction of weight 2; row 2 cannot hold; row 3 is one literal; rows 4 and 5 cancel.
    assert reduction.columns.tolist() == [0, 1]
    assert reduction.weights.tolist() == [[2.0]]
    assert (reduction.literals >= 0).sum() == 2
    assert reduction.constants.tolist() == [2.0]
    assert np.diff(reduction.starts).tolist() == [3, 2]  # named values and one free value
    assert sorted(reduction.tilts[0].tolist()) == [0, 0, 0, 0, 1]


def test_the_free_value_is_the_best_that_no_query_names() -> None:
    tilts = np.array([[5.0, 1.0, 3.0, 2.0, 0.0, 4.0], [0.0, 1.0, -3.0, -2.0, 7.0, 4.0]])
    instance = Instance.of(OneHot.of([4, 2]), [[0, 1], [0, 1]], [[0, 0], [2, 0]], [1.0, 1.0], tilts=tilts)
    reduction = reduce(instance, np.random.default_rng(0))
    assert reduction.origins.tolist() == [[0, 2, 3, 4, 5], [0, 2, 1, 4, 5]]
    assert reduction.tilts.tolist() == [[5, 3, 2, 0, 4], [0, -3, 1, 7, 4]]


def test_a_column_without_a_query_takes_its_best_tilt() -> None:
    tilts = -np.random.default_rng(0).exponential(size=(50, 9))
    instance = Instance.of(OneHot.of([2, 3, 4]), np.zeros((0, 1)), np.zeros((0, 1)), np.zeros((1, 0)), tilts=tilts)
    reduction = reduce(instance, np.random.default_rng(1))
    found = reduction.solutions(np.zeros((50, 0), dtype=np.int64), np.zeros(50), np.ones(50))
    for column, (start, end) in enumerate([(0, 2), (2, 5), (5, 9)]):
        assert (found.codes[column] == tilts[:, start:end].argmax(axis=1)).all()
    np.testing.assert_allclose(found.values, reduction.constants)


def test_ties_are_broken_by_public_randomness() -> None:
    """20,000 draws of 1 in 4 have a standard deviation of 61: seven of them miss with probability below 1e-11."""
    zeros = np.zeros((20_000, 9))
    zeros[:, 0] = -1.0
    for tilts in (None, zeros):
        weights = np.ones((20_000, 1))
        instance = Instance.of(OneHot.of([5, 4]), [[0, 0]], [[0, 0]], weights, [True], tilts=tilts)
        found = reduce(instance, np.random.default_rng(5))
        free = found.origins[:, 1]
        for counts in (np.bincount(free, minlength=5)[1:], np.bincount(found.rest[1])):
            assert len(counts) == 4
            assert np.abs(counts - 5000).max() < 7 * 61.3
