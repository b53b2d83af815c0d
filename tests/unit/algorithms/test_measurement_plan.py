import itertools
import math

import numpy as np
import pytest

from equipoise.algorithms.measurement_plan import FLOOR, LOUD, choose_measurements
from equipoise.errors import QueryError, SettingError

SIZES = (2, 5, 9, 16, 42)
TRIPLES = list(itertools.combinations(range(5), 3))


def share_of_order(plan, num_columns):
    return sum(share for columns, share in plan.shares.items() if len(columns) == num_columns)


@pytest.mark.parametrize("objective", ["both", "max", "mean"])
@pytest.mark.parametrize("resolution", [1.0, 1e4, 1e6, 1e10])
def test_shares_are_positive_and_sum_to_one(objective, resolution):
    plan = choose_measurements(SIZES, TRIPLES, resolution, objective=objective)
    assert min(plan.shares.values()) > 0
    assert np.isclose(sum(plan.shares.values()), 1.0)
    assert set(TRIPLES) <= set(plan.shares)
    assert plan.expected > 0


def test_less_budget_means_fewer_columns_at_a_time():
    plans = [choose_measurements(SIZES, TRIPLES, resolution) for resolution in (1e9, 1e4, 1e2)]
    shares = np.array([[share_of_order(plan, order) for order in (3, 2, 1)] for plan in plans])
    assert shares.argmax(axis=1).tolist() == [0, 1, 2]
    assert shares[0, 0] > 0.9
    assert shares[2, 0] < FLOOR["both"] / 2  # The floor itself is cut where it would buy noise only.


def test_the_floor_is_cut_for_marginals_that_would_be_all_noise():
    """At the equal share the noise of each cell has variance 1/(resolution x share); LOUD is the most for all cells."""
    resolution, equal = 2e5, FLOOR["both"] / len(TRIPLES)
    plan = choose_measurements(SIZES, TRIPLES, resolution)
    noise = {columns: math.prod(SIZES[i] for i in columns) / (resolution * equal) for columns in TRIPLES}
    assert min(noise.values()) < LOUD / 10
    for columns, energy in noise.items():
        assert plan.shares[columns] >= equal * min(1.0, LOUD / energy) * (1 - 1e-12)
    tight = choose_measurements(SIZES, TRIPLES, resolution / 1000)
    widest = max(TRIPLES, key=lambda columns: noise[columns])
    assert tight.shares[widest] == pytest.approx(equal * LOUD / (1000 * noise[widest]))


def test_less_budget_means_more_expected_error():
    errors = [choose_measurements(SIZES, TRIPLES, resolution).expected for resolution in (1e8, 1e6, 1e4)]
    assert errors == sorted(errors)


@pytest.mark.parametrize("seed", range(5))
def test_no_random_plan_expects_less(seed):
    """The search ends within a percent of the best of what is tried around it: the problem is convex."""
    from equipoise.algorithms.measurement_plan import _Problem

    problem = _Problem.posed(SIZES, TRIPLES, 1e6)
    shares, value = problem.solved(is_max=False)

    def objective(candidate):
        precisions = problem.expected + problem.resolution * problem.seen.seen.times(candidate)
        return float((problem.num_likely * problem.used.used.times(1.0 / precisions)).sum())

    assert objective(shares) == pytest.approx(value)
    rng = np.random.default_rng(seed)
    for mixing in (0.01, 0.1, 0.5):
        other = (1 - mixing) * shares + mixing * rng.dirichlet(np.full(len(shares), 0.1))
        assert objective(other) >= value * 0.99


def test_columns_of_one_value_are_left_out():
    plan = choose_measurements((1, 4, 5), [(0, 1), (0, 1, 2)], 1e6)
    assert set(plan.shares) <= {(1,), (2,), (1, 2)}
    with pytest.raises(QueryError, match="nothing to measure"):
        choose_measurements((1, 1), [(0, 1)], 1e6)


def test_a_resolution_that_is_not_positive_is_refused():
    with pytest.raises(SettingError, match="resolution"):
        choose_measurements(SIZES, TRIPLES, 0.0)


def test_many_columns_at_once_are_expected_to_tell_less_and_less():
    plan = choose_measurements((3,) * 6, [tuple(range(6))], 1e5)
    assert sum(plan.shares.values()) == pytest.approx(1.0)
