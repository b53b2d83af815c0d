"""What comes out is a function of the moves alone: with them given, the truth makes no difference to a single bit."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.book import MemoryBook
from tests.games import triples
from tests.noise import NoNoise, SeededNoise

from equipoise.algorithms import ALGORITHMS, Setting, create
from equipoise.game.error_bars import error_bars
from equipoise.game.loop import Outcome, play
from equipoise.privacy import Private
from equipoise.privacy.gate import Gate

NEEDS_PUBLIC_DATA = {"pmw_pub", "pep_pub", "gem_pub"}
METHODS = sorted(cls.name for cls in ALGORITHMS if cls.name not in NEEDS_PUBLIC_DATA)


def play_it(method: str, book: MemoryBook | None, truth: Private | None, noise: Any) -> tuple[Outcome, MemoryBook, Any]:
    game = triples()
    setting = Setting(game.workload, game.num_rows, Fraction(1, 2), None, 1, 2**30)
    algorithm = create(method)
    plan = algorithm.plan(setting)
    players = algorithm.players(setting, plan)
    kept = MemoryBook(plan.reserve) if book is None else book
    counts = plan.asked.count_rows(game.rows.astype(np.uint8))
    outcome = play(
        gate=Gate(kept, noise=noise),
        truth=Private(counts, plan.asked) if truth is None else truth,
        workload=plan.asked,
        query_player=players.query_player,
        data_player=players.data_player,
        num_rounds=plan.num_rounds,
        seed=3,
    )
    bars = None if players.evidence is None else error_bars(outcome, plan.asked, game.num_rows, players.evidence)
    return outcome, kept, (plan, bars)


@pytest.mark.parametrize("method", METHODS)
def test_the_outcome_depends_on_the_moves_alone(method: str) -> None:
    first, book, (plan, bars) = play_it(method, None, None, SeededNoise(1))
    assert book.spent.rho == plan.cost.rho, "the ledger must end where the plan said"
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
        charged=list(book.charged[: len(book.charged) * half // len(book.stored)]),
    )
    outcome, kept, _ = play_it(method, resumed, None, seeded)
    assert len(kept.stored) == len(book.stored)
    assert kept.spent.rho == plan.cost.rho
    for before, after in zip(book.stored[:half], kept.stored[:half], strict=True):
        assert np.array_equal(before.ids, after.ids)
    assert len(outcome.moves) == len(whole.moves)
