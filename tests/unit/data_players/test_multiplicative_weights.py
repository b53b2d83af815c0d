from dataclasses import replace

import numpy as np
import pytest
from tests.unit.data_players.games import SHAPE, accepts, all_pairs, masked, move, truth

from equipoise.data.distributions import Histogram
from equipoise.data.domain import Domain
from equipoise.data_players.log_linear import LogLinear
from equipoise.data_players.multiplicative_weights import MultiplicativeWeights, memory_bytes
from equipoise.queries.workload import Group, Workload

RNG = np.random.default_rng(0)
BIT = Workload(Domain(("x",), (2,)), (Group((0,), (2,)),))


def play(player, moves, seed=0):
    rng = np.random.default_rng(seed)
    return player.play(player.step(rng, player.init(rng), moves)).probabilities


def test_starts_uniform():
    player = MultiplicativeWeights(all_pairs(), 100)
    np.testing.assert_allclose(player.play(player.init(RNG)).probabilities, 1 / 48)


def test_one_update_multiplies_the_odds_by_exp_of_half_the_error():
    # MECHANISMS 4.1, oracle (ii): x in {0, 1}, q = x, m = 1: odds e^(1/4).
    played = play(MultiplicativeWeights(BIT, 100, replay="none"), [move(1, 100)])
    assert played[1] == pytest.approx(1 / (1 + np.exp(-0.25)), abs=1e-15)
    assert played[1] == pytest.approx(0.56218, abs=1e-5)


@pytest.mark.parametrize(("value", "clamped"), [(-40, 0), (170, 100)])
def test_measurements_are_clamped_to_answers(value, clamped):
    player = MultiplicativeWeights(BIT, 100, replay="none")
    np.testing.assert_array_equal(play(player, [move(1, value)]), play(player, [move(1, clamped)]))


@pytest.mark.parametrize("workload", [all_pairs(), masked()])
@pytest.mark.parametrize("replay", ["none", "cycles", "threshold"])
def test_updates_are_those_of_the_definition(workload, replay):
    player = MultiplicativeWeights(workload, 1000, replay=replay, num_cycles=3)
    ids = [5, 1, 5, 3]
    values = [300, 20, 500, 0]
    moves = [move(i, v, 1.0) for i, v in zip(ids, values, strict=True)]
    expected, targets, shuffles = np.full(SHAPE, 1 / 48), {}, np.random.default_rng(3)

    def update(q):
        nonlocal expected
        inside = accepts(workload.query(q))
        expected = expected * np.exp(inside * (targets[q] - (expected * inside).sum()) / 2)
        expected /= expected.sum()

    def error(q):
        return abs(targets[q] - (expected * accepts(workload.query(q))).sum())

    for q, value in zip(ids, values, strict=True):
        targets[q] = value / 1000 if q not in targets else (targets[q] + value / 1000) / 2
        threshold = error(q) / 2
        update(q)
        if replay == "cycles":
            for again in list(targets) * 3:
                update(again)
        if replay == "threshold":
            late = sorted(list(targets).index(p) for p in targets if p != q and error(p) >= threshold)
            for position in shuffles.permutation(late):
                update(list(targets)[int(position)])
    np.testing.assert_allclose(play(player, moves, seed=3), expected, rtol=1e-12)


def test_stale_repeats_the_newest_update_with_old_answers():
    # The public code: q = x, m = 1, step 1/4 applied twice, so odds e^(1/2).
    played = play(MultiplicativeWeights(BIT, 100, stale=True), [move(1, 100)])
    assert played[1] == pytest.approx(1 / (1 + np.exp(-0.5)), abs=1e-15)


@pytest.mark.parametrize("average", [False, True])
def test_one_call_with_all_moves_is_the_same_game(average):
    player = MultiplicativeWeights(all_pairs(), 100, replay="threshold", average=average)
    moves = [move(i, v, 2.0) for i, v in ((0, 60), (9, 30), (20, 2), (0, 50))]
    rng = np.random.default_rng(1)
    state = player.init(rng)
    for t in range(len(moves)):
        state = player.step(rng, state, moves[: t + 1])
    np.testing.assert_array_equal(player.play(state).probabilities, play(player, moves, seed=1))


def test_average_is_the_mean_of_what_was_played():
    moves = [move(i, v) for i, v in ((0, 60), (9, 30), (20, 2))]
    last = MultiplicativeWeights(all_pairs(), 100, replay="none")
    played = [play(last, moves[: t + 1]) for t in range(3)]
    averaged = play(MultiplicativeWeights(all_pairs(), 100, replay="none", average=True), moves)
    np.testing.assert_allclose(averaged, np.mean(played, axis=0), rtol=1e-13)


def test_what_was_played_stays_as_it_was():
    player = MultiplicativeWeights(all_pairs(), 100)
    state = player.init(RNG)
    before = player.play(state)
    copy = before.probabilities.copy()
    player.step(RNG, state, [move(0, 90)])
    np.testing.assert_array_equal(before.probabilities, copy)


def test_whole_marginals_in_one_move_are_learnt():
    workload, cells = all_pairs(), truth()
    counts = np.rint(1e6 * workload.on_groups(Histogram(cells), [0, 5])).astype(np.int64)
    ids = np.concatenate([np.arange(workload.starts[g], workload.starts[g + 1]) for g in (0, 5)])
    player = MultiplicativeWeights(workload, 10**6, replay="cycles", num_cycles=2000)
    state = player.step(RNG, player.init(RNG), [move(ids, counts, 1.0)])
    np.testing.assert_allclose(workload.on(player.play(state))[ids] * 1e6, counts, atol=2000)


def test_rebuilding_changes_nothing_but_rounding():
    model = LogLinear(SHAPE)
    workload = masked()
    model.include([workload.query(i) for i in range(workload.num_queries)])
    for i in range(workload.num_queries):
        model.tilt(i, (-1) ** i * 0.7)
    before, answers = model.distribution().probabilities, model.answers()
    assert [model.answer(i) for i in range(model.num_queries)] == answers.tolist()
    model.rebuild()
    np.testing.assert_allclose(model.distribution().probabilities, before, rtol=1e-13)
    np.testing.assert_allclose(model.answers(), answers, atol=1e-14)


def test_weights_survive_tilts_that_overflow():
    model = LogLinear((2,))
    model.include([BIT.query(1)])
    for _ in range(10):
        model.tilt(0, 300.0)
    assert np.isfinite(model.total[0])
    assert model.answer(0) == pytest.approx(1.0)
    for _ in range(10):
        model.tilt(0, -300.0)
    model.rebuild()
    np.testing.assert_allclose(model.distribution().probabilities, 0.5)


def test_cycles_follow_the_noise():
    player = MultiplicativeWeights(all_pairs(), 1000)

    def passes(*moves):
        """How many updates the first query got: only its own steps change its coefficient."""
        fixed = [
            np.abs(play(player, moves) - play(replace(player, num_cycles=count), moves)).max()
            for count in range(1, 201)
        ]
        return 1 + int(np.argmin(fixed))

    # n / (2 stddev), between 10 and 200; a second measurement is half of all, so it gets sqrt(1/2) of that.
    assert passes(move(0, 700, 10.0)) == 50
    assert passes(move(0, 700, 200.0)) == 10
    assert passes(move(0, 700, 1.0)) == 200
    state = player.step(RNG, player.init(RNG), [move(0, 700, 10.0), move(9, 100, 10.0)])
    assert player._num_cycles(state.measurements, 1) == 36


def test_memory_grows_with_the_domain():
    assert memory_bytes(2 * 10**6) == 2 * memory_bytes(10**6) >= 2 * 8 * 10**6
