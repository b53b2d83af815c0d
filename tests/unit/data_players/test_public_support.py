from dataclasses import replace

import numpy as np
import pytest
from tests.unit.data_players.games import SHAPE, accepts, all_pairs, masked, move, truth

from equipoise.core import Move
from equipoise.data.public import PublicRows
from equipoise.data_players.entropy_projection import EntropyProjection
from equipoise.data_players.measurements import Measurements
from equipoise.data_players.multiplicative_weights import MultiplicativeWeights
from equipoise.data_players.public_support import accepted_rows, memory_bytes, trusted_rows

RNG = np.random.default_rng(0)
EVERY_CELL = np.stack(np.unravel_index(np.arange(48), SHAPE)).astype(np.uint8)
SOLVERS = ("noise_aware", "projection", "dual")


def public(codes=EVERY_CELL, counts=None) -> PublicRows:
    counts = np.ones(codes.shape[1], dtype=np.int64) if counts is None else counts
    return PublicRows(codes, counts, tuple(range(len(SHAPE))), "public")


def some_rows(seed=1, num_rows=15) -> PublicRows:
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.choice(48, num_rows, replace=False))
    return public(EVERY_CELL[:, chosen], rng.integers(1, 9, num_rows))


def play(player, moves, seed=0):
    rng = np.random.default_rng(seed)
    return player.play(player.step(rng, player.init(rng), moves))


def dense(rows) -> np.ndarray:
    return rows.marginal(tuple(range(len(SHAPE))))


def players(workload, rows, num_rows=1000):
    yield MultiplicativeWeights(workload, num_rows, public=rows)
    yield MultiplicativeWeights(workload, num_rows, replay="threshold", public=rows)
    for solver in SOLVERS:
        yield EntropyProjection(workload, num_rows, solver=solver, public=rows)


@pytest.mark.parametrize("workload", [all_pairs(), masked()])
def test_accepted_rows_are_those_that_satisfy_the_query(workload):
    rows, ids = some_rows(), RNG.permutation(workload.num_queries)
    starts, listed = accepted_rows(rows, workload, ids)
    for i, query_id in enumerate(ids):
        holds = accepts(workload.query(int(query_id)))[tuple(rows.codes)]
        assert sorted(listed[starts[i] : starts[i + 1]]) == np.flatnonzero(holds).tolist()


@pytest.mark.parametrize("replay", ["none", "cycles", "threshold"])
@pytest.mark.parametrize("workload", [all_pairs(), masked()])
def test_multiplicative_weights_on_every_cell_are_those_of_mwem(workload, replay):
    player = MultiplicativeWeights(workload, 1000, replay=replay, num_cycles=3)
    moves = [move(i, v, 1.0) for i, v in ((5, 300), (1, 20), (5, 500), (2, 40))]
    expected = play(player, moves).probabilities
    np.testing.assert_allclose(dense(play(replace(player, public=public()), moves)), expected, rtol=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("workload", [all_pairs(), masked()])
def test_projections_on_every_cell_are_those_of_pep(workload, solver):
    # 48 public rows are worth less than measurements with a noise of one in a thousand: the penalty is PEP's own.
    player = EntropyProjection(workload, 1000, solver=solver)
    moves = [move(i, v, 1.0) for i, v in ((5, 300), (1, 20), (5, 320), (2, 40))]
    expected = play(player, moves).probabilities
    np.testing.assert_allclose(dense(play(replace(player, public=public()), moves)), expected, atol=1e-7)


def test_the_start_is_the_public_histogram():
    rows = some_rows()
    for player in players(all_pairs(), rows):
        played = player.play(player.init(RNG))
        np.testing.assert_allclose(played.weights, rows.counts / rows.num_rows, rtol=1e-12)
        np.testing.assert_array_equal(played.codes, rows.codes)
    flat = EntropyProjection(all_pairs(), 1000, public=rows.flattened())
    np.testing.assert_allclose(flat.play(flat.init(RNG)).weights, 1 / 15)


def test_exact_measurements_of_the_public_histogram_move_nothing():
    # MECHANISMS 4.5: public = private histogram, noise off.
    rows, workload = some_rows(), all_pairs()
    counts = np.rint(workload.on_rows(rows.codes, rows.counts.astype(float)) * rows.num_rows).astype(np.int64)
    moves = [
        move(np.arange(workload.starts[g], workload.starts[g + 1]), counts[workload.starts[g] : workload.starts[g + 1]])
        for g in range(len(workload.groups))
    ]
    for player in players(workload, rows, rows.num_rows):
        np.testing.assert_allclose(play(player, moves).weights, rows.counts / rows.num_rows, atol=1e-12)


def test_queries_without_a_public_row_are_skipped():
    workload = all_pairs()
    corner = public(EVERY_CELL[:, EVERY_CELL[0] == 0])
    empty = [i for i in range(6) if workload.query(i).masks[0][1]]  # cells of (a, b) with a = 1
    for player in players(workload, corner):
        start = player.play(player.init(RNG)).weights
        np.testing.assert_array_equal(play(player, [move(empty, [300] * len(empty), 5.0)]).weights, start)
        # In a whole marginal they leave the other cells to be learnt.
        mixed = play(player, [move(np.arange(6), [800, 100, 100, 7, 7, 7], 5.0)])
        assert workload.on(mixed)[0] > workload.on_rows(corner.codes)[0] + 0.05
        assert np.isfinite(mixed.weights).all()


def test_each_query_keeps_its_own_noise_when_others_are_skipped():
    workload, corner = all_pairs(), public(EVERY_CELL[:, EVERY_CELL[0] == 0])
    ids = np.arange(6)
    stddevs = np.array([1.0, 200.0, 1.0, 50.0, 50.0, 50.0])
    noisy = Move(ids, np.zeros_like(ids), np.array([500, 100, 400, 0, 0, 0]), stddevs)
    kept = Move(ids[:3], np.zeros(3, dtype=np.int64), np.array([500, 100, 400]), stddevs[:3])
    player = EntropyProjection(workload, 1000, public=corner)
    np.testing.assert_array_equal(play(player, [noisy]).weights, play(player, [kept]).weights)


def test_a_projection_meets_the_measurement_and_keeps_the_rest_in_proportion():
    rows, workload = some_rows(), all_pairs()
    query_id = next(i for i in range(6) if 0 < workload.on_rows(rows.codes)[i] < 0.5)
    played = play(EntropyProjection(workload, 1000, solver="projection", public=rows), [move(query_id, 430)])
    assert workload.on(played)[query_id] == pytest.approx(0.43, abs=1e-12)
    inside = accepts(workload.query(query_id))[tuple(rows.codes)] > 0
    for side in (inside, ~inside):
        shares = played.weights[side] / (rows.counts / rows.num_rows)[side]
        np.testing.assert_allclose(shares, shares[0], rtol=1e-12)


def test_the_soft_fit_weighs_public_rows_against_noise():
    # One binary column, 100 public rows half and half; a measurement of 0.6 with noise s. The minimiser of
    # KL(D || public) + (q - 0.6)^2 / (2 N s^2) has log-odds (0.6 - q) / (N s^2).
    workload = all_pairs()
    rows = public(EVERY_CELL[:, [0, 47]], np.array([50, 50]))
    query_id = 0  # a = 0 and b = 0: holds for the first row only
    played = play(EntropyProjection(workload, 1000, public=rows), [move(query_id, 600, 100.0)])
    q = float(workload.on(played)[query_id])
    assert np.log(q / (1 - q)) == pytest.approx((0.6 - q) / (100 * 0.1**2), abs=2e-2)
    assert 0.51 < q < 0.54


def test_rows_that_the_measurements_contradict_are_trusted_less():
    rows = public(EVERY_CELL[:, :10], np.full(10, 100))
    answers = np.full(50, 0.2)

    def trusted(targets, stddev):
        found = Measurements(10**6)
        found.absorb(
            Move(np.arange(50), np.zeros(50, dtype=np.int64), np.rint(targets * 1e6).astype(int), stddev * 1e6)
        )
        return trusted_rows(rows.num_rows, answers, found.targets, found.stddevs)

    assert trusted(answers, 0.0) == 1000
    # Off by 0.1 everywhere, without noise: as a sample of 0.2 * 0.8 / 0.1^2 = 16 rows would be.
    assert trusted(answers + 0.1, 0.0) == pytest.approx(16)
    assert trusted(answers + 0.1, 0.2) == 1000
    assert trusted(answers + 0.7, 0.0) == 1


def test_what_was_played_stays_as_it_was():
    for player in players(all_pairs(), some_rows()):
        state = player.init(RNG)
        before = player.play(state)
        copy = before.weights.copy()
        after = player.play(player.step(RNG, state, [move(np.arange(6), [700, 50, 50, 100, 50, 50], 1.0)]))
        np.testing.assert_array_equal(before.weights, copy)
        assert np.abs(after.weights - copy).max() > 1e-3


def test_a_game_in_one_call_is_the_same_game():
    moves = [move(i, v, 20.0) for i, v in ((0, 600), (9, 300), (20, 20), (0, 500))]
    for player in players(all_pairs(), some_rows()):
        rng = np.random.default_rng(1)
        state = player.init(rng)
        for t in range(len(moves)):
            state = player.step(rng, state, moves[: t + 1])
        np.testing.assert_array_equal(player.play(state).weights, play(player, moves, seed=1).weights)


def test_the_truth_on_a_full_support_is_learnt():
    workload, cells = all_pairs(), truth()
    counts = np.rint(
        1e6
        * np.concatenate([cells.sum(axis=tuple({0, 1, 2, 3} - set(g.columns))).reshape(-1) for g in workload.groups])
    ).astype(np.int64)
    player = EntropyProjection(workload, 10**6, public=public())
    played = play(player, [move(np.arange(workload.num_queries), counts, 1.0)])
    np.testing.assert_allclose(workload.on(played) * 1e6, counts, atol=300)


def test_memory_grows_with_rows_and_queries():
    assert memory_bytes(some_rows(num_rows=30), all_pairs()) > memory_bytes(some_rows(), all_pairs()) > 40 * 15 * 6
