"""Residuals and plans on workloads with known answers; at the sizes of real tables; and what they refuse."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from equipoise.core import FloatArray, IntArray
from equipoise.errors import QueryError, SettingError
from equipoise.queries.allocation import Objective, allocate
from equipoise.queries.lattice import Columns, Lattice, closure, predicted_rmse, predicted_variances
from equipoise.queries.residuals import reconstruct

ADULT_SIZES = (2, 2, 5, 6, 7, 9, 15, 16, 42, 16, 6, 10, 10)
OBJECTIVES: tuple[Objective, ...] = ("mean", "marginals", "max")


def all_sets(num_columns: int, width: int) -> list[Columns]:
    return list(combinations(range(num_columns), width))


def equal_shares(column_sets: list[Columns]) -> dict[Columns, float]:
    return {columns: 1.0 / len(column_sets) for columns in column_sets}


def some_triples(num_columns: int, num_sets: int, seed: int) -> list[Columns]:
    rng = np.random.default_rng(seed)
    found = {tuple(sorted(rng.choice(num_columns, 3, replace=False).tolist())) for _ in range(num_sets)}
    return sorted(found)


def test_the_closure_holds_each_subset_once_smaller_first() -> None:
    assert closure([(2, 0), (0, 1, 2)]) == ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2))
    assert len(closure(all_sets(13, 3))) == 377


def test_one_measured_marginal_keeps_its_table_but_for_the_total() -> None:
    noisy = np.array([[3, -1, 4], [1, 5, 9]])
    answers = reconstruct({(0, 3): noisy}, {(0, 3): 0.25}, [(0, 3)], num_rows=27)
    np.testing.assert_allclose(answers[(0, 3)], noisy + (27 - noisy.sum()) / 6)
    # Knowing the total takes one sixth of the variance away.
    assert predicted_variances((2, 9, 9, 3), [(0, 3)], {(0, 3): 0.25})[0] == pytest.approx(4 * 5 / 6)


def test_repeated_information_is_weighted_by_its_precision() -> None:
    # The marginal of column 0 directly, at variance 1, and as a sum of 4 cells of variance 1: precisions 1 and 1/4.
    direct, joint = np.array([6.0, 4.0]), np.array([[1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 1.0, 1.0]])
    answers = reconstruct({(0,): direct, (0, 1): joint}, {(0,): 1.0, (0, 1): 1.0}, [(0,)], num_rows=10)
    np.testing.assert_allclose(answers[(0,)], [5 + (1.0 * 1.0 + 0.25 * -1.0) / 1.25, 5 - 0.75 / 1.25])
    variance = predicted_variances((2, 4), [(0,)], {(0,): 1.0, (0, 1): 1.0})
    np.testing.assert_allclose(variance, [0.5 / 1.25])


def test_columns_of_one_value_change_nothing() -> None:
    noisy = np.array([[5], [6], [4]])
    answers = reconstruct({(0, 1): noisy}, {(0, 1): 1.0}, [(0,), (1,), (0, 1)], num_rows=12)
    np.testing.assert_allclose(answers[(0, 1)], [[4.0], [5.0], [3.0]])
    np.testing.assert_allclose(answers[(1,)], [12.0])
    variances = predicted_variances((3, 1), [(0,), (1,), (0, 1)], {(0,): 1.0})
    np.testing.assert_allclose(variances, [2 / 3, 0.0, 2 / 3])
    assert allocate((3, 1), [(0, 1), (1,)]).shares == {(0,): 1.0}


def test_measurements_of_precision_zero_are_ignored() -> None:
    noisy: dict[Columns, IntArray] = {(0,): np.array([1, 2]), (1,): np.array([900, 0, 0])}
    precisions: dict[Columns, float] = {(0,): 1.0, (1,): 0.0}
    np.testing.assert_allclose(reconstruct(noisy, precisions, [(0,)], 3)[(0,)], [1.0, 2.0])
    assert predicted_variances((2, 3), [(0,), (1,), (0, 1)], precisions)[1:].tolist() == [math.inf, math.inf]
    with pytest.raises(QueryError, match="column 1 was not measured"):
        reconstruct(noisy, precisions, [(1,)], 3)


def test_what_was_not_measured_together_is_refused() -> None:
    noisy: dict[Columns, IntArray] = {(0,): np.array([1, 2]), (1,): np.array([2, 1])}
    with pytest.raises(QueryError, match=r"contains columns \(0, 1\) together"):
        reconstruct(noisy, {(0,): 1.0, (1,): 1.0}, [(0, 1)], 3)


def test_tables_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(QueryError, match="number of values of column 0"):
        reconstruct({(0,): np.zeros(2), (0, 1): np.zeros((3, 2))}, {(0,): 1.0, (0, 1): 1.0}, [(0,)], 3)
    with pytest.raises(QueryError, match="one axis for each column"):
        reconstruct({(0, 1): np.zeros(2)}, {(0, 1): 1.0}, [(0,)], 3)


@pytest.mark.parametrize("columns", [(1, 0), (0, 0), (), (-1, 0)])
def test_columns_come_in_increasing_order(columns: Columns) -> None:
    with pytest.raises(QueryError, match="increasing order"):
        reconstruct({(0,): np.zeros(2)}, {(0,): 1.0}, [columns], 3)
    with pytest.raises(QueryError, match="increasing order"):
        predicted_variances((2, 2), [columns], {(0, 1): 1.0})
    with pytest.raises(QueryError, match="increasing order"):
        allocate((2, 2), [columns])


def test_columns_are_those_of_the_domain() -> None:
    with pytest.raises(QueryError, match="columns of the domain"):
        allocate((2, 2), [(0, 2)])


@pytest.mark.parametrize("precision", [-1.0, math.inf, math.nan])
def test_precisions_are_finite_and_not_negative(precision: float) -> None:
    with pytest.raises(SettingError, match="precision"):
        reconstruct({(0,): np.zeros(2)}, {(0,): precision}, [(0,)], 3)
    with pytest.raises(SettingError, match="precision"):
        predicted_variances((2,), [(0,)], {(0,): precision})


def test_a_measured_marginal_needs_a_precision() -> None:
    with pytest.raises(SettingError, match="needs a precision"):
        reconstruct({(0,): np.zeros(2)}, {}, [(0,)], 3)


def test_disjoint_marginals_share_by_the_root_of_their_variance() -> None:
    # Nothing is shared, so minimise Σ c/τ: τ ∝ √c with c = cells (1 - 1/m) / all cells = (m - 1) / all cells.
    plan = allocate((2, 5, 10), [(0,), (1,), (2,)], tolerance=1e-9)
    roots = np.sqrt([1.0, 4.0, 9.0])
    np.testing.assert_allclose(list(plan.shares.values()), roots / roots.sum(), rtol=1e-6)
    assert plan.variance == pytest.approx(roots.sum() ** 2 / 17)


def test_the_largest_variance_is_levelled() -> None:
    # Disjoint again: (1 - 1/m)/τ equal for all, so τ ∝ 1 - 1/m.
    plan = allocate((2, 5, 10), [(0,), (1,), (2,)], objective="max", tolerance=1e-6)
    np.testing.assert_allclose(list(plan.shares.values()), np.array([0.5, 0.8, 0.9]) / 2.2, rtol=1e-3)
    assert plan.variance == pytest.approx(2.2, rel=1e-5)


def test_each_marginal_counts_once_whatever_its_cells() -> None:
    plan = allocate((2, 5, 10), [(0,), (1,), (2,)], objective="marginals", tolerance=1e-9)
    roots = np.sqrt([0.5, 0.8, 0.9])
    np.testing.assert_allclose(list(plan.shares.values()), roots / roots.sum(), rtol=1e-6)
    by_weight = allocate((2, 5, 10), [(0,), (1,), (2,)], weights=[1 / 2, 1 / 5, 1 / 10], tolerance=1e-9)
    np.testing.assert_allclose(list(by_weight.shares.values()), list(plan.shares.values()), rtol=1e-9)


def test_a_sub_marginal_of_great_weight_is_measured_by_itself() -> None:
    plan = allocate((10, 10), [(0,), (0, 1)], weights=[1e6, 1.0])
    assert plan.shares[(0,)] > 0.9
    assert (0,) not in allocate((2, 2), [(0, 1)]).shares


def test_precisions_spend_exactly_rho() -> None:
    plan = allocate(ADULT_SIZES, all_sets(13, 2))
    precisions = plan.precisions(0.05)
    assert sum(precisions.values()) == pytest.approx(0.05)
    rmse = predicted_rmse(ADULT_SIZES, all_sets(13, 2), precisions)
    assert rmse**2 == pytest.approx(plan.variance / 0.05)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(
    ("sizes", "column_sets"),
    [
        pytest.param(ADULT_SIZES, all_sets(13, 3), id="13 columns, 286 triples"),
        pytest.param(tuple(2 + i % 17 for i in range(53)), some_triples(53, 64, 7), id="53 columns, 64 triples"),
        pytest.param(tuple(2 + i % 13 for i in range(40)), all_sets(40, 2), id="40 columns, 780 pairs"),
        pytest.param((10,) * 100, all_sets(100, 2), id="100 columns, 4950 pairs"),
        pytest.param(tuple(2 + (i * 298) // 15 for i in range(16)), all_sets(16, 3), id="sizes to 300, 560 triples"),
        pytest.param(ADULT_SIZES, [*all_sets(13, 1), *some_triples(13, 20, 3)], id="one-way and some triples"),
    ],
)
def test_plans_are_certified_and_beat_separate_measurement(
    sizes: tuple[int, ...], column_sets: list[Columns], objective: Objective
) -> None:
    plan = allocate(sizes, column_sets, objective=objective)
    assert plan.gap <= 0.01
    separate = predicted_variances(sizes, column_sets, equal_shares(column_sets))
    num_cells = np.array([math.prod(sizes[i] for i in columns) for columns in column_sets])
    by_objective = {
        "mean": num_cells @ separate / num_cells.sum(),
        "marginals": separate.mean(),
        "max": separate.max(),
    }
    assert plan.variance <= by_objective[objective] * (1 + 1e-12)
    # And separate measurement answered without reconstruction has variance len(column_sets) in every cell.
    assert plan.variance < len(column_sets)


def test_all_triples_of_thirteen_columns_gain_a_third_of_the_variance() -> None:
    # The sizes of the ADULT table: equal noise on every triple, reconstructed, has 1.57 times the mean variance.
    triples = all_sets(13, 3)
    plan = allocate(ADULT_SIZES, triples)
    assert plan.variance < 0.65 * predicted_rmse(ADULT_SIZES, triples, equal_shares(triples)) ** 2
    assert set(plan.shares) <= set(triples)


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(SettingError, match="objective"):
        allocate((2, 2), [(0, 1)], objective="median")  # type: ignore[arg-type]
    for weights in ([1.0], [1.0, 0.0], [1.0, math.nan]):
        with pytest.raises(SettingError, match="weights"):
            allocate((2, 2), [(0,), (1,)], weights=weights)


def test_workloads_that_cannot_be_served_are_refused() -> None:
    with pytest.raises(QueryError, match="nothing to measure"):
        allocate((1, 1), [(0, 1)])


def relative_spread(
    sizes: tuple[int, ...], column_sets: list[Columns], precisions: dict[Columns, float], num_runs: int
) -> float:
    """How far the sum of squared errors strays from its mean, relatively, with probability below 1e-10.

    The residuals' errors are uncorrelated, so the sum is Σ_A g_A χ²(d_A) with d_A = Π(m_i - 1) and g_A the part of A
    in the mean, divided by d_A. Laurent and Massart (2000, Lemma 1): beyond 2|g|√x + 2 max(g) x above, or 2|g|√x
    below, with probability at most exp(-x) each; x = 24 makes both together 7.6e-11.
    """
    lattice = Lattice.build(sizes, column_sets, list(precisions))
    num_cells = np.array([math.prod(sizes[i] for i in columns) for columns in column_sets], dtype=np.float64)
    parts: FloatArray = lattice.used.transposed_times(num_cells) / lattice.seen.times(np.array([*precisions.values()]))
    freedom = np.array([math.prod(sizes[i] - 1 for i in a) for a in lattice.residuals])
    each = parts / freedom
    far = 2 * math.sqrt(num_runs * float(freedom @ each**2) * 24) + 2 * float(each.max()) * 24
    return far / (num_runs * float(parts.sum()))


def test_measured_error_is_as_predicted() -> None:
    sizes, triples, num_runs = (3, 4, 5, 6), all_sets(4, 3), 150
    rng = np.random.default_rng(20240229)
    table = rng.integers(0, 30, sizes)
    precisions = allocate(sizes, triples).precisions(0.02)
    truth = {c: table.sum(axis=tuple(i for i in range(4) if i not in c)) for c in closure(triples)}
    squares = 0.0
    for _ in range(num_runs):
        # Rounded Gaussian noise of 8 and more counts: rounding adds 1/12 to a variance above 100, under 0.1 %.
        noisy = {c: truth[c] + np.rint(rng.normal(0, p**-0.5, truth[c].shape)) for c, p in precisions.items()}
        answers = reconstruct(noisy, precisions, triples, int(table.sum()))
        squares += sum(float(((answers[c] - truth[c]) ** 2).sum()) for c in triples)
    measured = math.sqrt(squares / num_runs / sum(truth[c].size for c in triples))
    # 5 % of the RMSE is at least 9.75 % of the sum of squares, so a false alarm has probability below 1e-10.
    assert relative_spread(sizes, triples, precisions, num_runs) < 0.0975 - 0.001
    assert abs(measured / predicted_rmse(sizes, triples, precisions) - 1) < 0.05
