"""The fit against dense arithmetic in double precision."""

import itertools

import numpy as np
import pytest
from tests.unit.data_players.games import SHAPE, truth

from equipoise.data_players import mixture_fit
from equipoise.data_players import mixture_kernels as kernels
from equipoise.data_players.mixture_block import Block, Factors, Measured
from equipoise.data_players.mixture_fit import Fit, best_num_sweeps
from equipoise.data_players.mixture_start import starting_tables
from equipoise.data_players.mixture_threads import side_by_side

SETS = [(0, 1, 2), (1, 3), (2,), (0, 2, 3)]
NUM_COMPONENTS = 7


def tables(seed=0):
    """Random distributions, some values of which have no probability."""
    rng = np.random.default_rng(seed)
    drawn = []
    for size in SHAPE:
        table = rng.dirichlet(np.ones(size), NUM_COMPONENTS) * (rng.random((NUM_COMPONENTS, size)) < 0.7)
        table[table.sum(axis=1) == 0] = 1.0
        drawn.append(table / table.sum(axis=1, keepdims=True))
    return drawn


def answers(parts, columns):
    """A marginal of the mixture: the mean of outer products."""
    letters = "abcd"
    operands = ",".join("k" + letters[c] for c in columns)
    return np.einsum(f"{operands}->{''.join(letters[c] for c in columns)}", *(parts[c] for c in columns)) / len(
        parts[0]
    )


def measured(seed=1, stddev=0.02, with_apart=False):
    rng = np.random.default_rng(seed)
    table, result = truth(), {}
    for columns in SETS:
        others = tuple(c for c in range(len(SHAPE)) if c not in columns)
        exact = table.sum(axis=others)
        precisions = rng.uniform(0.5, 2.0, exact.shape) / stddev**2
        apart = rng.normal(0.0, stddev, exact.shape) if with_apart else None
        result[columns] = Measured(exact + rng.normal(0.0, stddev, exact.shape), precisions, apart)
    return result


def loss(parts, marginals):
    return sum(float((m.precisions * (answers(parts, c) - m.shares) ** 2).sum()) for c, m in marginals.items())


def block_of(column, marginals):
    return Block.build(column, SHAPE, {c: m for c, m in marginals.items() if column in c})


def on_simplex(point):
    """The projection by its definition: the threshold is found by bisection."""
    low, high = point.min() - 1.0, point.max()
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(point - middle, 0).sum() > 1.0 else (low, middle)
    return np.maximum(point - low, 0)


@pytest.mark.parametrize("column", range(4))
def test_one_step_is_the_projected_gradient_step_with_row_sum_curvature(column):
    marginals, parts = measured(), tables()
    slope = np.zeros((NUM_COMPONENTS, SHAPE[column]))
    curvature = np.zeros(NUM_COMPONENTS)
    for columns, m in marginals.items():
        if column not in columns:
            continue
        rest = [c for c in columns if c != column]
        axis = columns.index(column)
        residual = np.moveaxis(m.precisions * (answers(parts, columns) - m.shares), axis, -1)
        largest = m.precisions.max(axis=axis)
        smaller = answers(parts, rest) if rest else np.array(1.0)
        for k in range(NUM_COMPONENTS):
            product = np.array(1.0)
            for c in rest:
                product = np.multiply.outer(product, parts[c][k])
            slope[k] += np.tensordot(product, residual, axes=len(rest)) if rest else residual
            curvature[k] += float((product * largest * smaller).sum())
    stepped = np.array([on_simplex(row) for row in parts[column] - slope / curvature[:, None]])

    factors = Factors.of(parts)
    with side_by_side() as run:
        block_of(column, marginals).improve(factors, factors.tables[column], 1, run)
    np.testing.assert_allclose(factors.tables[column], stepped, atol=2e-5)


def test_of_a_single_component_nothing_beyond_the_last_marginal_is_read():
    """Two marginals of one entry each; what stands behind them in memory would add 300."""
    memory = np.array([0, 1, 2, 3])
    rows, products = np.array([0, 1, 0], dtype=np.int32), np.array([0.5, 1.0, 100.0], dtype=np.float32)
    table = np.zeros((2, kernels.LANES), dtype=np.float32)
    table[:, 0] = 3.0, 5.0
    result = np.empty((1, kernels.LANES), dtype=np.float32)
    kernels.times(0, 1, memory[:3], rows, products, table, result)
    assert result[0, 0] == 0.5 * 3 + 5


def test_rows_that_are_not_filled_up_are_refused():
    table, result = np.zeros((2, 3), dtype=np.float32), np.zeros((1, 3), dtype=np.float32)
    entry = np.array([0], dtype=np.int32), np.array([1.0], dtype=np.float32)
    with pytest.raises(ValueError, match="filled up"):
        kernels.times(0, 1, np.array([0, 1]), *entry, table, result)


@pytest.mark.parametrize("size", [1, 2, 15, 16, 17, 31, 32, 100])
def test_rows_are_filled_up_with_room_for_one_more_number(size):
    assert size < kernels.filled_up(size) <= size + kernels.LANES
    assert kernels.filled_up(size) % kernels.LANES == 0


def test_a_column_of_many_values_is_fitted_as_one_of_few():
    """Its row takes three parts, of which some are not used; the answer is that of plain numpy."""
    rng = np.random.default_rng(3)
    sizes = (40, 3, 2)
    parts = [rng.dirichlet(np.full(size, 0.1), 5) for size in sizes]
    parts[0][:, 16:32] = 0.0
    shares = rng.dirichlet(np.ones(240)).reshape(sizes)
    marginal = Measured(shares, rng.uniform(1.0, 2.0, sizes))
    factors = Factors.of(parts)
    with side_by_side() as run:
        losses = Block.build(0, sizes, {(0, 1, 2): marginal}).improve(factors, factors.tables[0], 1, run)
    answers = np.einsum("ka,kb,kc->abc", *parts) / 5
    assert losses[0] * 3 == pytest.approx((marginal.precisions * (answers - shares) ** 2).sum(), rel=1e-4)
    residual = marginal.precisions * (answers - shares)
    slope = np.einsum("kb,kc,abc->ka", *parts[1:], residual)
    bound = answers.sum(axis=0) * marginal.precisions.max(axis=0)
    curvature = np.einsum("kb,kc,bc->k", *parts[1:], bound)
    expected = [on_simplex(row) for row in parts[0] - slope / curvature[:, None]]
    np.testing.assert_allclose(factors.tables[0], expected, atol=2e-5)


def test_the_losses_of_all_blocks_add_up_to_the_loss():
    marginals, parts = measured(with_apart=True), tables()
    total = np.zeros(2)
    with side_by_side() as run:
        for column in range(4):
            factors = Factors.of(parts)
            total += block_of(column, marginals).improve(factors, factors.tables[column], 1, run)
    other = {c: Measured(m.shares - m.apart, m.precisions) for c, m in marginals.items()}
    constant = sum(float((m.precisions * m.apart**2).sum()) for m in marginals.values())
    np.testing.assert_allclose(total, [loss(parts, marginals), loss(parts, other) - constant], rtol=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_updates_never_increase_the_loss(seed):
    marginals, parts = measured(seed), tables(seed)
    factors = Factors.of(parts)
    before = loss(parts, marginals)
    with side_by_side() as run:
        for column in (*range(4), *range(4)):
            block_of(column, marginals).improve(factors, factors.tables[column], 1, run)
            after = loss([t.astype(np.float64) for t in factors.tables], marginals)
            assert after <= before * (1 + 1e-5)
            before = after


def test_rows_stay_on_the_simplex():
    fit = Fit(measured(), tables())
    rng = np.random.default_rng(0)
    for _ in range(5):
        fit.sweep(rng)
    for table in fit.factors.tables:
        assert table.min() >= 0.0
        np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-5)


def test_projection_is_the_nearest_distribution():
    points = np.random.default_rng(3).normal(0.0, 1.0, (50, 9)).astype(np.float32)
    result = np.empty_like(points)
    kernels.project(0, 50, points, np.zeros_like(points), np.ones(50, dtype=np.float32), result)
    np.testing.assert_allclose(result, [on_simplex(row.astype(np.float64)) for row in points], atol=1e-5)


def test_the_number_of_threads_changes_nothing(monkeypatch):
    import numba

    fitted = []
    for num_threads in (1, 2, 3):
        monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", num_threads)
        fit, rng = Fit(measured(), tables()), np.random.default_rng(4)
        losses = [fit.sweep(rng) for _ in range(3)]
        fitted.append((losses, fit.factors.tables))
    for losses, found in fitted[1:]:
        assert losses == fitted[0][0]
        assert all(np.array_equal(a, b) for a, b in zip(found, fitted[0][1], strict=True))


def test_an_error_in_a_part_is_raised(monkeypatch):
    import numba

    def kernel(begin, end):
        if begin > 0:
            raise ArithmeticError

    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 2)
    with side_by_side() as run, pytest.raises(ArithmeticError):
        run(kernel, np.arange(11))


def test_the_start_has_the_one_way_marginals():
    one_ways = [np.array([0.2, 0.8]), np.array([0.5, 0.0, 0.5])]
    started = starting_tables(np.random.default_rng(0), one_ways, 100)
    for one_way, table in zip(one_ways, started, strict=True):
        np.testing.assert_allclose(table.sum(axis=1), 1.0)
        np.testing.assert_allclose(table.mean(axis=0), one_way, atol=0.01)
    # Nearly independent: each component is a mean of eight draws, shuffled column by column.
    np.testing.assert_allclose(started[0].T @ started[1] / 100, np.outer(*one_ways), atol=0.05)


def test_the_pilot_stops_where_the_noise_begins():
    """The more noise, the fewer sweeps: with almost none the pilot uses all it may. Seeds are fixed."""
    pairs = list(itertools.combinations(range(4), 2))
    found = []
    for stddev in (1e-5, 0.1):
        rng = np.random.default_rng(6)
        marginals = {}
        for columns in pairs:
            exact = truth().sum(axis=tuple(c for c in range(4) if c not in columns))
            noisy = exact + rng.normal(0.0, stddev, exact.shape)
            marginals[columns] = Measured(noisy, np.full(exact.shape, stddev**-2))
        found.append(best_num_sweeps(rng, marginals, SHAPE, 50, 40))
    assert found[0] >= 35
    assert found[1] <= 20


@pytest.mark.parametrize(
    ("said", "counted", "num_pilots"),
    [([2, 9, 6], 6, 3), ([7, 30, 5], 15, 2), ([18, 1, 1], 18, 1), ([1, 1, 40], 1, 3)],
)
def test_short_pilots_are_made_again_and_their_middle_counts(
    said: list[int], counted: int, num_pilots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(mixture_fit, "_best_sweep", lambda *_, number: asked.append(number) or said[number])
    assert best_num_sweeps(np.random.default_rng(0), {}, SHAPE, 50, 40) == counted
    assert asked == list(range(num_pilots))
