"""Draws that are remembered: what they are worth now, against the query player's own weights."""

from __future__ import annotations

import numpy as np
import pytest
from tests.games import triples

from equipoise.core import Move
from equipoise.data.domain import Domain
from equipoise.data_players import remembered
from equipoise.data_players.best_records import BestRecords
from equipoise.data_players.remembered import Remembered, held, recall, remember, update
from equipoise.oracles.branch_and_bound import BranchAndBound
from equipoise.queries.workload import Group, Workload

RNG = np.random.default_rng


def drawn(ids: list[int], signs: list[int], change: list[float] | None = None) -> Remembered:
    zeros = np.zeros(len(ids))
    return Remembered(np.array(ids), np.array(signs), zeros, zeros if change is None else np.array(change))


def test_shares_are_those_of_the_workload_for_cells_and_for_ranges() -> None:
    game = triples()
    codes = game.rows[:, :50].astype(np.uint8)
    ids = np.array([0, 3, 17, 3])
    assert held(game.workload, ids, codes).tolist() == pytest.approx(game.workload.on_rows(codes)[ids].tolist())
    prefixes = Workload(Domain(("x", "y"), (5, 2)), (Group((0,), (5,), (np.tri(4, 5, dtype=bool),)),))
    rows = np.array([[0, 1, 4, 2], [0, 0, 1, 1]], dtype=np.uint8)
    assert held(prefixes, np.array([0, 2]), rows).tolist() == [0.25, 0.75]


def test_a_draw_is_worth_what_its_query_weighs_when_the_truth_is_what_was_expected() -> None:
    """With the table's answers in the place of the expected ones the factors are those of the weights, exactly."""
    game = triples()
    truth = game.counts() / game.num_rows
    rate, rng = 1.5, RNG(3)
    rounds = [rng.integers(2, size=(4, 5)).astype(np.uint8) for _ in range(6)]
    ids, signs = np.array([0, 1, 5, 5]), np.array([1, -1, 1, -1])
    heard = (Remembered(ids, signs, truth[ids], np.zeros(4)),)
    for codes in rounds:
        heard = update(game.workload, heard, codes, np.full(game.workload.num_queries, rate))
    exponents = rate * sum(truth - game.workload.on_rows(codes) for codes in rounds)
    assert heard[0].change.tolist() == pytest.approx((signs * exponents[ids]).tolist())


def test_what_was_played_lately_is_expected() -> None:
    game = triples()
    old, new = np.zeros((4, 2), dtype=np.uint8), np.ones((4, 2), dtype=np.uint8)
    move = Move(np.arange(4), np.ones(4, dtype=np.int64), None, 0.0)
    both = remember(game.workload, move, [old, new]).expected
    assert both.tolist() == pytest.approx(game.workload.on_rows(np.concatenate([old, new], axis=1))[:4].tolist())
    lately = remember(game.workload, move, [old, *[new] * remembered.REFERENCE]).expected
    assert lately.tolist() == pytest.approx(game.workload.on_rows(new)[:4].tolist())


def test_few_rounds_are_heard_alike_and_many_by_their_weights() -> None:
    heard = [drawn([k], [1], [float(k)]) for k in range(6)]
    ids, _, weights = recall(heard, num_rounds=remembered.LEAST_REFERENCE - 1)
    assert (ids.tolist(), weights.tolist()) == ([2, 3, 4, 5], [1.0] * 4)
    ids, signs, weights = recall(heard, num_rounds=remembered.LEAST_REFERENCE)
    assert (ids.tolist(), signs.tolist()) == ([0, 1, 2, 3, 4, 5], [1] * 6)
    assert weights.sum() == pytest.approx(remembered.SHORT)
    assert (weights / weights[0]).tolist() == pytest.approx(np.exp([0, 1, 2, 3, 3, 3]).tolist())  # 4 and 5 are cut


def test_a_light_query_changes_its_weight_more_slowly() -> None:
    domain = Domain(("x", "y"), (2, 2))
    workload = Workload(domain, (Group((0,), (2,), weight=1), Group((1,), (2,), weight=4)))
    player = BestRecords(workload, BranchAndBound(), rate=2.0, memory=3)
    assert player._rates.tolist() == [0.5, 0.5, 2.0, 2.0]


def test_a_player_keeps_its_newest_draws_with_what_they_are_worth() -> None:
    """Two queries that exclude each other, drawn in turn: what the record answers falls, the other rises."""
    workload = Workload(Domain(("x",), (2,)), (Group((0,), (2,)),))
    player = BestRecords(workload, BranchAndBound(), memory=8, rate=1.0)
    state = player.init(RNG(0))
    moves: list[Move] = []
    for number in range(40):
        moves.append(Move(np.array([number % 2]), np.ones(1, dtype=np.int64), None, 0.0))
        state = player.step(RNG(number), state, moves)
    assert [int(each.ids[0]) for each in state.heard] == [0, 1] * 4
    played = np.concatenate(state.rounds[1:], axis=1)[0]
    for age, each in enumerate(reversed(state.heard)):
        before, since = played[: 39 - age], played[39 - age :]
        expected = (before == each.ids[0]).mean()
        assert each.change[0] == pytest.approx(len(since) * expected - (since == each.ids[0]).sum())
    assert 10 < played.sum() < 30, "both are answered, in turn"
