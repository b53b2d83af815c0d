"""Each column's own distribution, from all noisy marginals that have it."""

import numpy as np
import pytest

from equipoise.data_players.mixture_block import Measured
from equipoise.data_players.mixture_one_ways import denoised, pooled_one_ways
from equipoise.queries.denoising import LEAST_LEFT, estimated, sizes_apart

SKEWED = np.array([0.85, 0.1, 0.03, 0.01] + [0.001] * 10)


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
            one_way = denoised({(0,): marginal}, [num_values])[0].shares
            errors += [np.abs(one_way - exact).sum(), np.abs(clipped(marginal.shares) - exact).sum()]
        assert errors[0] < 0.9 * errors[1]


def test_neighbours_tell_of_one_another_where_values_have_an_order():
    """Ages, say: a bell of 60 values, none of which is seen by itself. Against what cells tell of their sizes alone."""
    rng = np.random.default_rng(4)
    exact = np.exp(-(((np.arange(60) - 25.0) / 12.0) ** 2))
    exact /= exact.sum()
    errors, stddev = np.zeros(2), 0.02
    for _ in range(20):
        marginal = noisy(exact, stddev, rng)
        found = denoised({(0,): marginal}, [60])[0]
        # What is left of the noise says how much the column counts: twice as much as measured, no more.
        assert found.precision == pytest.approx(2.0 / stddev**2)
        alone = clipped(sizes_apart(marginal.shares, stddev).means)
        errors += [np.abs(found.shares - exact).sum(), np.abs(alone - exact).sum()]
    assert errors[0] < 0.7 * errors[1]


@pytest.mark.parametrize("kind", ["in order", "in none", "large"])
def test_an_estimate_is_not_taken_for_better_than_it_is(kind):
    """The squared error that it says is left, over 200 draws, beside the one that there is; never above the noise's."""
    rng = np.random.default_rng(5)
    shapes = {
        "in order": np.exp(-(((np.arange(40) - 25.0) / 12.0) ** 2)),
        "in none": rng.permutation(2.0 ** -np.arange(40)),
        "large": 10.0 + rng.permutation(40),
    }
    exact = shapes[kind]
    said, done = np.zeros(200), np.zeros(200)
    for number in range(200):
        found = estimated(exact + rng.normal(0.0, 0.2, 40), 0.2)
        said[number], done[number] = found.variance, ((found.values - exact) ** 2).mean()
    assert done.mean() <= 1.1 * said.mean()
    assert said.max() <= 0.2**2
    assert said.min() >= LEAST_LEFT * 0.2**2
    assert (said.mean() > 0.9 * 0.2**2) == (kind == "large")


def test_means_keep_the_order_and_are_not_negative():
    values = np.sort(np.random.default_rng(2).normal(0.5, 2.0, 200))
    means = sizes_apart(values, 1.0).means
    assert means.min() >= 0.0
    assert (np.diff(means) >= -1e-12).all()
    # Far from zero nothing is moved; far below it nothing breaks.
    assert sizes_apart(np.array([-100.0, 50.0]), 1.0).means.tolist()[1] == 50.0


def test_one_way_marginals_are_pooled_by_precision():
    exact = np.multiply.outer([0.3, 0.7], [0.25, 0.25, 0.5])
    pair = Measured(exact, np.full((2, 3), 1e12))
    wrong = Measured(np.array([0.9, 0.1]), np.full(2, 1.0))
    one_ways = [column.shares for column in denoised({(0, 1): pair, (0,): wrong}, [2, 3, 5])]
    np.testing.assert_allclose(one_ways[0], [0.3, 0.7], atol=1e-6)
    np.testing.assert_allclose(one_ways[1], [0.25, 0.25, 0.5], atol=1e-6)
    np.testing.assert_array_equal(one_ways[2], np.full(5, 0.2))


def test_cells_that_hold_nothing_do_not_add_their_noise():
    """The variance over 400 draws is what the precision says (its standard error is 7 %), far below that of sums."""
    rng, stddev = np.random.default_rng(3), 0.01
    exact = np.multiply.outer([0.4, 0.6], SKEWED)
    found = []
    for _ in range(400):
        measured = {(0, 1): noisy(exact, stddev, rng)}
        sums = pooled_one_ways(measured, [2, 14])[0]
        best = pooled_one_ways(measured, [2, 14], [np.array([0.4, 0.6]), SKEWED])[0]
        found.append((sums.shares[0], best.shares[0]))
    assert sums.precision == pytest.approx(1.0 / (14 * stddev**2))
    of_sums, of_best = np.var(found, axis=0)
    # Half of it: the two shares are known to sum to one.
    assert of_sums == pytest.approx(0.5 / sums.precision, rel=0.35)
    assert of_best <= 1.35 * 0.5 / best.precision
    assert of_best < 0.2 * of_sums
    np.testing.assert_allclose(np.mean(found, axis=0), 0.4, atol=0.01)


def test_without_noise_all_cells_are_added_up_however_dependent_the_columns_are():
    dependent = np.array([[0.5, 0.0, 0.0], [0.0, 0.3, 0.2]])
    measured = {(0, 1): Measured(dependent, np.full((2, 3), 1e14))}
    for column, exact in zip(denoised(measured, [2, 3]), [[0.5, 0.5], [0.5, 0.3, 0.2]], strict=True):
        np.testing.assert_allclose(column.shares, exact, atol=1e-6)


def test_with_noise_and_dependence_the_error_is_less_than_that_of_sums():
    rng, stddev = np.random.default_rng(4), 0.02
    pair = 0.8 * np.multiply.outer([0.4, 0.6], SKEWED) + 0.2 * np.multiply.outer([0.9, 0.1], np.roll(SKEWED, 1))
    exact = pair.sum(axis=1)
    errors = np.zeros(2)
    for _ in range(100):
        measured = {(0, 1): noisy(pair, stddev, rng)}
        errors += [
            abs((one[0].shares - exact)[0]) for one in (denoised(measured, [2, 14]), pooled_one_ways(measured, [2, 14]))
        ]
    assert errors[0] < 0.7 * errors[1]
