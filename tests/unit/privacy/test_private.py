from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from tests.games import pairs

from equipoise.privacy import Private
from equipoise.privacy.private import GRID, reveal

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
