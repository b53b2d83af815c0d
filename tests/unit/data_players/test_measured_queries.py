"""Answers of measured queries on products, and their derivatives, against brute force."""

import numpy as np
import pytest
from tests.unit.data_players.games import SHAPE, all_pairs, masked

from equipoise.data.distributions import MixtureOfProducts
from equipoise.data_players.measured_queries import MeasuredQueries

PRODUCTS = 5


def random_values(seed: int = 0) -> np.ndarray:
    """Not distributions: relaxed rows need not be."""
    return np.random.default_rng(seed).uniform(-1, 1, (sum(SHAPE), PRODUCTS)).astype(np.float32)


def mixture(values: np.ndarray) -> MixtureOfProducts:
    parts = np.split(values.astype(np.float64), np.cumsum(SHAPE)[:-1])
    return MixtureOfProducts(tuple(part.T for part in parts), np.full(PRODUCTS, 1 / PRODUCTS))


def some_ids(workload):
    """Single queries in a strange order, then a whole group, again out of order."""
    rng = np.random.default_rng(1)
    last = np.arange(workload.starts[-2], workload.starts[-1])
    return [*rng.permutation(int(workload.starts[-2]))[:5], *rng.permutation(last)]


@pytest.mark.parametrize("workload", [all_pairs(), masked()])
def test_answers_are_those_of_the_mixture(workload):
    measured, ids = MeasuredQueries(workload, PRODUCTS), some_ids(workload)
    measured.include(ids[:3])
    measured.include(ids[3:])
    values = random_values()
    np.testing.assert_allclose(measured.answers(values), workload.on(mixture(values))[ids], atol=1e-6)


@pytest.mark.parametrize("workload", [all_pairs(), masked()])
def test_one_hot_rows_give_the_exact_marginals(workload):
    # MECHANISMS 4.3, oracle (iii).
    codes = np.random.default_rng(2).integers(0, np.array(SHAPE)[:, None], (4, PRODUCTS))
    values = np.concatenate([np.eye(size)[codes[c]].T for c, size in enumerate(SHAPE)]).astype(np.float32)
    measured = MeasuredQueries(workload, PRODUCTS)
    measured.include(range(workload.num_queries))
    np.testing.assert_allclose(measured.answers(values), workload.on_rows(codes.astype(np.uint8)), atol=1e-7)


@pytest.mark.parametrize("workload", [all_pairs(), masked()])
def test_the_derivative_is_that_of_finite_differences(workload):
    measured, ids = MeasuredQueries(workload, PRODUCTS), some_ids(workload)
    measured.include(ids)
    values, cotangent = random_values(), np.random.default_rng(3).normal(size=len(ids))
    cotangent[1] = 0.0
    found = np.asarray(measured.gradient(values, cotangent))

    def total(given):
        return float(workload.on(mixture(given))[ids] @ cotangent)

    for row, product in [(0, 0), (3, 1), (6, 4), (9, 2), (10, 3)]:
        # Answers are linear in each entry, so the difference is exact.
        up, down = values.astype(np.float64), values.astype(np.float64)
        up[row, product] += 0.5
        down[row, product] -= 0.5
        assert found[row, product] == pytest.approx(total(up) - total(down), abs=1e-5)
