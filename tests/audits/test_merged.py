"""The law of moves on merged columns, enumerated on neighbouring tables, after what the first move happened to say.

False-alarm probabilities: none, everything is computed.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.audits.test_top_up import Script
from tests.book import MemoryBook
from tests.games import TinyGame
from tests.noise import SeededNoise

from equipoise.core import Move
from equipoise.data.distributions import Histogram
from equipoise.data.domain import Domain
from equipoise.errors import BudgetError
from equipoise.privacy.accountant import Cost
from equipoise.privacy.gate import Gate
from equipoise.privacy.private import Private, reveal
from equipoise.queries.played import Played
from equipoise.queries.workload import Group, Workload
from equipoise.query_players.best_marginal import BestMarginal
from equipoise.query_players.measure_static import MeasureStatic
from equipoise.query_players.measure_unsure import MeasureUnsure
from equipoise.query_players.merged import Merged, MergedState
from equipoise.query_players.top_up import TopUp

STDDEV = 2.0
VALUES = range(-13, 21)
"""Noisy counts: beyond them lies less than 1e-7 of the probability."""

DOMAIN = Domain(("a", "b"), (3, 3))
ASKED = Workload(DOMAIN, (Group((0, 1), (3, 3)), Group((0,), (3,)), Group((1,), (3,))))
SETS = ((0,), (1,))
FIRSTS = ((600, 1, 1, 1, 600, 1), (1, 600, 1, 1, 1, 600))
"""Two outcomes of the first move: what is merged in each column differs."""

PLAYER = Merged(
    asked=ASKED,
    num_rows=8,
    most=2,
    first=MeasureStatic(stddevs=(None, STDDEV, STDDEV), sensitivities=(2, 2, 2)),
    unsure=MeasureUnsure(num_rows=8, wanted=SETS, known=STDDEV, stddev=STDDEV, num_times=1),
    later=TopUp(
        MeasureStatic(stddevs=(STDDEV, None), sensitivities=(2, 2)),
        BestMarginal(
            num_rows=8,
            sensitivity_squared=2,
            sensitivity=2,
            selection_epsilon=Fraction(1, 2),
            measurement_stddev=STDDEV,
            score="agreement",
            repeats=True,
            candidates=(0, 1),
        ),
    ),
    column_sets=SETS,
)
GAME = TinyGame(ASKED, np.array([[0] * 5 + [1] * 2 + [2], [0] * 4 + [1] * 4]))
PLAYED = Played(Histogram(np.full((3, 3), 1 / 9)), ASKED)


def merged_first(rows: np.ndarray, first: tuple[int, ...]) -> MergedState:
    """The state after that first move."""
    ids = np.arange(9, 15)
    return PLAYER.recall(PLAYER.init(GAME.truth(rows)), PLAYED, Move(ids, np.zeros_like(ids), np.array(first), STDDEV))


def after(rows: np.ndarray, first: tuple[int, ...], *, measured: bool) -> MergedState:
    """The state after that first move and one of what is least sure, and after the planned one if `measured`."""
    seen = Move(np.array([15, 16]), np.zeros(2, dtype=np.int64), np.array([4, 4]), STDDEV)
    state = PLAYER.recall(merged_first(rows, first), PLAYED, seen)
    assert state.later is not None
    return state._replace(later=state.later._replace(is_measured=True)) if measured else state


def log_probability(state: MergedState, chosen: int, values: tuple[int, int], sabotage: float) -> tuple[float, float]:
    """Of a later move, and what it was charged."""
    noise, book = Script(chosen, values, sabotage), MemoryBook(Cost(Fraction(10), None))
    _, move = PLAYER.step(Gate(book, noise=noise), state, PLAYED)
    assert move.ids.min() >= ASKED.num_queries
    return noise.log_probability, float(book.spent.rho)


def divergence(first: tuple[int, ...], sabotage: float, *, measured: bool, order: float = 2.0) -> tuple[float, float]:
    """Rényi divergence of the move's laws, the larger over all neighbours, and what it was charged."""
    outcomes = list(itertools.product((0, 1) if measured else (0,), itertools.product(VALUES, repeat=2)))
    state = after(GAME.rows, first, measured=measured)
    ours = [log_probability(state, *outcome, sabotage) for outcome in outcomes]
    logs = np.array([log for log, _ in ours])
    assert np.exp(logs).sum() == pytest.approx(1, abs=1e-6)
    found = []
    for record in ((1, 1), (2, 2), (1, 0)):
        state = after(GAME.neighbour(record), first, measured=measured)
        others = np.array([log_probability(state, *outcome, sabotage)[0] for outcome in outcomes])
        found.append(float(np.logaddexp.reduce(order * logs + (1 - order) * others)) / (order - 1))
    return max(found), ours[0][1]


def divergence_of_unsure(first: tuple[int, ...], sabotage: float) -> tuple[float, float]:
    """Of the second move: the larger Rényi divergence over all neighbours, and what it was charged."""

    def logs(rows: np.ndarray) -> tuple[np.ndarray, float]:
        state, found = merged_first(rows, first), []
        for values in itertools.product(VALUES, repeat=2):
            noise, book = Script(0, values, sabotage), MemoryBook(Cost(Fraction(10), None))
            PLAYER.step(Gate(book, noise=noise), state, PLAYED)
            found.append(noise.log_probability)
        return np.array(found), float(book.spent.rho)

    ours, rho = logs(GAME.rows)
    assert np.exp(ours).sum() == pytest.approx(1, abs=1e-6)
    theirs = [logs(GAME.neighbour(record))[0] for record in ((1, 1), (2, 2), (1, 0), (0, 2))]
    return max(float(np.logaddexp.reduce(2.0 * ours - other)) for other in theirs), rho


@pytest.mark.parametrize("first", FIRSTS)
def test_measuring_what_is_least_sure_costs_at_most_what_it_is_charged(first: tuple[int, ...]) -> None:
    found, rho = divergence_of_unsure(first, 1.0)
    assert 0.4 * 2.0 * rho < found <= 2.0 * rho * (1 + 1e-6)


def test_half_the_noise_of_what_is_least_sure_would_be_caught() -> None:
    """Negative control."""
    found, rho = divergence_of_unsure(FIRSTS[0], 0.5)
    assert found > 1.5 * 2.0 * rho


def test_every_repeated_measurement_is_charged_for() -> None:
    """Two columns, measured five times between them, are five events; with a reservation for four nothing is said."""
    ids = np.arange(9, 15)
    first = Move(ids, np.zeros_like(ids), np.array(FIRSTS[0]), STDDEV)
    assert PLAYER.unsure is not None
    player = replace(PLAYER, unsure=replace(PLAYER.unsure, num_times=5))
    state = player.recall(player.init(GAME.truth(GAME.rows)), PLAYED, first)
    one = Fraction(2) / (2 * Fraction(STDDEV) ** 2)
    book = MemoryBook(Cost(5 * one, None))
    _, move = player.step(Gate(book, noise=SeededNoise(0)), state, PLAYED)
    assert book.spent.rho == 5 * one
    assert len(move.ids) == 4
    short = MemoryBook(Cost(4 * one, None))
    with pytest.raises(BudgetError):
        player.step(Gate(short, noise=SeededNoise(0)), state, PLAYED)
    assert not short.stored


@pytest.mark.parametrize("first", FIRSTS)
def test_what_is_least_sure_follows_from_the_first_move_alone(first: tuple[int, ...]) -> None:
    """Neighbouring tables, the same first move: the same marginals, as often."""
    moves = []
    for rows in (GAME.rows, GAME.neighbour((1, 1)), GAME.neighbour((2, 0))):
        book = MemoryBook(Cost(Fraction(10), None))
        moves.append(PLAYER.step(Gate(book, noise=SeededNoise(0)), merged_first(rows, first), PLAYED)[1])
    for move in moves[1:]:
        np.testing.assert_array_equal(move.ids, moves[0].ids)
        np.testing.assert_array_equal(move.stddev, moves[0].stddev)


@pytest.mark.parametrize("first", FIRSTS)
@pytest.mark.parametrize("measured", [False, True])
def test_a_move_on_merged_columns_costs_at_most_what_it_is_charged(first: tuple[int, ...], measured: bool) -> None:
    found, rho = divergence(first, 1.0, measured=measured)
    assert 0.4 * 2.0 * rho < found <= 2.0 * rho * (1 + 1e-6)


@pytest.mark.parametrize("measured", [False, True])
def test_half_the_noise_would_be_caught(measured: bool) -> None:
    """Negative control."""
    found, rho = divergence(FIRSTS[0], 0.5, measured=measured)
    assert found > 1.5 * 2.0 * rho


def test_what_is_merged_follows_from_the_first_move_alone() -> None:
    """Neighbouring tables, the same first move: the same parts; another first move: others."""
    for first in FIRSTS:
        here, there = (after(rows, first, measured=False).merging for rows in (GAME.rows, GAME.neighbour((1, 1))))
        assert here is not None
        assert there is not None
        for ours, theirs in zip(here.parts, there.parts, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    parts = [merged_first(GAME.rows, first).merging for first in FIRSTS]
    assert parts[0] is not None
    assert parts[1] is not None
    assert parts[0].parts[0].tolist() != parts[1].parts[0].tolist()


def test_merged_counts_move_by_no_more_than_their_norms() -> None:
    """Every neighbour of random tables, for marginals of one and two merged columns; and so do the scores."""
    rng, sets = np.random.default_rng(4), ((0, 1), (0,), (1,))
    for _ in range(20):
        rows = rng.integers(0, 3, (2, 6))
        ids = np.arange(9, 15)
        move = Move(ids, np.zeros_like(ids), rng.integers(0, 6, 6), 1.0)
        merging = (
            Merged(ASKED, 6, 2, PLAYER.first, PLAYER.unsure, PLAYER.later, sets)
            .recall(MergedState(Private(ASKED.count_rows(rows.astype(np.uint8)), ASKED)), PLAYED, move)
            .merging
        )
        assert merging is not None
        workload, groups = merging.workload(sets), merging.groups(sets)

        def merged(records: np.ndarray, merging=merging, workload=workload, groups=groups) -> Private:  # type: ignore[no-untyped-def]
            counts = Private(ASKED.count_rows(records.astype(np.uint8)), ASKED)
            return counts.merged([0, 9, 12], groups, workload)

        shapes = [group.shape for group in workload.groups]
        guess = rng.uniform(0, 3, workload.num_queries)
        before, scores = merged(rows), reveal(merged(rows).agreements(guess, shapes))
        for record, a, b in itertools.product(range(6), range(3), range(3)):
            others = rows.copy()
            others[:, record] = a, b
            after_ = merged(others)
            moved = reveal(before) - reveal(after_)
            assert np.abs(moved).max(initial=0) <= workload.norms().linf
            assert int((moved**2).sum()) <= workload.norms().l2_squared
            change = np.abs(scores - reveal(after_.agreements(guess, shapes)))
            assert change.max() <= before.agreements(guess, shapes).linf_sensitivity
