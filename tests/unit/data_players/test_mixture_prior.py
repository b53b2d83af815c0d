"""What is fitted: one-way marginals beside what was measured, and the weights of small cells."""

import numpy as np
import pytest

from equipoise.data_players.mixture_block import Measured
from equipoise.data_players.mixture_prior import LEAST_WEIGHT, prepared


def noisy(exact, stddev, rng):
    return Measured(exact + rng.normal(0.0, stddev, exact.shape), np.full(exact.shape, stddev**-2))


def test_precise_columns_stay_as_measured():
    exact = np.array([0.1, 0.2, 0.3, 0.4])
    marginal = noisy(exact, 1e-4, np.random.default_rng(1))
    measured, one_ways = prepared({(0,): marginal}, [4])
    np.testing.assert_allclose(one_ways[0], marginal.shares, atol=2e-4)
    np.testing.assert_array_equal(measured[(0,)].shares, one_ways[0])


def test_small_cells_count_less_and_the_largest_in_full():
    exact = np.multiply.outer([0.9, 0.1], [0.9, 0.1])
    weights = {}
    for stddev in (1e-6, 0.01):
        measured = prepared({(0, 1): Measured(exact, np.full((2, 2), stddev**-2))}, [2, 2]).measured[(0, 1)]
        np.testing.assert_array_equal(measured.shares, exact)
        weights[stddev] = measured.precisions * stddev**2
    np.testing.assert_allclose(weights[1e-6], 1.0, atol=1e-3)
    assert weights[0.01][0, 0] == pytest.approx(1.0)
    assert weights[0.01][0, 1] > weights[0.01][1, 1]
    assert weights[0.01][1, 1] == pytest.approx(np.sqrt(0.01 / 0.011) / np.sqrt(0.81 / 0.811), rel=0.02)


def test_cells_that_were_not_measured_count_nothing():
    precisions = np.array([[4.0, 0.0], [4.0, 4.0]])
    measured, one_ways = prepared({(0, 1): Measured(np.zeros((2, 2)), precisions)}, [2, 2])
    assert measured[(0, 1)].precisions[0, 1] == 0.0
    assert measured[(0, 1)].precisions[1, 1] >= LEAST_WEIGHT * 4.0
    np.testing.assert_array_equal(one_ways[0], [0.5, 0.5])


def test_what_is_known_of_a_column_is_fitted_beside_the_pairs_that_tell_it():
    exact = np.multiply.outer([0.3, 0.7], [0.25, 0.25, 0.5])
    measured, one_ways = prepared({(0, 1): Measured(exact, np.full((2, 3), 1e4))}, [2, 3, 1])
    assert sorted(measured) == [(0,), (0, 1), (1,)]
    np.testing.assert_array_equal(measured[(0,)].shares, one_ways[0])
    assert 1e4 / 3 < measured[(0,)].precisions.max() < 1e4


def test_a_column_measured_in_part_stays_as_it_was_measured():
    exact = np.multiply.outer([0.3, 0.7], [0.25, 0.25, 0.5])
    part = Measured(np.array([0.9, 0.0]), np.array([4.0, 0.0]))
    measured, one_ways = prepared({(0, 1): Measured(exact, np.full((2, 3), 1e12)), (0,): part}, [2, 3])
    np.testing.assert_array_equal(measured[(0,)].shares, part.shares)
    assert measured[(0,)].precisions[1] == 0.0
    np.testing.assert_allclose(one_ways[0], [0.3, 0.7], atol=1e-6)
