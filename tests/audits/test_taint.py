"""What comes out is a function of the moves alone: with them given, the truth makes no difference to a single bit."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.games import triples
from tests.noise import NoNoise, SeededNoise
from tests.public_tables import sister

from equipoise.algorithms import ALGORITHMS, Plan, Setting, create
from equipoise.audit.book import MemoryBook
from equipoise.data.rules import Rules
from equipoise.data_players.ruled import obeying
from equipoise.game.error_bars import error_bars
from equipoise.game.loop import Outcome, play
from equipoise.privacy import Private
from equipoise.privacy.gate import Gate

METHODS = sorted(cls.name for cls in ALGORITHMS)
RULES = Rules((3, 3, 2, 4), ({0: np.array([True, False, False]), 1: np.array([False, False, True])},))
"""Obeyed by the table, whose first column is never two below its second."""
FEWER_ROUNDS = {name: {"num_rounds": 10} for name in ("fem", "sep_fem", "oracle_query")} | {"dqrs": {"num_rounds": 20}}
NEEDS_PUBLIC_DATA = {name for name in METHODS if name.endswith("_pub")}


def play_it(method: str, book: MemoryBook | None, truth: Private | None, noise: Any) -> tuple[Outcome, MemoryBook, Any]:
    game = triples()
    public = sister() if method in NEEDS_PUBLIC_DATA else None
    setting = Setting(game.workload, game.num_rows, Fraction(1, 2), None, 1, 2**30, public)
    algorithm = create(method, FEWER_ROUNDS.get(method))
    plan = algorithm.plan(setting)
    players = algorithm.players(setting, plan)
    kept = MemoryBook(plan.reserve) if book is None else book
    counts = plan.asked.count_rows(game.rows.astype(np.uint8))
    outcome = play(
        gate=Gate(kept, noise=noise),
        truth=Private(counts, plan.asked) if truth is None else truth,
        workload=plan.asked,
        query_player=players.query_player,
        data_player=obeying(players.data_player, RULES),
        num_rounds=plan.num_rounds,
        seed=3,
    )
    bars = None if players.evidence is None else error_bars(outcome, plan.asked, game.num_rows, players.evidence)
    return outcome, kept, (plan, bars)


def as_planned(method: str, book: MemoryBook, plan: Plan) -> bool:
    """DQRS decides by what it kept how much it draws: at most what was planned. Others spend exactly that."""
    if method == "dqrs":
        return plan.cost.rho / 2 < book.spent.rho <= plan.cost.rho
    return bool(book.spent.rho == plan.cost.rho)


@pytest.mark.parametrize("method", METHODS)
def test_the_outcome_depends_on_the_moves_alone(method: str) -> None:
    first, book, (plan, bars) = play_it(method, None, None, SeededNoise(1))
    assert as_planned(method, book, plan), "the ledger must end where the plan said"
    nonsense = Private(np.full(plan.asked.num_queries, 10**6), plan.asked)
    replayed = MemoryBook(plan.reserve, stored=list(book.stored))
    second, _, (_, again) = play_it(method, replayed, nonsense, NoNoise())
    here, there = first.distribution.to_arrays(), second.distribution.to_arrays()
    assert here.keys() == there.keys()
    for name in here:
        assert np.array_equal(here[name], there[name])
    if bars is not None:
        assert np.array_equal(bars, again)


@pytest.mark.parametrize("method", METHODS)
def test_a_resumed_game_is_the_same_game(method: str) -> None:
    """Half of the moves found in the ledger, the rest played: as if nothing had happened."""
    whole, book, (plan, _) = play_it(method, None, None, SeededNoise(1))
    if len(book.stored) < 2:
        pytest.skip("one move: nothing to interrupt")
    half = len(book.stored) // 2
    seeded = SeededNoise(1)
    resumed = MemoryBook(
        plan.reserve,
        stored=list(book.stored[:half]),
        charged=list(book.charged[: book.ends[half - 1]]),
    )
    outcome, kept, _ = play_it(method, resumed, None, seeded)
    assert len(kept.stored) == len(book.stored)
    assert as_planned(method, kept, plan)
    for before, after in zip(book.stored[:half], kept.stored[:half], strict=True):
        assert np.array_equal(before.ids, after.ids)
    assert len(outcome.moves) == len(whole.moves)
