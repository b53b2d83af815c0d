from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest
from tests.games import pairs

from equipoise.data.domain import Domain
from equipoise.privacy import Private
from equipoise.privacy.private import GRID, reveal
from equipoise.queries.workload import Group, Workload

CANARY = 987_654


@pytest.fixture
def truth() -> Private:
    game = pairs()
    return Private(game.counts() + CANARY, game.workload)


def test_nothing_shows_the_counts(truth: Private) -> None:
    assert str(CANARY) not in repr(truth) + str(truth) + f"{truth}"
    for attempt in (
        lambda: pickle.dumps(truth),
        lambda: copy.deepcopy(truth),
        lambda: np.asarray(truth),
        lambda: list(truth),
        lambda: truth[0],
        lambda: bool(truth),
        lambda: float(truth),
        lambda: int(truth),
        lambda: truth == truth,
        lambda: truth < 3,
        lambda: hash(truth),
    ):
        with pytest.raises(TypeError, match="private values cannot be") as error:
            attempt()
        assert str(CANARY) not in str(error.value)


def test_distance_is_exact_on_the_grid_and_keeps_the_sensitivity(truth: Private) -> None:
    public = np.linspace(0, 5, truth.num_values)
    scores = truth.distance(public)
    assert scores.linf_sensitivity == GRID
    expected = np.abs(reveal(truth) * GRID - np.rint(public * GRID).astype(np.int64))
    assert np.array_equal(reveal(scores), expected)


def test_weights_scale_the_sensitivity(truth: Private) -> None:
    weights = np.arange(1, truth.num_values + 1)
    weighted = truth.distance(np.zeros(truth.num_values)).weighted(weights)
    assert weighted.linf_sensitivity == GRID * truth.num_values


def test_take_keeps_ids_and_narrows_norms(truth: Private) -> None:
    # ids 0, 1 are the marginal of a; 2..7 the joint one.
    assert truth.norms.l2_squared == 4
    some = truth.take(np.array([5, 2, 7]))
    assert some.ids.tolist() == [5, 2, 7]
    assert some.norms.l2_squared == 2
    again = some.take(np.array([7]))
    assert again.ids.tolist() == [7]
    assert again.norms.l2_squared == 1
    assert reveal(again)[0] == reveal(truth)[7]


def test_a_distance_has_no_distance(truth: Private) -> None:
    scores = truth.distance(np.zeros(truth.num_values))
    with pytest.raises(TypeError):
        scores.distance(np.zeros(truth.num_values))


def test_a_part_of_a_part_keeps_everything(truth: Private) -> None:
    scores = truth.distance(np.zeros(truth.num_values)).weighted(np.full(truth.num_values, 3))
    part = scores.take(np.array([6, 1, 4])).take(np.array([4, 6]))
    assert part.ids.tolist() == [4, 6]
    assert (part.unit, part.linf_sensitivity) == (scores.unit, scores.linf_sensitivity) == (GRID, 3 * GRID)
    assert reveal(part).tolist() == [int(reveal(scores)[4]), int(reveal(scores)[6])]


def test_weights_of_one_change_nothing(truth: Private) -> None:
    same = truth.weighted(np.ones(truth.num_values, dtype=np.int64))
    assert same.linf_sensitivity == truth.linf_sensitivity
    assert np.array_equal(reveal(same), reveal(truth))


def test_maxima_sums_and_totals_have_the_sensitivity_of_what_they_are_made_of(truth: Private) -> None:
    """The workload is the marginal of a (2 cells) and the joint one (6): a record moves 2 cells of each."""
    weighted = truth.distance(np.zeros(8)).weighted(np.full(8, 5))
    starts = np.array([0, 2, 8])
    assert weighted.maxima(starts).linf_sensitivity == 5 * GRID
    assert weighted.sums(starts).linf_sensitivity == 2 * 5 * GRID
    assert weighted.total().linf_sensitivity == 4 * 5 * GRID
    assert weighted.largest().linf_sensitivity == 5 * GRID
    assert weighted.less(np.ones(8)).linf_sensitivity == 5 * GRID
    assert truth.whole_distance(np.ones(8)).linf_sensitivity == 1
    assert truth.payoffs(np.zeros(8), times=7).linf_sensitivity == 7 * GRID
    assert truth.payoffs(np.zeros(8), times=7).num_values == 16
    assert [weighted.maxima(starts).norms.l1, weighted.sums(starts).norms.l1] == [2, 4]
    assert [weighted.maxima(starts).norms.l2_squared, weighted.sums(starts).norms.l2_squared] == [2, 8]
    assert np.array_equal(reveal(weighted.less(np.ones(8))), reveal(weighted) - GRID)


def test_a_distance_of_some_counts_knows_which(truth: Private) -> None:
    some = truth.take(np.array([3, 1]))
    scores = some.distance(np.array([0.0, 0.5]))
    assert scores.ids.tolist() == [3, 1]
    assert scores.take(np.array([1])).ids.tolist() == [1]
    assert reveal(scores.take(np.array([1])))[0] == abs(int(reveal(some)[1]) * GRID - GRID // 2)
    assert some.weighted(np.array([2, 3])).ids.tolist() == [3, 1]
    assert truth.distance(np.zeros(truth.num_values)).ids.tolist() == list(range(truth.num_values))


def test_one_number_made_of_many_is_one_count(truth: Private) -> None:
    for made in (truth.total(), truth.largest(), truth.whole_distance(np.zeros(truth.num_values))):
        assert (made.num_values, made.unit, made.ids.tolist()) == (1, 1, [0])
        assert made.norms.l1 == made.norms.linf == made.linf_sensitivity
    assert truth.total().linf_sensitivity == truth.norms.l1
    assert truth.largest().linf_sensitivity == truth.whole_distance(np.zeros(truth.num_values)).linf_sensitivity == 1


def test_agreements_are_counted_as_their_words_say() -> None:
    """Of each pair, the largest error of "both or neither"; of other marginals, of a cell."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, (2, 50))
    workload = Workload(Domain(("a", "b"), (3, 3)), (Group((0, 1), (3, 3)), Group((1,), (3,))))
    public = rng.uniform(0, 10, 12).round()
    scores = reveal(Private(_counted(rows), workload).agreements(public, [(3, 3), (3,)]))
    played = public[:9].reshape(3, 3)
    off = []
    for i, j in np.ndindex(3, 3):
        agree = played[i, j] + np.delete(np.delete(played, i, axis=0), j, axis=1).sum()
        off.append(abs(((rows[0] == i) == (rows[1] == j)).sum() - agree))
    assert scores.tolist() == [GRID * max(off), GRID * np.abs(_counted(rows)[9:] - public[9:]).max()]


def test_an_agreement_moves_by_at_most_one_record_and_by_one() -> None:
    """On every neighbour of random tables; a cell's error doubled, which looks alike, would move by two."""
    rng = np.random.default_rng(1)
    workload = Workload(Domain(("a", "b"), (3, 3)), (Group((0, 1), (3, 3)), Group((1,), (3,))))
    moved, doubled = 0, 0
    for _ in range(40):
        rows, public = rng.integers(0, 3, (2, 5)), rng.uniform(0, 3, 12)
        truth = Private(_counted(rows), workload)
        scores = truth.agreements(public, [(3, 3), (3,)])
        assert scores.linf_sensitivity == GRID
        cells = reveal(truth.distance(public).maxima(np.array([0, 9, 12])))
        for record, a, b in itertools.product(range(5), range(3), range(3)):
            others = rows.copy()
            others[:, record] = a, b
            other = Private(_counted(others), workload)
            change = np.abs(reveal(other.agreements(public, [(3, 3), (3,)])) - reveal(scores)).max()
            moved = max(moved, int(change))
            other_cells = reveal(other.distance(public).maxima(np.array([0, 9, 12])))
            doubled = max(doubled, 2 * int(np.abs(other_cells - cells).max()))
    assert moved == GRID
    assert doubled == 2 * GRID


def test_agreements_are_of_whole_marginals_of_a_whole_workload(truth: Private) -> None:
    with pytest.raises(TypeError, match="whole marginals"):
        truth.agreements(np.zeros(8), [(2,), (2, 2)])
    with pytest.raises(TypeError, match="whole workload"):
        truth.take(np.array([0, 1])).agreements(np.zeros(2), [(2,)])


def _counted(rows: np.ndarray) -> np.ndarray:
    pair = np.bincount(3 * rows[0] + rows[1], minlength=9)
    return np.concatenate([pair, np.bincount(rows[1], minlength=3)])
