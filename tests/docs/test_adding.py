"""The toy algorithm of docs/adding.md: what is asked of every new one, done for it. Copy this file, too.

False-alarm probabilities: none, everything is computed.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from examples.adding.column_shares import ColumnShares
from examples.adding.independent import Independent
from tests.games import TinyGame, bits, triples
from tests.noise import NoNoise, log_gaussian_pmf

import equipoise as eq
from equipoise import algorithms
from equipoise.algorithms import Setting
from equipoise.audit.book import MemoryBook
from equipoise.core import Move
from equipoise.game.loop import Outcome, play
from equipoise.privacy.gate import Gate

EXAMPLES = next(path for path in Path(__file__).resolve().parents if path.name == "tests").parent / "examples"


def setting_of(game: TinyGame, rho: Fraction = Fraction(1, 5)) -> Setting:
    return Setting(game.workload, game.num_rows, rho, None, rows_per_unit=1, memory_limit=2**30)


def played(game: TinyGame, book: MemoryBook, noise: object, rows: np.ndarray | None = None) -> Outcome:
    """The whole game, on the game's rows or on others."""
    setting, algorithm = setting_of(game), Independent()
    plan = algorithm.plan(setting)
    players = algorithm.players(setting, plan)
    return play(
        gate=Gate(book, noise=noise),  # type: ignore[arg-type]
        truth=game.truth(rows),
        workload=game.workload,
        query_player=players.query_player,
        data_player=players.data_player,
        num_rounds=plan.num_rounds,
        seed=0,
    )


def reserve(game: TinyGame) -> MemoryBook:
    return MemoryBook(Independent().plan(setting_of(game)).reserve)


# 1. The data player alone, against what can be worked out by hand.


def test_columns_have_the_shares_that_the_marginals_say() -> None:
    game = triples()
    player = ColumnShares(game.workload, game.num_rows)
    state = player.init(np.random.default_rng(0))
    assert player.play(state).marginal((0,)).tolist() == pytest.approx([1 / 3] * 3)
    first = game.workload.groups[0]
    ids = np.arange(first.num_queries)
    move = Move(ids, np.zeros_like(ids), game.counts()[ids], 1.0)
    state = player.step(np.random.default_rng(0), state, [move])
    true = np.bincount(game.rows[0]) / game.num_rows
    assert player.play(state).marginal((0,)).tolist() == pytest.approx(true.tolist())
    assert player.play(state).marginal((3,)).tolist() == pytest.approx([1 / 4] * 4)  # not measured: still uniform


# 2. Without noise it ends where it should.


def test_without_noise_the_columns_are_exact() -> None:
    game = triples()
    found = played(game, reserve(game), NoNoise()).distribution
    for column in range(4):
        true = np.bincount(game.rows[column]) / game.num_rows
        assert found.marginal((column,)).tolist() == pytest.approx(true.tolist())


# 3. The ledger ends where the plan said: not above, and nearly all of the budget is used.


def test_the_ledger_ends_where_the_plan_said() -> None:
    game = triples()
    book = reserve(game)
    played(game, book, NoNoise())
    plan = Independent().plan(setting_of(game))
    assert book.spent.rho == plan.cost.rho
    assert Fraction(99, 100) * Fraction(1, 5) <= plan.cost.rho <= Fraction(1, 5)


# 4. The audit: the exact law of the moves on two neighbouring tables. With half the noise it must fail.


class Script(NoNoise):
    """Says what is written for it, and how probable that was."""

    def __init__(self, values: tuple[int, int], sabotage: float) -> None:
        self.values, self.sabotage, self.log_probability = np.array(values), sabotage, 0.0

    def gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        offsets = (self.values - values).tolist()
        self.log_probability += sum(log_gaussian_pmf(offset, scale * self.sabotage) for offset in offsets)
        return self.values


def renyi(sabotage: float, order: float) -> float:
    """Rényi divergence between the moves on a table of one binary column and on its neighbour."""
    game = bits(3, 6)
    logs = []
    for value in np.ndindex(35, 35):
        script = (int(value[0]) - 14, int(value[1]) - 14)
        both = []
        for rows in (game.rows, game.neighbour((0,))):
            noise = Script(script, sabotage)
            played(game, reserve(game), noise, rows)
            both.append(noise.log_probability)
        logs.append(both)
    here, there = np.array(logs).T
    assert np.exp(here).sum() == pytest.approx(1, abs=1e-6)
    return float(np.logaddexp.reduce(order * here + (1 - order) * there) / (order - 1))


def test_it_costs_what_it_is_charged_and_half_the_noise_costs_more() -> None:
    rho = float(Independent().plan(setting_of(bits(3, 6))).cost.rho)
    assert renyi(1.0, 2.0) <= 2.0 * rho * (1 + 1e-6)
    assert renyi(0.5, 2.0) > 2.0 * rho


# 5. From a table to a release, as a user would.


def test_a_user_can_release_with_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # Not needed for an algorithm that is in the list, as yours will be.
    monkeypatch.setattr(algorithms, "ALGORITHMS", (*algorithms.ALGORITHMS, Independent))
    table = eq.read(EXAMPLES / "people.csv", schema=EXAMPLES / "people.toml").select(["sex", "smoker", "education"])
    made = eq.release(
        table, epsilon=1.0, workload="2-way", method="independent", options={"num_rounds": 2}, ledger=tmp_path / "l"
    )
    assert made.statement["method"]["name"] == "independent"
    assert made.sample(10).num_rows == 10
