"""What a fit goes on with: small cells as they are, large ones half of the way to where they were measured."""

import numpy as np
from tests.unit.data_players.games import truth

from equipoise.data.distributions import MixtureOfProducts
from equipoise.data_players.mixture_block import Measured
from equipoise.data_players.mixture_large import LARGE, drawn_to_large, equally_weighted

STDDEV = 0.05


def one_ways(table: np.ndarray) -> list[np.ndarray]:
    return [table.sum(axis=tuple(c for c in range(table.ndim) if c != column)) for column in range(table.ndim)]


def independent(table: np.ndarray) -> MixtureOfProducts:
    return equally_weighted([shares[None, :] for shares in one_ways(table)])


def measured(shares: np.ndarray, stddev: float = STDDEV) -> Measured:
    return Measured(shares, np.full(shares.shape, stddev**-2.0))


def test_large_cells_are_drawn_half_of_the_way_and_small_ones_held():
    table = truth().sum(axis=(2, 3))
    fitted = independent(table)
    seen = {(0, 1): measured(table)}
    target = drawn_to_large(seen, seen, one_ways(table), fitted)[0, 1]
    now = fitted.marginal((0, 1))
    large = now > LARGE * STDDEV
    assert 0 < large.sum() < large.size
    np.testing.assert_allclose(target.shares, np.where(large, (now + table) / 2, now))
    np.testing.assert_allclose(target.precisions, np.where(large, 2.0, 1.0) * STDDEV**-2.0)


def test_what_counts_less_is_drawn_further():
    """The weights of what was fitted hold a cell; what draws it is what was measured, whole."""
    table = truth().sum(axis=(2, 3))
    fitted = independent(table)
    seen = {(0, 1): measured(table)}
    light = {(0, 1): Measured(table, seen[0, 1].precisions / 4)}
    target = drawn_to_large(light, seen, one_ways(table), fitted)[0, 1]
    now = fitted.marginal((0, 1))
    large = now > LARGE * STDDEV
    np.testing.assert_allclose(target.shares[large], ((now + 4 * table) / 5)[large])


def test_pairs_of_a_triple_are_drawn_too():
    """A pair's cells, pooled from a triple, may be large where the triple's own are not; its sums are the one-ways'."""
    table = truth().sum(axis=3)
    fitted = independent(table)
    seen = {(0, 1, 2): measured(table, 0.08)}
    targets = drawn_to_large(seen, seen, one_ways(table), fitted)
    assert set(targets) == {(0, 1, 2), (0, 1), (0, 2), (1, 2)}
    assert (fitted.marginal((0, 1, 2)) < LARGE * 0.08).all()
    np.testing.assert_allclose(targets[0, 1, 2].shares, fitted.marginal((0, 1, 2)))
    np.testing.assert_allclose(
        targets[0, 1].shares, np.where(targets[0, 1].precisions > 0, table.sum(axis=2), fitted.marginal((0, 1)))
    )
    assert (targets[0, 1].precisions > 0).any()


def test_marginals_not_measured_whole_are_held():
    table = truth().sum(axis=(2, 3))
    fitted = independent(table)
    precisions = np.full(table.shape, STDDEV**-2.0)
    precisions[0, 0] = 0.0
    seen = {(0, 1): Measured(table, precisions)}
    target = drawn_to_large(seen, seen, one_ways(table), fitted)[0, 1]
    np.testing.assert_allclose(target.shares, fitted.marginal((0, 1)))
    np.testing.assert_allclose(target.precisions, precisions)
