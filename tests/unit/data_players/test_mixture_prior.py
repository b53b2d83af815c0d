"""Denoised one-way marginals and the weights of small cells."""

import numpy as np
import pytest

from equipoise.data_players.mixture_block import Measured
from equipoise.data_players.mixture_prior import LEAST_WEIGHT, posterior_means, prepared


def noisy(exact, stddev, rng):
    return Measured(exact + rng.normal(0.0, stddev, exact.shape), np.full(exact.shape, stddev**-2))


def clipped(point):
    """The nearest distribution, by bisection."""
    low, high = point.min() - 1.0, point.max()
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(point - middle, 0).sum() > 1.0 else (low, middle)
    return np.maximum(point - low, 0)


@pytest.mark.parametrize("num_values", [30, 300])
def test_columns_drowned_in_noise_lose_error(num_values):
    """Against clipping alone, over 20 draws each of two shapes: spread evenly, and falling like 1/rank."""
    rng = np.random.default_rng(0)
    for exact in (np.full(num_values, 1.0 / num_values), 1.0 / np.arange(1, num_values + 1)):
        exact = exact / exact.sum()
        errors = np.zeros(2)
        for _ in range(20):
            marginal = noisy(exact, 2.0 / num_values, rng)
            one_way = prepared({(0,): marginal}, [num_values]).one_ways[0]
            errors += [np.abs(one_way - exact).sum(), np.abs(clipped(marginal.shares) - exact).sum()]
        assert errors[0] < 0.9 * errors[1]


def test_precise_columns_stay_as_measured():
    exact = np.array([0.1, 0.2, 0.3, 0.4])
    marginal = noisy(exact, 1e-4, np.random.default_rng(1))
    measured, one_ways = prepared({(0,): marginal}, [4])
    np.testing.assert_allclose(one_ways[0], marginal.shares, atol=2e-4)
    np.testing.assert_array_equal(measured[(0,)].shares, one_ways[0])


def test_means_keep_the_order_and_are_not_negative():
    values = np.sort(np.random.default_rng(2).normal(0.5, 2.0, 200))
    means = posterior_means(values, 1.0)
    assert means.min() >= 0.0
    assert (np.diff(means) >= -1e-12).all()
    # Far from zero nothing is moved; far below it nothing breaks.
    assert posterior_means(np.array([-100.0, 50.0]), 1.0).tolist()[1] == 50.0


def test_one_way_marginals_are_pooled_by_precision():
    exact = np.multiply.outer([0.3, 0.7], [0.25, 0.25, 0.5])
    pair = Measured(exact, np.full((2, 3), 1e12))
    wrong = Measured(np.array([0.9, 0.1]), np.full(2, 1.0))
    one_ways = prepared({(0, 1): pair, (0,): wrong}, [2, 3, 5]).one_ways
    np.testing.assert_allclose(one_ways[0], [0.3, 0.7], atol=1e-6)
    np.testing.assert_allclose(one_ways[1], [0.25, 0.25, 0.5], atol=1e-6)
    np.testing.assert_array_equal(one_ways[2], np.full(5, 0.2))


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
