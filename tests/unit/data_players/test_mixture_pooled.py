"""What noisy marginals tell of pairs: sums as known, precision as pooled, empty cells found and others left."""

import numpy as np
import pytest

from equipoise.data_players.mixture_block import Measured
from equipoise.data_players.mixture_pooled import (
    CERTAINTY,
    Pooled,
    empty_cells,
    pooled_pairs,
    share_missed,
    with_empty_cells,
)
from equipoise.data_players.mixture_prior import prepared

STDDEV = 0.002

IMPLYING = np.array([[0.40, 0.0, 0.0], [0.06, 0.30, 0.24]])
"""The first value of the first column implies the first of the second; 0.6 x 0.46 = 0.28 makes its converse false."""


def noisy(shares: np.ndarray, stddev: float, seed: int) -> Measured:
    noise = np.random.default_rng(seed).normal(0.0, stddev, shares.shape)
    return Measured(shares + noise, np.full(shares.shape, stddev**-2.0))


def sums(shares: np.ndarray) -> list[np.ndarray]:
    return [shares.sum(axis=1), shares.sum(axis=0)]


def test_pools_what_all_marginals_say():
    """A pair and a triple that has it: the precision is 1/s² + 1/(k s²), k being the values that are summed out."""
    triple = np.random.default_rng(0).dirichlet(np.ones(24)).reshape(2, 3, 4)
    pair = triple.sum(axis=2)
    one_ways = [*sums(pair), triple.sum(axis=(0, 1))]
    exact = {(0, 1): Measured(pair, np.full((2, 3), 100.0)), (0, 1, 2): Measured(triple, np.full((2, 3, 4), 100.0))}
    found = pooled_pairs(exact, one_ways)
    assert set(found) == {(0, 1), (0, 2), (1, 2)}
    assert found[0, 1].stddev == pytest.approx((100.0 + 100.0 / 4) ** -0.5)
    assert found[0, 2].stddev == pytest.approx((100.0 / 3) ** -0.5)
    np.testing.assert_allclose(found[0, 1].shares, pair)
    np.testing.assert_allclose(found[1, 2].shares, triple.sum(axis=0))


def test_pairs_have_the_sums_that_are_known():
    measured = {(0, 1): noisy(IMPLYING, 0.1, seed=1)}
    shares = pooled_pairs(measured, sums(IMPLYING))[0, 1].shares
    np.testing.assert_allclose(shares.sum(axis=1), IMPLYING.sum(axis=1))
    np.testing.assert_allclose(shares.sum(axis=0), IMPLYING.sum(axis=0))


def test_leaves_out_marginals_with_cells_that_were_not_measured():
    precisions = np.full((2, 3), 100.0)
    precisions[0, 0] = 0.0
    assert pooled_pairs({(0, 1): Measured(IMPLYING, precisions)}, sums(IMPLYING)) == {}


def test_finds_cells_beside_an_implied_one():
    """Noise of one standard deviation up or down hides nothing; 0.4 x 0.54 is 108 of them, far above what is asked."""
    for sign in (-1.0, 0.0, 1.0):
        seen = IMPLYING + sign * STDDEV * np.array([[-1.0, 0.5, 0.5], [1.0, -0.5, -0.5]])
        empty = empty_cells(Pooled(seen, STDDEV), *sums(IMPLYING))
        assert empty.tolist() == [[False, True, True], [False, False, False]]


def test_finds_them_where_each_alone_would_be_too_small_to_miss():
    """A value of 5 % that implies one of ten: none of the nine others is expected above 0.5 %."""
    stddev = 0.0015
    shares = np.outer([0.05, 0.95], np.full(10, 0.1))
    shares[0], shares[1] = 0.0, (1.0 - 0.05) / 10
    shares[0, 3], shares[1, 3] = 0.05, 0.1 - 0.05
    empty = empty_cells(Pooled(shares, stddev), *sums(shares))
    assert empty[0].tolist() == [column != 3 for column in range(10)]
    assert not empty[1].any()


def test_small_cells_are_not_taken_as_empty():
    """Cells of five standard deviations stay, though independence expects thirty and more."""
    shares = IMPLYING.copy()
    shares[0] = 0.40 - 10 * STDDEV, 5 * STDDEV, 5 * STDDEV
    assert not empty_cells(Pooled(shares, STDDEV), *sums(shares)).any()


def test_a_common_value_is_not_taken_as_implied():
    """Nearly all records have the second column's first value: nothing is expected beside it, so nothing is missed."""
    shares = np.outer([0.3, 0.7], [0.98, 0.02])
    assert not empty_cells(Pooled(shares, STDDEV), *sums(shares)).any()


def test_zeros_are_added_to_what_was_measured():
    measured = {(0, 1): noisy(IMPLYING, STDDEV, seed=3)}
    result = with_empty_cells(measured, measured, sums(IMPLYING))
    before, after = measured[0, 1], result[0, 1]
    certain = (1 + CERTAINTY) * STDDEV**-2
    assert after.precisions[0].tolist() == pytest.approx([STDDEV**-2, certain, certain])
    np.testing.assert_allclose(after.shares[0, 1:], before.shares[0, 1:] / (1 + CERTAINTY))
    np.testing.assert_array_equal(after.shares[1], before.shares[1])
    np.testing.assert_array_equal(before.shares, measured[0, 1].shares)


def test_zeros_of_a_pair_that_was_not_measured_stand_alone():
    triple = IMPLYING[:, :, None] * np.array([0.5, 0.5])
    measured = {(0, 1, 2): noisy(triple, STDDEV / 2, seed=4)}
    result = with_empty_cells(measured, measured, [*sums(IMPLYING), np.array([0.5, 0.5])])
    assert set(result) == {(0, 1, 2), (0, 1)}
    assert (result[0, 1].precisions > 0).tolist() == [[False, True, True], [False, False, False]]
    assert not result[0, 1].shares.any()


def test_the_fit_is_given_them():
    triple = IMPLYING[:, :, None] * np.array([0.5, 0.5])
    prepared_pairs = prepared({(0, 1, 2): noisy(triple, STDDEV / 2, seed=4)}, (2, 3, 2)).measured
    assert (prepared_pairs[0, 1].precisions > 0).sum() == 2


@pytest.mark.parametrize(("off_by", "missed"), [(2.6, 0.0), (2.8, 0.5), (-2.6, 0.0), (-2.8, 0.5)])
def test_a_large_cell_is_missed_by_more_than_its_noise(off_by, missed):
    halves = [np.array([[1.0, 0.0], [0.0, 1.0]])] * 2  # two components: both first values, or both second
    seen = np.diag([0.5, 0.5])
    seen[0, 0] += off_by * STDDEV
    assert share_missed({(0, 1): Pooled(seen, STDDEV)}, halves) == missed
    assert share_missed({(0, 1): Pooled(seen.T[::-1], STDDEV)}, [halves[0][:, ::-1], halves[1]]) == missed


def test_a_small_cell_is_not_missed_whatever_was_seen():
    halves = [np.array([[1.0, 0.0], [0.0, 1.0]])] * 2
    seen = np.diag([0.5, 0.5]) + 10.0 * STDDEV * np.array([[0.0, 1.0], [1.0, 0.0]])
    assert share_missed({(0, 1): Pooled(seen, STDDEV)}, halves) == 0
