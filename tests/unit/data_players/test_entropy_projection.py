import numpy as np
import pytest
from tests.unit.data_players.games import SHAPE, accepts, all_pairs, masked, move, truth

from equipoise.data.distributions import Histogram
from equipoise.data.domain import Domain
from equipoise.data_players.coordinate_descent import descend, project
from equipoise.data_players.entropy_projection import EntropyProjection, memory_bytes
from equipoise.data_players.log_linear import LogLinear
from equipoise.data_players.marginal_tree import MarginalTree
from equipoise.data_players.noise_aware import NoiseAware
from equipoise.data_players.quasi_newton import minimise
from equipoise.queries.workload import Group, Workload

RNG = np.random.default_rng(0)
THREE = Workload(Domain(("x",), (3,)), (Group((0,), (3,)),))


def play(player, moves):
    return player.play(player.step(RNG, player.init(RNG), moves)).probabilities


@pytest.mark.parametrize("workload", [all_pairs(), masked()])
def test_after_one_step_the_answer_is_the_measurement(workload):
    for i in (0, 1, workload.num_queries - 1):
        played = Histogram(play(EntropyProjection(workload, 1000, solver="projection"), [move(i, 137)]))
        assert workload.query(i).answer(played) == pytest.approx(0.137, abs=1e-14)


@pytest.mark.parametrize("solver", ["projection", "dual", "noise_aware"])
def test_two_disjoint_queries(solver):
    # MECHANISMS 4.2, oracle (iii). The noise-aware fit gives way by 1e-3 records a unit of log-odds. Projections are
    # two a measurement, so it takes some rounds of the same moves.
    player = EntropyProjection(THREE, 1000, solver=solver)
    played = play(player, [move(0, 200), move(1, 300)] * 10)
    np.testing.assert_allclose(played, [0.2, 0.3, 0.5], atol=1e-5)


@pytest.mark.parametrize("solver", ["projection", "dual", "noise_aware"])
def test_targets_outside_the_answers_range_stay_finite(solver):
    played = play(EntropyProjection(THREE, 1000, solver=solver), [move(0, -50, 10.0), move(1, 1080, 10.0)])
    assert np.isfinite(played).all()
    assert played[1] > 0.9
    assert played[0] < 0.05


def test_dual_without_slack_is_the_fixed_point_of_projections():
    # MECHANISMS 4.2, oracle (iv), first half.
    workload = all_pairs()
    targets = workload.on(Histogram(truth()))[:26]
    fitted, projected = LogLinear(SHAPE), LogLinear(SHAPE)
    for model in (fitted, projected):
        model.include([workload.query(i) for i in range(26)])
    none = np.zeros(26)
    descend(fitted, targets, slack=none, variance=none, tolerance=1e-14, max_sweeps=20_000)
    project(projected, targets, tolerance=1e-13, max_steps=200_000)
    np.testing.assert_allclose(fitted.answers(), targets, atol=1e-10)
    np.testing.assert_allclose(fitted.distribution().probabilities, projected.distribution().probabilities, atol=1e-9)


def test_dual_with_enough_slack_is_uniform():
    # MECHANISMS 4.2, oracle (iv), second half.
    workload = all_pairs()
    counts = np.rint(1000 * workload.on(Histogram(truth()))).astype(np.int64)
    gap = np.abs(counts / 1000 - workload.on(Histogram(np.full(SHAPE, 1 / 48)))).max()
    moves = [move(np.arange(workload.num_queries), counts)]
    uniform = play(EntropyProjection(workload, 1000, solver="dual", tolerance=float(gap) + 1e-12), moves)
    np.testing.assert_allclose(uniform, 1 / 48, rtol=1e-12)
    tighter = play(EntropyProjection(workload, 1000, solver="dual", tolerance=float(gap) * 0.9), moves)
    assert np.abs(tighter - 1 / 48).max() > 1e-4


def test_dual_meets_the_optimality_conditions():
    workload = masked()
    rng = np.random.default_rng(5)
    num_queries = workload.num_queries
    targets = workload.on(Histogram(truth())) + 0.02 * rng.normal(size=num_queries)
    model = LogLinear(SHAPE)
    model.include([workload.query(i) for i in range(num_queries)])
    slack = np.where(np.arange(num_queries) % 2 == 1, 0.05, 0.005)
    variance = np.linspace(0, 0.02, num_queries)
    descend(model, targets, slack=slack, variance=variance, tolerance=1e-13, max_sweeps=20_000)
    gap = targets - model.answers() - variance * model.coefficients
    moved = model.coefficients != 0
    reachable = model.answers() > 1e-5  # the impossible query, and targets below the clamp, have no such condition
    assert moved.any()
    np.testing.assert_allclose((gap - slack * np.sign(model.coefficients))[moved & reachable], 0, atol=1e-9)
    assert (~moved & reachable).any()
    assert (np.abs(gap) <= slack + 1e-12)[~moved & reachable].all()


def test_noise_aware_fit_is_the_optimum_that_coordinate_descent_finds():
    for workload in (all_pairs(), masked()):
        num_queries = workload.num_queries
        targets = workload.on(Histogram(truth())) + 0.01 * np.random.default_rng(2).normal(size=num_queries)
        variance = np.full(num_queries, 0.01)
        queries = [workload.query(i) for i in range(num_queries)]
        one, all_at_once = LogLinear(SHAPE), NoiseAware(SHAPE)
        one.include(queries)
        all_at_once.include(queries[:5])
        all_at_once.include(queries[5:])
        descend(one, targets, slack=np.zeros(num_queries), variance=variance, tolerance=1e-14, max_sweeps=5000)
        all_at_once.fit(targets, variance, tolerance=1e-10, max_evaluations=2000)
        np.testing.assert_allclose(
            all_at_once.distribution().probabilities, one.distribution().probabilities, atol=1e-6
        )
        np.testing.assert_allclose(all_at_once.answers() - targets, -variance * all_at_once.coefficients, atol=1e-9)


def test_noise_aware_trusts_precise_measurements_more():
    vague = move([0, 1], [500, 200], 50.0)
    precise = play(EntropyProjection(THREE, 1000), [vague, move(0, 400, 1.0)])
    assert precise[0] == pytest.approx(0.4, abs=0.002)
    assert abs(play(EntropyProjection(THREE, 1000), [vague])[1] - 0.2) > abs(precise[0] - 0.4)


@pytest.mark.parametrize("solver", ["projection", "dual", "noise_aware"])
def test_one_call_with_all_moves_is_the_same_game(solver):
    player = EntropyProjection(all_pairs(), 100, solver=solver, tolerance="noise")
    moves = [move(i, v, 2.0) for i, v in ((0, 60), (9, 30), (20, 2), (0, 50))]
    state = player.init(RNG)
    np.testing.assert_allclose(player.play(state).probabilities, 1 / 48)
    for t in range(len(moves)):
        before = player.play(state)
        copy = before.probabilities.copy()
        state = player.step(RNG, state, moves[: t + 1])
        np.testing.assert_array_equal(before.probabilities, copy)
    np.testing.assert_array_equal(player.play(state).probabilities, play(player, moves))


def test_noise_tolerance_leaves_alone_what_noise_explains():
    player = EntropyProjection(THREE, 1000, solver="projection", tolerance="noise")
    # 2 log(2/0.05) = 7.4, so one measurement of stddev 50 may be off by 136 of 1000.
    np.testing.assert_allclose(play(player, [move(0, 333 + 130, 50.0)]), 1 / 3)
    assert play(player, [move(0, 333 + 140, 50.0)])[0] == pytest.approx(0.473)


def test_projection_stops_after_max_steps():
    workload = all_pairs()
    model = LogLinear(SHAPE)
    model.include([workload.query(i) for i in range(10)])
    targets = workload.on(Histogram(truth()))[:10]
    assert project(model, targets, tolerance=0.0, max_steps=3) == 3
    assert project(model, targets, tolerance=1.0, max_steps=3) == 0
    assert np.count_nonzero(model.coefficients) <= 3


def test_marginal_tree_sums_and_lifts():
    cells = np.random.default_rng(0).random(48)
    sets = [(0, 1), (2,), (1, 3), (0, 1, 2, 3)]
    tree = MarginalTree(SHAPE, sets)
    sums = tree.sums(cells)
    tensors = {}
    expected = np.zeros(SHAPE)
    for columns in sets:
        others = tuple(c for c in range(4) if c not in columns)
        np.testing.assert_allclose(sums[columns], cells.reshape(SHAPE).sum(axis=others).reshape(-1))
        tensors[columns] = np.random.default_rng(len(columns)).random(len(sums[columns]))
        expected += np.expand_dims(tensors[columns].reshape([SHAPE[c] for c in columns]), others)
    np.testing.assert_allclose(tree.lift(tensors).reshape(SHAPE), expected)
    kept = {columns: tensor.copy() for columns, tensor in tensors.items()}
    tree.lift(tensors)
    assert all((tensors[columns] == kept[columns]).all() for columns in sets)


def test_minimise_finds_the_minimum_of_a_badly_scaled_quadratic():
    curvature = np.logspace(-1, 2, 30)
    centre = np.linspace(-5, 5, 30)

    def quadratic(x):
        return float(curvature @ (x - centre) ** 2 / 2), curvature * (x - centre)

    arguments = {"tolerance": 1e-7, "max_evaluations": 1000}
    for guess in (np.ones(30), 100 / curvature):
        np.testing.assert_allclose(
            minimise(quadratic, np.zeros(30), inverse_curvature=guess, **arguments), centre, atol=1e-5
        )


def test_minimise_never_goes_up():
    values = []

    def steep(x):
        value = float(np.logaddexp(50 * x, -x).sum())
        share = np.exp(-np.logaddexp(0, -51 * x))
        return value, 50 * share - (1 - share)

    for evaluations in range(1, 30):
        found = minimise(steep, np.full(3, 2.0), inverse_curvature=np.ones(3), tolerance=0, max_evaluations=evaluations)
        values.append(steep(found)[0])
    assert np.all(np.diff(values) <= 1e-12)
    assert values[-1] < values[0] - 100


def test_queries_accept_what_the_model_thinks():
    workload = masked()
    model = NoiseAware(SHAPE)
    model.include([workload.query(i) for i in range(workload.num_queries)])
    np.testing.assert_allclose(
        model.answers(), [accepts(workload.query(i)).mean() for i in range(workload.num_queries)]
    )


def test_memory_grows_with_the_domain():
    assert memory_bytes(2 * 10**6) == 2 * memory_bytes(10**6) >= 2 * 8 * 10**6
