"""Annealed schedules: what they cost, when they anneal, and that a second start plays the same game."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.games import triples
from tests.noise import NoNoise, SeededNoise

from equipoise.algorithms import Setting, create
from equipoise.audit.book import MemoryBook
from equipoise.core import Move
from equipoise.errors import SettingError
from equipoise.game.error_bars import error_bars
from equipoise.game.loop import Outcome, play
from equipoise.privacy.accountant import cost
from equipoise.privacy.events import Exponential, Gaussian
from equipoise.privacy.gate import Gate
from equipoise.queries.played import Played
from equipoise.query_players.annealed import Annealed
from equipoise.query_players.best_marginal import BestMarginal

RHO = Fraction(1, 2)
SCORES = ["largest", "largest_less_noise", "total_less_noise"]


def play_it(
    noise: Any, *, rho: Fraction = RHO, stored: list[Move] | None = None, unit: int = 1, **options: Any
) -> tuple[Outcome, MemoryBook, Any]:
    game = triples()
    setting = Setting(game.workload, game.num_rows, rho, None, unit, 2**30)
    algorithm = create("pep", {"schedule": "annealed", "num_rounds": 40} | options)
    plan = algorithm.plan(setting)
    players = algorithm.players(setting, plan)
    book = MemoryBook(plan.reserve, unit, stored=list(stored or []))
    outcome = play(
        gate=Gate(book, noise=noise),
        truth=game.truth(),
        workload=game.workload,
        query_player=players.query_player,
        data_player=players.data_player,
        num_rounds=plan.num_rounds,
        seed=3,
    )
    return outcome, book, (plan, players)


def one_unit() -> BestMarginal:
    return BestMarginal(
        num_rows=2000,
        sensitivity_squared=2,
        sensitivity=2,
        selection_epsilon=Fraction(1, 7),
        measurement_stddev=31.4,
        repeats=True,
    )


def price(player: BestMarginal) -> tuple[Fraction, Fraction]:
    assert player.measurement_stddev is not None
    measured = Gaussian(Fraction(2), Fraction(player.measurement_stddev) ** 2)
    return cost(Exponential(player.selection_epsilon)).rho, cost(measured).rho


@given(st.integers(1, 10**6))
def test_a_round_costs_its_units_and_no_more(units: int) -> None:
    """Exactly, when it is a power of four; else within a millionth below."""
    for one, several in zip(price(one_unit()), price(Annealed(one_unit(), units).round_of(units)), strict=True):
        assert units * one * (1 - Fraction(1, 10**6)) <= several <= units * one


@pytest.mark.parametrize("level", range(8))
def test_powers_of_four_cost_exactly_their_units(level: int) -> None:
    for one, several in zip(price(one_unit()), price(Annealed(one_unit(), 4**level).round_of(4**level)), strict=True):
        assert several == 4**level * one


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("unit", [1, 3])
def test_the_run_spends_the_reserve_and_no_more(score: str, unit: int) -> None:
    _, book, (plan, _) = play_it(SeededNoise(0), score=score, unit=unit)
    assert (1 - Fraction(1, 10**6)) * plan.cost.rho <= book.spent.rho <= plan.cost.rho <= RHO


def test_rounds_get_better_and_fewer() -> None:
    """Repeated measurements of four small marginals soon teach nothing new: later rounds have less noise."""
    outcome, _, (plan, _) = play_it(SeededNoise(1))
    stddevs = [float(move.stddev) for move in outcome.moves]
    assert len(outcome.moves) < plan.num_rounds
    assert stddevs[0] > stddevs[-1]
    assert stddevs == sorted(stddevs, reverse=True)


def state_after(moved: float) -> Any:
    """A schedule's second round, when the first moved one answer of the model by so many counts."""
    game = triples()
    player = Annealed(one_unit(), 40)
    ids = np.arange(18, dtype=np.int64)

    class Still:
        def __init__(self, answers: np.ndarray) -> None:
            self.answers, self.workload = answers, game.workload

    before = np.full(game.workload.num_queries, 0.01)
    after = before.copy()
    after[0] += moved / 2000
    first: Played = Still(before)  # type: ignore[assignment]
    second: Played = Still(after)  # type: ignore[assignment]
    move = Move(ids, np.zeros(18, dtype=np.int64), np.zeros(18, dtype=np.int64), 31.4)
    return player._judge(player.recall(player.init(game.truth()), first, move), second)


def test_a_round_that_moves_less_than_its_noise_quadruples_the_next() -> None:
    noise = 31.4 * (2 / np.pi) ** 0.5 * 18
    assert state_after(0.99 * noise).units == 4
    assert state_after(1.01 * noise).units == 1


@pytest.mark.parametrize("killed_after", [1, 3, 5])
def test_a_second_start_goes_on_with_the_same_schedule(killed_after: int) -> None:
    """Killed after some moves: the rest is what an uninterrupted game plays, and nothing is paid for twice."""
    whole, book, _ = play_it(NoNoise())
    assert len(whole.moves) > killed_after
    rest, again, (plan, _) = play_it(NoNoise(), stored=book.stored[:killed_after])
    for ours, theirs in zip(rest.moves, whole.moves, strict=True):
        assert np.array_equal(ours.ids, theirs.ids)
        assert ours.stddev == theirs.stddev
    paid_before = [price for _, price in book.charged[: 2 * killed_after]]
    assert sum((p.rho for p in paid_before), Fraction(0)) + again.spent.rho == book.spent.rho <= plan.cost.rho


def test_a_finished_game_is_replayed_and_stops_where_it_stopped() -> None:
    whole, book, _ = play_it(SeededNoise(2))
    replay, again, _ = play_it(NoNoise(), stored=book.stored)
    assert len(replay.moves) == len(whole.moves)
    assert again.charged == []
    assert np.array_equal(replay.distribution.marginal((0, 1, 2)), whole.distribution.marginal((0, 1, 2)))


def test_error_bars_hold_for_the_plain_score_and_are_not_claimed_for_others() -> None:
    game = triples()
    outcome, _, (_, players) = play_it(SeededNoise(4))
    assert players.evidence is not None
    bars = error_bars(outcome, game.workload, game.num_rows, players.evidence)
    assert (np.abs(game.workload.on(outcome.distribution) - game.counts() / game.num_rows) <= bars).all()
    for score in SCORES[1:]:
        assert play_it(SeededNoise(4), score=score)[2][1].evidence is None


def test_it_needs_marginals_and_a_concentrated_budget() -> None:
    game = triples()
    with pytest.raises(SettingError, match="annealed"):
        create("pep", {"schedule": "annealed"}).plan(Setting(game.workload, 2000, None, Fraction(1), 1, 2**30))
    with pytest.raises(SettingError, match="annealed"):
        create("gem", {"schedule": "annealed", "moves": "cell"}).plan(Setting(game.workload, 2000, RHO, None, 1, 2**30))
