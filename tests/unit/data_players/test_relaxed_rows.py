import numpy as np
import pytest
from tests.unit.data_players.games import SHAPE, all_pairs, masked, move, truth

from equipoise.data.distributions import Histogram, from_arrays
from equipoise.data.domain import Domain
from equipoise.data.relaxed import RelaxedRows
from equipoise.data_players import jax_relaxation
from equipoise.data_players.measured_queries import MeasuredQueries
from equipoise.data_players.relaxed_rows import RelaxedPlayer, memory_bytes
from equipoise.queries.workload import Group, Workload

RATES = {"clip": 1e-2, "sparsemax": 1e-2, "softmax": 0.1}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def player(relaxation, workload=None, **options):
    given = {"num_relaxed": 50, "learning_rate": RATES[relaxation], "num_rounds": 99} | options
    return RelaxedPlayer(workload or all_pairs(), 10_000, relaxation=relaxation, **given)


@pytest.mark.parametrize("workload", [all_pairs(), masked()])
@pytest.mark.parametrize("relaxation", ["clip", "sparsemax", "softmax"])
def test_the_fit_reaches_consistent_answers(relaxation, workload):
    answers = workload.on(Histogram(truth()))
    used = player(relaxation, workload)
    everything = [move(np.arange(workload.num_queries), np.rint(answers * 10_000), 1.0)]
    state = used.step(rng(), used.init(rng()), everything)
    assert np.abs(workload.on(used.play(state)) - answers).max() < 0.01


def test_relaxed_answers_need_not_sum_to_one_and_others_must():
    # MECHANISMS 4.4, oracle (iii); liu2021iterative, appendix F.3: only one of two complementary queries is measured.
    workload = Workload(Domain(("x",), (2,)), (Group((0,), (2,)),))
    clipped, softmax, sparsemax = (
        workload.on(used.play(used.step(rng(), used.init(rng()), [move(1, 8_000, 1.0)])))
        for used in (player(name, workload) for name in ("clip", "softmax", "sparsemax"))
    )
    assert clipped[1] == pytest.approx(0.8, abs=0.01)
    assert abs(clipped.sum() - 1) > 0.05
    for answers in (softmax, sparsemax):
        np.testing.assert_allclose(answers, [0.2, 0.8], atol=0.01)
        assert answers.sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("relaxation", ["clip", "sparsemax", "softmax"])
def test_the_gradient_of_the_loss_against_finite_differences(relaxation):
    # MECHANISMS 4.4, oracle (iv).
    queries = MeasuredQueries(all_pairs(), 4)
    queries.include([1, 8, 30])
    targets = np.array([0.5, 0.1, 0.3])
    matrix = rng(1).uniform(-0.9, 0.9, (sum(SHAPE), 4)).astype(np.float32)
    options = {"sizes": SHAPE, "relaxation": relaxation}

    def loss(given):
        return float(((queries.answers(jax_relaxation.relax(given, **options)) - targets) ** 2).sum())

    values = jax_relaxation.relax(matrix, **options)
    gradient = queries.gradient(values, 2 * (queries.answers(values) - targets))
    import jax

    (slope,) = jax.vjp(lambda m: jax_relaxation._relax(m, SHAPE, relaxation), matrix)[1](gradient)
    direction = rng(2).normal(size=matrix.shape).astype(np.float32)
    step = 1e-2
    difference = (loss(matrix + step * direction) - loss(matrix - step * direction)) / (2 * step)
    assert float((np.asarray(slope) * direction).sum()) == pytest.approx(difference, rel=0.02, abs=1e-4)


def test_a_step_of_adam_moves_against_the_gradient_and_stays_inside():
    fit = jax_relaxation.start(rng(), 6, sizes=SHAPE, relaxation="clip")
    before = np.asarray(fit.matrix).copy()
    gradient = rng(1).normal(size=before.shape).astype(np.float32)
    after = np.asarray(jax_relaxation.descend(fit, gradient, 0.5, sizes=SHAPE, relaxation="clip").matrix)
    # The first step of Adam has the size of its rate in every coordinate.
    np.testing.assert_allclose(after, np.clip(before - 0.5 * np.sign(gradient), -1, 1), atol=1e-4)


def test_sparsemax_is_the_nearest_distribution():
    scores = rng(3).normal(size=(5, 200)).astype(np.float32)
    found = np.asarray(jax_relaxation._nearest_distribution(scores))
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=0), 1.0, atol=1e-5)
    assert (found == 0).any()
    # Nearest: scores - found is at most its value on the support, everywhere (the optimality condition).
    gap = scores - found
    threshold = np.where(found > 0, gap, -np.inf).max(axis=0)
    assert (gap <= threshold + 1e-5).all()
    np.testing.assert_allclose(np.where(found > 0, gap, threshold), np.broadcast_to(threshold, gap.shape), atol=1e-5)


def test_normalised_rows_are_distributions_even_without_positive_entries():
    rows = RelaxedRows((np.array([[0.5, -1.0], [-0.2, -0.4]]), np.array([[0.2, 0.2, -0.9], [1.0, 0.0, 1.0]])))
    assert rows.shape == (2, 3)
    np.testing.assert_allclose(rows.marginal((0,)), [0.15, -0.7])
    np.testing.assert_allclose(rows.normalised().factors[0], [[1.0, 0.0], [0.5, 0.5]])
    np.testing.assert_allclose(rows.normalised().factors[1], [[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]])
    codes = rows.sample(rng(), 1000)
    assert codes.shape == (2, 1000)
    # Half of the rows are of the first kind (0, {0, 1}), half of the second (either, {0, 2}).
    assert np.mean(codes[0] == 0) == pytest.approx(0.75, abs=0.01)


def test_relaxed_rows_come_back_from_their_arrays(tmp_path):
    rows = RelaxedRows((np.array([[0.5, -1.0], [-0.2, -0.4]]), np.array([[0.2, 0.2, -0.9], [1.0, 0.0, 1.0]])))
    np.savez(tmp_path / "model.npz", **rows.to_arrays())
    with np.load(tmp_path / "model.npz", allow_pickle=False) as stored:
        again = from_arrays(dict(stored))
    assert isinstance(again, RelaxedRows)
    np.testing.assert_array_equal(again.marginal((0, 1)), rows.marginal((0, 1)))


@pytest.mark.parametrize(("output", "kind"), [("normalised", "products"), ("relaxed", "relaxed")])
def test_what_is_played_last(output, kind):
    used = player("clip", num_rounds=1, output=output)
    state = used.init(rng())
    assert used.play(state).to_arrays()["kind"] == "relaxed"
    used.step(rng(), state, [move(0, 4_000, 1.0)])
    assert used.play(state).to_arrays()["kind"] == kind


def test_noisier_measurements_weigh_less():
    workload = Workload(Domain(("x",), (2,)), (Group((0,), (2,)),))
    used = player("softmax", workload)
    state = used.init(rng())
    contradiction = [move(0, 8_000, 1000.0), move(1, 8_000, 100.0)]
    answers = workload.on(used.play(used.step(rng(), state, contradiction)))
    assert answers[1] == pytest.approx(0.794, abs=0.01)  # (0.8 · 100 + 0.2) / 101


def test_memory_grows_with_rows():
    assert memory_bytes(all_pairs(), 2000) > memory_bytes(all_pairs(), 1000) > 10**5
