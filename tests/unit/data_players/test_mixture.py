import itertools

import numpy as np
import pytest
from tests.unit.data_players.games import DOMAIN, SHAPE, all_pairs, masked, move, truth

from equipoise.core import Move
from equipoise.data.distributions import MixtureOfProducts
from equipoise.data_players.mixture import COARSE, LEAST, MOST, TO_LARGE, Mixture, max_sweeps, memory_bytes
from equipoise.data_players.mixture_block import Measured
from equipoise.errors import SettingError
from equipoise.queries.workload import Group, Workload

NUM_ROWS = 1_000_000


def counts(workload, table) -> np.ndarray:
    parts = []
    for group in workload.groups:
        others = tuple(c for c in range(len(SHAPE)) if c not in group.columns)
        parts.append(group.answers(table.sum(axis=others)))
    return np.rint(NUM_ROWS * np.concatenate(parts)).astype(np.int64)


def fitted(workload, moves, seed=0, **options):
    player = Mixture(workload, NUM_ROWS, **{"num_components": 60, "num_sweeps": 60} | options)
    rng = np.random.default_rng(seed)
    state = player.step(rng, player.init(rng), moves)
    return player, state, player.play(state)


def test_plays_uniform_before_the_first_move():
    player = Mixture(all_pairs(), NUM_ROWS)
    played = player.play(player.init(np.random.default_rng(0)))
    np.testing.assert_allclose(played.marginal((0, 2)), np.full((2, 4), 1 / 8))


def test_learns_exact_pairs():
    workload = all_pairs()
    answers = counts(workload, truth())
    _, _, played = fitted(workload, [move(np.arange(workload.num_queries), answers)], num_sweeps=300)
    assert isinstance(played, MixtureOfProducts)
    assert np.abs(workload.on(played) - answers / NUM_ROWS).max() < 2e-3


def test_plays_probabilities():
    workload = all_pairs()
    noisy = counts(workload, truth()) + np.random.default_rng(1).integers(-50_000, 50_000, workload.num_queries)
    _, _, played = fitted(workload, [move(np.arange(workload.num_queries), noisy, 50_000.0)])
    for factor in played.factors:
        assert factor.min() >= 0.0
        np.testing.assert_allclose(factor.sum(axis=1), 1.0, rtol=1e-12)


def test_fits_closer_than_the_noise():
    """Consistency and nonnegativity remove noise: the fit's squared error is below that of the measurements.

    The measured error has 62 degrees of freedom, the fit's at most 47 (the domain's cells less one); seeds are fixed.
    """
    workload = all_pairs()
    answers = counts(workload, truth())
    noise = np.rint(np.random.default_rng(2).normal(0.0, 20_000.0, len(answers))).astype(np.int64)
    _, _, played = fitted(workload, [move(np.arange(workload.num_queries), answers + noise, 20_000.0)])
    left = workload.on(played) - answers / NUM_ROWS
    assert np.sum(left**2) < 0.8 * np.sum((noise / NUM_ROWS) ** 2)


def test_precise_measurements_count_more():
    workload = Workload(DOMAIN, (Group((0,), (2,)), Group((0, 1), (2, 3))))
    first = move([0, 1], [300_000, 700_000], 100.0)
    second = move(np.arange(2, 8), np.full(6, NUM_ROWS // 6), 100_000.0)
    _, _, played = fitted(workload, [first, second])
    np.testing.assert_allclose(played.marginal((0,)), [0.3, 0.7], atol=1e-3)
    _, _, played = fitted(workload, [first._replace(stddev=1e6), second._replace(stddev=np.full(6, 100.0))])
    np.testing.assert_allclose(played.marginal((0,)), [0.5, 0.5], atol=1e-3)


def test_a_repeated_measurement_is_one_with_the_combined_noise():
    workload = all_pairs()
    ids = np.arange(workload.num_queries)
    answers = counts(workload, truth())
    twice = [move(ids, answers - 600, 1000.0), move(ids, answers + 600, 1000.0)]
    once = [move(ids, answers, 1000.0 / np.sqrt(2))]
    np.testing.assert_allclose(
        workload.on(fitted(workload, twice)[2]), workload.on(fitted(workload, once)[2]), atol=1e-4
    )


def test_learns_single_cells():
    workload = all_pairs()
    answers = counts(workload, truth())
    moves = [move(i, answers[i]) for i in (3, 11, 40)]
    _, _, played = fitted(workload, moves)
    np.testing.assert_allclose(workload.on(played)[[3, 11, 40]], answers[[3, 11, 40]] / NUM_ROWS, atol=1e-3)


def test_goes_on_from_what_it_played():
    workload = all_pairs()
    ids = np.arange(workload.num_queries)
    moves = [move(ids, counts(workload, truth()), 1000.0)]
    player, state, played = fitted(workload, moves, num_sweeps=3)
    before = np.abs(workload.on(played) - counts(workload, truth()) / NUM_ROWS).max()
    for _ in range(40):
        moves.append(moves[0])
        state = player.step(np.random.default_rng(3), state, moves)
    after = np.abs(workload.on(player.play(state)) - counts(workload, truth()) / NUM_ROWS).max()
    assert after < before / 2
    assert state.targets.num_moves == 41


def test_same_seed_same_mixture():
    workload = all_pairs()
    moves = [move(np.arange(workload.num_queries), counts(workload, truth()), 1000.0)]
    first, second, other = (fitted(workload, moves, seed)[2] for seed in (5, 5, 6))
    assert all(np.array_equal(a, b) for a, b in zip(first.factors, second.factors, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first.factors, other.factors, strict=True))


def test_an_unmeasured_column_stays_uniform_and_independent():
    workload = Workload(DOMAIN, (Group((0, 1), (2, 3)), Group((3,), (2,))))
    answers = counts(workload, truth())[:6]
    _, _, played = fitted(workload, [move(np.arange(6), answers, 10.0)])
    expected = np.multiply.outer(played.marginal((0, 1)), [0.5, 0.5])
    np.testing.assert_allclose(played.marginal((0, 1, 3)), expected, atol=0.05)
    np.testing.assert_allclose(played.marginal((3,)), [0.5, 0.5], atol=0.01)


def test_a_column_of_one_value_is_no_obstacle():
    from equipoise.data.domain import Domain

    workload = Workload(Domain(("a", "b"), (1, 3)), (Group((0, 1), (1, 3)),))
    _, _, played = fitted(workload, [move(np.arange(3), [200_000, 300_000, 500_000])])
    np.testing.assert_allclose(played.marginal((0, 1)), [[0.2, 0.3, 0.5]], atol=1e-3)


def test_masks_that_accept_one_cell_are_cells():
    workload = masked()
    # The second group's masks pick one value of d each; the first group's fourth query accepts nothing.
    _, state, played = fitted(workload, [move([4, 5], [250_000, 750_000])])
    np.testing.assert_allclose(played.marginal((3,)), [0.25, 0.75], atol=1e-3)
    assert set(state.targets.precisions) == {(3,)}


@pytest.mark.parametrize("query_id", [0, 1, 2, 3])
def test_masks_that_accept_several_values_are_refused(query_id):
    with pytest.raises(SettingError, match="whole marginal"):
        fitted(masked(), [move(query_id, 100)])


def test_moves_without_values_are_refused():
    with pytest.raises(ValueError, match="measured answers"):
        fitted(all_pairs(), [Move(np.array([0]), np.array([1]), None, 0.0)])


@pytest.mark.parametrize(("objective", "goes_on"), [("max", True), ("both", True), ("mean", False)])
def test_goes_on_while_it_misses_large_cells_where_the_largest_error_matters(monkeypatch, objective, goes_on):
    """A pilot that says one sweep leaves exact answers, of noise next to nothing, far from fitted."""
    monkeypatch.setattr("equipoise.data_players.mixture.best_num_sweeps", lambda *_: 1)
    done = []
    monkeypatch.setattr("equipoise.data_players.mixture.report", lambda at, total: done.append((at, total)))
    workload = all_pairs()
    exact = [move(np.arange(workload.num_queries), counts(workload, truth()), 100.0)]
    least, most = (max(LEAST, MOST[objective] * goes) + TO_LARGE[objective] for goes in (0, 1))
    fitted(workload, exact, num_sweeps=None, objective=objective)
    assert (len(done) > least) == goes_on
    assert len(done) <= most
    done.clear()
    fitted(workload, exact, num_sweeps=8, objective=objective)
    assert len(done) == 8 + TO_LARGE[objective]  # what was asked for is done, no more
    done.clear()
    vague = [move(np.arange(workload.num_queries), counts(workload, truth()), 1e6)]
    fitted(workload, vague, num_sweeps=None, objective=objective)
    assert len(done) == least  # nothing is missed
    done.clear()
    fitted(workload, exact * 2, num_sweeps=None, objective=objective, num_drafts=1)
    # Coarse noise is not to be followed, not for the largest error's sake either.
    assert len(done) == LEAST + {"mean": 4, "both": 6, "max": 6}[objective]


@pytest.mark.parametrize(("num_drafts", "num_sweeps"), [(COARSE - 1, 7), (COARSE, 4)])
def test_a_pilot_counts_for_less_where_there_are_drafts_and_for_nothing_where_many(monkeypatch, num_drafts, num_sweeps):
    monkeypatch.setattr("equipoise.data_players.mixture.best_num_sweeps", lambda *_: 10)
    done = []
    monkeypatch.setattr("equipoise.data_players.mixture.report", lambda at, total: done.append((at, total)))
    workload = all_pairs()
    moves = [move(np.arange(workload.num_queries), counts(workload, truth()), 100.0)] * (num_drafts + 1)
    fitted(workload, moves, num_sweeps=None, num_drafts=num_drafts)
    assert len(done) == num_sweeps + TO_LARGE["both"]


@pytest.mark.parametrize(("first", "num_sweeps"), [(0.0, 5), (0.006, 5), (0.008, 9)])
def test_goes_on_until_no_more_is_missed_than_by_chance(monkeypatch, first, num_sweeps):
    monkeypatch.setattr("equipoise.data_players.mixture.best_num_sweeps", lambda *_: 4)
    shares = iter([first, 0.001])
    monkeypatch.setattr("equipoise.data_players.mixture.share_missed", lambda *_: next(shares))
    done = []
    monkeypatch.setattr("equipoise.data_players.mixture.report", lambda at, total: done.append((at, total)))
    workload = all_pairs()
    fitted(workload, [move(np.arange(workload.num_queries), counts(workload, truth()), 100.0)], num_sweeps=None)
    assert len(done) == num_sweeps + TO_LARGE["both"]
    assert done == sorted(done)
    assert all(at < total for at, total in done)


def test_the_last_sweeps_bring_large_cells_closer():
    """One sweep, then those for large cells: against one sweep alone, on exact answers that are said to be noisy."""
    workload = all_pairs()
    answers = counts(workload, truth())
    shares = answers / NUM_ROWS
    stddev = 0.02
    moves = [move(np.arange(workload.num_queries), answers, stddev * NUM_ROWS)]
    before, after = (_after_one_sweep(workload, moves, to_large=to_large) for to_large in (0, 12))
    large = (before > 2 * stddev) & (np.abs(before - shares) > stddev / 2)
    assert large.sum() >= 5
    assert np.abs(after - shares)[large].mean() < 0.75 * np.abs(before - shares)[large].mean()


def _after_one_sweep(workload, moves, *, to_large: int) -> np.ndarray:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(TO_LARGE, "both", to_large)
        return workload.on(fitted(workload, moves, num_sweeps=1)[2])


def test_where_sweeps_are_cheap_a_precise_fit_may_make_more_of_them():
    def most(num_columns: int, size: int, width: int) -> int:
        cells = Measured(np.ones((size,) * width), np.ones((size,) * width))
        measured = dict.fromkeys(itertools.combinations(range(num_columns), width), cells)
        return max_sweeps([size] * num_columns, measured)

    assert [most(40, 10, 2), most(80, 10, 2), most(100, 10, 2), most(200, 10, 2)] == [600, 234, 150, 150]
    assert most(10, 3, 3) == 150


def test_settings_out_of_range_are_refused():
    with pytest.raises(SettingError, match="num_components"):
        Mixture(all_pairs(), NUM_ROWS, num_components=0)


def test_memory_grows_with_cells_and_components():
    pairs = list(itertools.combinations(range(4), 2))
    assert (
        memory_bytes(SHAPE, pairs, 100) < memory_bytes(SHAPE, pairs, 200) < memory_bytes((20, 30, 40, 20), pairs, 200)
    )
