"""Residuals against dense generalised least squares on domains small enough to form; plans against all others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from equipoise.core import FloatArray
from equipoise.queries.allocation import Objective, allocate
from equipoise.queries.lattice import Columns, closure, predicted_rmse, predicted_variances
from equipoise.queries.residuals import reconstruct


@dataclass(frozen=True)
class Case:
    sizes: tuple[int, ...]
    column_sets: tuple[Columns, ...]
    precisions: dict[Columns, float]


@st.composite
def workloads(draw: st.DrawFn, smallest: int = 1) -> tuple[tuple[int, ...], tuple[Columns, ...]]:
    sizes = tuple(draw(st.lists(st.integers(smallest, 4), min_size=2, max_size=4)))
    subsets = st.sets(st.integers(0, len(sizes) - 1), min_size=1).map(lambda chosen: tuple(sorted(chosen)))
    return sizes, tuple(draw(st.lists(subsets, min_size=1, max_size=5, unique=True)))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A workload, and measurements that determine it: some of its subsets and supersets at various precisions."""
    sizes, column_sets = draw(workloads())
    possible = closure([tuple(range(len(sizes)))])
    measured = draw(st.lists(st.sampled_from(possible), min_size=1, max_size=6, unique=True))
    covered = [c for c in column_sets if any(set(c) <= set(b) for b in measured)]
    assume(covered)
    precisions = {b: draw(st.floats(0.01, 100.0)) for b in measured}
    return Case(sizes, tuple(covered), precisions)


def summing(sizes: tuple[int, ...], columns: Columns) -> FloatArray:
    """The 0/1 matrix that takes the whole table to a marginal."""
    shape = tuple(sizes[i] for i in columns)
    matrix = np.zeros((math.prod(shape), math.prod(sizes)))
    for j, row in enumerate(product(*(range(size) for size in sizes))):
        matrix[np.ravel_multi_index(tuple(row[i] for i in columns), shape), j] = 1.0
    return matrix


def dense(case: Case, noisy: dict[Columns, FloatArray], num_rows: int) -> dict[Columns, tuple[FloatArray, FloatArray]]:
    """Answers and cells' variances by least squares over all tables that sum to the number of rows."""
    num_cells = math.prod(case.sizes)
    start = np.zeros(num_cells)
    start[0] = num_rows
    # From the first cell to each other one: whole numbers, so that marginals of one cell see exactly no move.
    moves = np.concatenate([-np.ones((1, num_cells - 1)), np.eye(num_cells - 1)])
    roots = {columns: math.sqrt(precision) for columns, precision in case.precisions.items()}
    design = np.concatenate([roots[b] * summing(case.sizes, b) @ moves for b in case.precisions])
    target = np.concatenate([roots[b] * (noisy[b].ravel() - summing(case.sizes, b) @ start) for b in case.precisions])
    inverse = np.linalg.pinv(design, rcond=1e-10) if moves.shape[1] else np.zeros((0, len(target)))
    found = {}
    for columns in case.column_sets:
        answer = summing(case.sizes, columns)
        gain = answer @ moves @ inverse
        found[columns] = (answer @ start + gain @ target, (gain**2).sum(axis=1))
    return found


@given(cases(), st.integers(0, 2**32 - 1), st.integers(1, 1000))
@settings(max_examples=60, deadline=None)
def test_the_dense_best_linear_unbiased_answers_and_variances_are_found(case: Case, seed: int, num_rows: int) -> None:
    rng = np.random.default_rng(seed)
    noisy = {b: rng.normal(10.0, 5.0, tuple(case.sizes[i] for i in b)) for b in case.precisions}
    answers = reconstruct(noisy, case.precisions, case.column_sets, num_rows)
    variances = predicted_variances(case.sizes, case.column_sets, case.precisions)
    expected = dense(case, noisy, num_rows)
    for columns, variance in zip(case.column_sets, variances, strict=True):
        answer, cell_variances = expected[columns]
        np.testing.assert_allclose(answers[columns].ravel(), answer, rtol=1e-9, atol=1e-9 * num_rows)
        np.testing.assert_allclose(np.full(len(answer), variance), cell_variances, rtol=1e-9, atol=1e-12)
    squares = np.concatenate([expected[columns][1] for columns in case.column_sets])
    rmse = predicted_rmse(case.sizes, case.column_sets, case.precisions)
    np.testing.assert_allclose(rmse, math.sqrt(squares.mean()), rtol=1e-9, atol=1e-9)


@given(cases(), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_without_noise_the_answers_are_the_truth(case: Case, seed: int) -> None:
    # Linear and exact without noise: unbiased under any noise with mean zero.
    table = np.random.default_rng(seed).integers(0, 50, case.sizes)

    def marginal(columns: Columns) -> FloatArray:
        return np.asarray(table.sum(axis=tuple(i for i in range(table.ndim) if i not in columns)), dtype=np.float64)

    counts = {b: marginal(b) for b in case.precisions}
    answers = reconstruct(counts, case.precisions, case.column_sets, int(table.sum()))
    for columns in case.column_sets:
        np.testing.assert_allclose(answers[columns], marginal(columns), rtol=1e-9, atol=1e-9 * max(1, table.sum()))


@given(cases(), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_answers_agree_wherever_they_overlap(case: Case, seed: int) -> None:
    rng = np.random.default_rng(seed)
    noisy = {b: rng.normal(10.0, 5.0, tuple(case.sizes[i] for i in b)) for b in case.precisions}
    answers = reconstruct(noisy, case.precisions, closure(case.column_sets), 100)
    for larger in case.column_sets:
        np.testing.assert_allclose(answers[larger].sum(), 100.0, rtol=1e-9)
        for smaller in closure([larger]):
            summed = answers[larger].sum(axis=tuple(k for k, i in enumerate(larger) if i not in smaller))
            np.testing.assert_allclose(summed, answers[smaller], rtol=1e-9, atol=1e-8)


def value(
    sizes: tuple[int, ...],
    column_sets: tuple[Columns, ...],
    shares: dict[Columns, float],
    objective: Objective,
    weights: FloatArray,
) -> float:
    variances = predicted_variances(sizes, column_sets, shares)
    if objective == "max":
        return float((weights * variances).max())
    if objective == "mean":
        weights = weights * np.array([math.prod(sizes[i] for i in columns) for columns in column_sets])
    return float(weights @ variances / weights.sum())


@given(
    workloads(smallest=2),
    st.sampled_from(["mean", "marginals", "max"]),
    st.floats(0.0, 2.0),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=60, deadline=None)
def test_no_other_plan_beats_the_gap(
    workload: tuple[tuple[int, ...], tuple[Columns, ...]],
    objective: Objective,
    spread: float,
    seed: int,
) -> None:
    sizes, column_sets = workload
    rng = np.random.default_rng(seed)
    weights = np.exp(spread * rng.normal(size=len(column_sets)))
    candidates = closure(column_sets)
    plan = allocate(sizes, column_sets, weights, objective)
    assert plan.gap <= 0.01
    assert min(plan.shares.values()) > 0.0
    assert set(plan.shares) <= set(candidates)
    assert math.isclose(sum(plan.shares.values()), 1.0, rel_tol=1e-9)
    reached = value(sizes, column_sets, dict(plan.shares), objective, weights)
    assert math.isclose(plan.variance, reached, rel_tol=1e-9)

    equal = {columns: 1.0 / len(column_sets) for columns in column_sets}
    assert reached <= value(sizes, column_sets, equal, objective, weights) * (1 + 1e-12)
    shares = np.array([plan.shares.get(columns, 0.0) for columns in candidates])
    for step in (1.0, 0.3, 0.1, 0.03, 0.01):
        for concentration in (0.1, 1.0):
            drawn = rng.dirichlet(np.full(len(candidates), concentration))
            other = (1 - step) * shares + step * drawn
            rival = dict(zip(candidates, other, strict=True))
            assert value(sizes, column_sets, rival, objective, weights) >= reached / (1 + plan.gap) * (1 - 1e-9)
