"""Error bars hold together in at least 95 % of games. False-alarm probability below 1e-9: 60 games, 18 misses."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.games import triples
from tests.noise import SeededNoise

from equipoise.algorithms import Setting, create
from equipoise.audit.book import MemoryBook
from equipoise.game.error_bars import error_bars
from equipoise.game.loop import play
from equipoise.privacy.gate import Gate

GAMES = 60


@pytest.mark.parametrize(
    ("method", "options", "pure"),
    [
        ("mwem", {"moves": "cell", "num_rounds": 8}, False),
        ("pep", {"moves": "cell", "num_rounds": 8}, False),
        ("pep", {"moves": "marginal", "num_rounds": 2}, False),
        ("pep", {"moves": "marginal", "num_rounds": 4}, False),
        ("mwem", {"moves": "cell", "num_rounds": 4}, True),
    ],
)
def test_coverage(method: str, options: dict[str, object], pure: bool) -> None:
    game = triples()
    rho, epsilon = (None, Fraction(4)) if pure else (Fraction(1, 4), None)
    setting = Setting(game.workload, game.num_rows, rho, epsilon, 1, 2**30)
    algorithm = create(method, options)
    plan = algorithm.plan(setting)
    truth = game.counts() / game.num_rows
    misses, widths = 0, []
    for seed in range(GAMES):
        players = algorithm.players(setting, plan)
        assert players.evidence is not None
        outcome = play(
            gate=Gate(MemoryBook(plan.reserve), noise=SeededNoise(seed)),
            truth=game.truth(),
            workload=game.workload,
            query_player=players.query_player,
            data_player=players.data_player,
            num_rounds=plan.num_rounds,
            seed=seed,
        )
        bars = error_bars(outcome, game.workload, game.num_rows, players.evidence)
        errors = np.abs(game.workload.on(outcome.distribution) - truth)
        misses += bool((errors > bars).any())
        widths.append(float(np.median(bars)))
    # Binomial(60, 0.05) exceeds 18 with probability below 1e-9.
    assert misses <= 18
    # And they say something: a bar of 1 would always hold.
    assert np.median(widths) < 0.25
