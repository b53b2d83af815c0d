from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.games import TinyGame, pairs, triples
from tests.noise import NoNoise, SeededNoise

from equipoise.algorithms import Setting, create
from equipoise.audit.book import MemoryBook
from equipoise.game.loop import Outcome, play
from equipoise.privacy import Private
from equipoise.privacy.gate import Gate

RHO = Fraction(1, 2)


def setting(game: TinyGame, rho: Fraction | None = RHO, epsilon: Fraction | None = None) -> Setting:
    return Setting(game.workload, game.num_rows, rho, epsilon, 1, 2**30)


def play_it(
    options: dict[str, Any], game: TinyGame, noise: Any, book: MemoryBook | None = None, truth: Private | None = None
) -> tuple[Outcome, MemoryBook, Any]:
    where = setting(game)
    algorithm = create("gem", {"num_products": 50, **options})
    plan = algorithm.plan(where)
    players = algorithm.players(where, plan)
    kept = book or MemoryBook(plan.reserve)
    outcome = play(
        gate=Gate(kept, noise=noise),
        truth=game.truth() if truth is None else truth,
        workload=plan.asked,
        query_player=players.query_player,
        data_player=players.data_player,
        num_rounds=plan.num_rounds,
        seed=5,
    )
    return outcome, kept, plan


def test_paper_mode_has_the_papers_parameters() -> None:
    where = setting(triples())
    algorithm = create("gem", {"mode": "paper", "num_rounds": 50})
    plan = algorithm.plan(where)
    players = algorithm.players(where, plan)
    query_player, data_player = players.query_player, players.data_player
    # Selection weights exp(alpha epsilon_0 n |error|) are the exponential mechanism's with parameter 2 alpha epsilon_0,
    # and the noise has standard deviation 1/((1 - alpha) epsilon_0) counts (MECHANISMS 4.3 and E-001-1).
    alpha = 0.67
    epsilon_0 = math.sqrt(2 * RHO / (50 * (alpha**2 + (1 - alpha) ** 2)))
    assert float(query_player.selection_epsilon) == pytest.approx(2 * alpha * epsilon_0, rel=1e-6)
    assert query_player.measurement_stddev == pytest.approx(1 / ((1 - alpha) * epsilon_0), rel=1e-6)
    assert (query_player.num_selected, query_player.repeats, plan.options["moves"]) == (1, False, "cell")
    assert (data_player.learning_rate, data_player.max_steps, data_player.num_products) == (1e-4, 100, 1000)
    assert (data_player.widths, data_player.loss, data_player.resample) == ((512, 1024, 1024), "absolute", False)


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "paper", "num_rounds": 3, "max_steps": 2},
        {"moves": "cell", "num_rounds": 3, "max_steps": 2},
        {"num_rounds": 2, "max_steps": 2},
        {"max_steps": 2},
    ],
)
def test_the_ledger_ends_where_the_plan_said(options: dict[str, Any]) -> None:
    outcome, book, plan = play_it(options, triples(), SeededNoise(0))
    assert len(outcome.moves) == plan.num_rounds
    assert book.spent.rho == plan.cost.rho
    assert 0.99 * RHO <= plan.cost.rho <= RHO


def test_a_pure_budget_is_used_up_exactly() -> None:
    where = setting(triples(), None, Fraction(2))
    plan = create("gem", {"mode": "paper", "num_rounds": 3}).plan(where)
    assert plan.cost.epsilon == 2


def test_corrupting_what_was_not_selected_changes_nothing() -> None:
    # MECHANISMS 4.3, oracle (vi): the moves given, other answers than the selected ones are never looked at.
    game, options = triples(), {"mode": "paper", "num_rounds": 4, "max_steps": 3}
    first, book, plan = play_it(options, game, SeededNoise(1))
    counts = game.counts()
    kept = np.concatenate([move.ids for move in first.moves])
    corrupted = np.full_like(counts, 10**6)
    corrupted[kept] = counts[kept]
    replayed = MemoryBook(plan.reserve, stored=list(book.stored))
    second, _, _ = play_it(options, game, NoNoise(), replayed, Private(corrupted, game.workload))
    for name, array in first.distribution.to_arrays().items():
        assert np.array_equal(array, second.distribution.to_arrays()[name])


def test_without_noise_the_error_falls() -> None:
    game = pairs(num_rows=2000)
    truth = game.counts() / game.num_rows
    errors = []
    for options in ({"num_rounds": 2, "max_steps": 1}, {"num_rounds": 2, "max_steps": 200}):
        outcome, _, _ = play_it(options, game, NoNoise())
        errors.append(float(np.abs(game.workload.on(outcome.distribution) - truth).max()))
    assert errors[1] < 0.01 < errors[0]
