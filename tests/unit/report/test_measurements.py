"""Measurements by query and by marginal: weights, sums, and what stays unknown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.report.releases import NUM_ROWS, made_up

from equipoise.core import Move
from equipoise.data.schema import Schema
from equipoise.data.whole import Codes
from equipoise.report import Subject
from equipoise.report.measurements import collect, singles


def move(ids: list[int], values: list[int], stddev: float) -> Move:
    return Move(np.array(ids), np.zeros(len(ids), dtype=np.int64), np.array(values), stddev)


@pytest.fixture
def subject() -> Subject:
    schema = Schema("game", (Codes(name="a", size=2), Codes(name="b", size=3)))
    return made_up(schema, [("a",), ("a", "b")])


def test_a_query_measured_twice_has_the_mean_weighted_by_precision(subject: Subject) -> None:
    found = collect(replace(subject, moves=(move([0], [1000], 100.0), move([0], [1500], 50.0))))
    assert found.values[0] == pytest.approx((1000 / 100**2 + 1500 / 50**2) / (1 / 100**2 + 1 / 50**2) / NUM_ROWS)
    assert found.stddevs[0] == pytest.approx((1 / 100**2 + 1 / 50**2) ** -0.5 / NUM_ROWS)
    assert np.isnan(found.values[1:]).all()


def test_a_whole_marginal_gives_smaller_ones_by_adding_up(subject: Subject) -> None:
    found = collect(replace(subject, moves=(move([2, 3, 4, 5, 6, 7], [10, 20, 30, 40, 50, 60], 7.0),)))
    first, second = found.marginal((0,)), found.marginal((1,))
    assert first is not None
    assert second is not None
    np.testing.assert_allclose(first.values * NUM_ROWS, [60, 150])
    np.testing.assert_allclose(first.stddevs * NUM_ROWS, 7 * np.sqrt(3))
    np.testing.assert_allclose(second.values * NUM_ROWS, [50, 70, 90])


def test_the_least_noisy_source_is_taken(subject: Subject) -> None:
    whole = move([2, 3, 4, 5, 6, 7], [10, 20, 30, 40, 50, 60], 7.0)
    direct = collect(replace(subject, moves=(whole, move([0, 1], [1, 2], 3.0)))).marginal((0,))
    summed = collect(replace(subject, moves=(whole, move([0, 1], [1, 2], 99.0)))).marginal((0,))
    assert direct is not None
    assert summed is not None
    np.testing.assert_allclose(direct.values * NUM_ROWS, [1, 2])
    np.testing.assert_allclose(summed.values * NUM_ROWS, [60, 150])


def test_cells_of_a_marginal_that_was_measured_in_part_stay_unknown(subject: Subject) -> None:
    found = collect(replace(subject, moves=(move([3], [20], 7.0),)))
    assert found.marginal((0,)) is None
    pair = found.marginal((0, 1))
    assert pair is not None
    assert np.isfinite(pair.values).sum() == 1
    np.testing.assert_array_equal(found.touched((0,)), [True, False])
    np.testing.assert_array_equal(found.touched((1,)), [False, True, False])


def test_singles_keep_the_order_and_the_round(subject: Subject) -> None:
    silent = Move(np.array([1]), np.array([1]), None, 0.0)
    single = singles(replace(subject, moves=(move([5, 2], [4, 5], 1.0), silent, move([0], [6], 2.0))))
    assert single.ids.tolist() == [5, 2, 0]
    assert single.rounds.tolist() == [1, 1, 3]
    np.testing.assert_allclose(single.stddevs * NUM_ROWS, [1, 1, 2])


def test_nothing_measured(subject: Subject) -> None:
    found = collect(replace(subject, moves=()))
    assert found.marginal((0,)) is None
    assert not found.touched((0, 1)).any()
