import subprocess
import sys

import numpy as np
import pytest
from tests.unit.data_players.games import DOMAIN, SHAPE, all_pairs, move, truth

from equipoise.data.distributions import Histogram
from equipoise.data.domain import Domain
from equipoise.data_players import jax_generator
from equipoise.data_players.generator import Generator, memory_bytes
from equipoise.queries.workload import Group, Workload

SMALL = {"num_products": 40, "widths": (8, 16, 16)}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def exact_moves(workload, num_rows=10_000):
    counts = np.rint(workload.on(Histogram(truth())) * num_rows)
    return [move(np.arange(a, b), counts[a:b]) for a, b in zip(workload.starts, workload.starts[1:], strict=False)]


def factors(player, state):
    return player.play(state).factors


@pytest.mark.parametrize("learning_rate", [1e-2, 1e-3])
def test_one_column_one_product_reaches_its_target(learning_rate):
    # MECHANISMS 4.3, oracle (i): the model is one softmax vector.
    workload = Workload(Domain(("x",), (3,)), (Group((0,), (3,)),))
    player = Generator(
        workload, 1000, num_rounds=100, num_products=1, widths=(4,), learning_rate=learning_rate, max_steps=1000
    )
    state = player.init(rng())
    before = factors(player, state)[0][0, 0]
    moves = [move(0, 900)]
    player.step(rng(), state, moves)
    threshold = state.largest / 2
    assert threshold == pytest.approx(abs(0.9 - before) / 2, rel=1e-5)
    assert abs(factors(player, state)[0][0, 0] - 0.9) <= threshold


def test_the_threshold_is_half_a_moving_average_of_noisy_errors():
    player = Generator(all_pairs(), 1000, num_rounds=9, max_steps=1, learning_rate=1e-9, **SMALL)
    state = player.init(rng())
    answers = all_pairs().on(player.play(state))
    first, second = abs(0.9 - answers[3]), max(abs(0.9 - answers[3]), abs(0.05 - answers[7]))
    moves = [move(3, 900)]
    player.step(rng(), state, moves)
    assert state.largest == pytest.approx(first, rel=1e-5)
    player.step(rng(), state, [*moves, move(7, 50)])
    assert state.largest == pytest.approx(0.5 * first + 0.5 * second, rel=1e-4)


def test_gradients_of_the_network_against_finite_differences():
    # MECHANISMS 4.3, oracle (ii), through products of softmaxes and the hidden layers.
    player = Generator(all_pairs(), 1000, num_rounds=1, **SMALL)
    state = player.init(rng())
    state.queries.include([0, 9, 20])
    cotangent = np.array([1.0, -2.0, 0.5])
    values, pull = player._linearised(state)
    (slopes,) = pull(state.queries.gradient(values, cotangent))
    weights = state.training.weights

    def loss(given):
        return float(state.queries.answers(jax_generator.forward(given, state.noise, sizes=SHAPE)) @ cotangent)

    # A short step, for the kinks of the rectifiers; differences of float32 answers are good to about 5e-4 then.
    step = 2e-4
    for number, layer in enumerate(weights):
        direction = np.random.default_rng(5).normal(size=layer["matrix"].shape).astype(np.float32)
        changed = [{**layer, "matrix": layer["matrix"] + sign * step * direction} for sign in (1, -1)]
        up, down = ([*weights[:number], new, *weights[number + 1 :]] for new in changed)
        difference = (loss(up) - loss(down)) / (2 * step)
        assert float((slopes[number]["matrix"] * direction).sum()) == pytest.approx(difference, abs=1e-3, rel=0.05)


@pytest.mark.parametrize("resample", [False, True])
def test_training_lowers_the_error(resample):
    workload = all_pairs()
    moves = exact_moves(workload)
    player = Generator(
        workload, 10_000, num_rounds=20, loss="squared", learning_rate=1e-2, max_steps=150, resample=resample, **SMALL
    )
    state = player.init(rng())
    before = np.abs(workload.on(player.play(state)) - workload.on(Histogram(truth()))).max()
    after = np.abs(workload.on(player.play(player.step(rng(), state, moves))) - workload.on(Histogram(truth()))).max()
    assert after < before / 4


def test_plays_are_distributions():
    player = Generator(all_pairs(), 1000, num_rounds=1, **SMALL)
    played = player.play(player.step(rng(), player.init(rng()), [move(0, 400)]))
    assert played.shape == DOMAIN.sizes
    for factor in played.factors:
        np.testing.assert_allclose(factor.sum(axis=1), 1.0, atol=1e-12)
        assert (factor >= 0).all()


def test_after_the_last_round_the_averaged_weights_are_played():
    workload = all_pairs()
    moves = exact_moves(workload)[:4]
    player = Generator(workload, 10_000, num_rounds=4, learning_rate=1e-2, weight_memory=0.25, **SMALL)
    state, outputs = player.init(rng()), []
    for number in range(1, 5):
        player.step(rng(number), state, moves[:number])
        outputs.append(np.asarray(state.training.weights[-1]["matrix"]).copy())
    # Rounds 2, 3 and 4 are the second half: 2 begins the average.
    expected = 0.25 * (0.25 * outputs[1] + 0.75 * outputs[2]) + 0.75 * outputs[3]
    np.testing.assert_allclose(np.asarray(state.averaged[-1]["matrix"]), expected, atol=1e-5)
    values = np.asarray(jax_generator.forward(state.averaged, state.noise, sizes=SHAPE))
    np.testing.assert_allclose(player.play(state).factors[0], values[: SHAPE[0]].T, atol=1e-5)


def test_at_most_so_many_queries_are_active():
    player = Generator(all_pairs(), 1000, num_rounds=1, max_active=3)
    errors = np.array([0.5, -0.4, 0.3, -0.2, 0.6, 0.01])
    weights = player._weights(rng(), errors, 0.1, np.ones(6))
    assert (weights != 0).sum() == 3
    assert weights[5] == 0
    assert weights.sum() == pytest.approx(1.0)
    assert player._weights(rng(), np.array([0.05, -0.09]), 0.1, np.ones(2)) is None


@pytest.mark.parametrize("loss", ["absolute", "squared"])
def test_the_slope_is_the_derivative_of_the_loss(loss):
    player = Generator(all_pairs(), 1000, num_rounds=1, loss=loss)
    errors = np.array([0.5, -0.4, 0.3])
    weights = player._weights(rng(), errors, 0.35, np.array([0.1, 0.2, 0.1]))
    for i in range(3):
        # Errors are target minus answer: answer i up by 1e-6 and down by 1e-6.
        up, down = errors - 1e-6 * np.eye(3)[i], errors + 1e-6 * np.eye(3)[i]
        difference = (player._loss(weights, up) - player._loss(weights, down)) / 2e-6
        assert player._slope(weights, errors)[i] == pytest.approx(difference, abs=1e-6)


def test_the_same_seed_gives_the_same_bits():
    def run():
        player = Generator(all_pairs(), 1000, num_rounds=2, **SMALL)
        return player.play(player.step(rng(1), player.init(rng()), [move(0, 400), move(5, 100)])).factors

    assert all(np.array_equal(a, b) for a, b in zip(run(), run(), strict=True))


def test_jax_is_imported_by_those_who_use_it_only():
    code = "import sys, equipoise, equipoise.algorithms; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_memory_grows_with_products_and_marginals():
    pairs = all_pairs()
    assert memory_bytes(pairs, 2000, (512, 1024)) > memory_bytes(pairs, 1000, (512, 1024)) > 10**6
