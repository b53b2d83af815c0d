"""Players that know the schema's rules: they play nothing impossible, and what they know makes them more accurate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise.core import Conclusion, DataPlayer, Move
from equipoise.data.conditioning import condition, uniform
from equipoise.data.distributions import WeightedRows
from equipoise.data.domain import Domain
from equipoise.data.public import PublicRows
from equipoise.data.rules import Rules
from equipoise.data_players.entropy_projection import EntropyProjection
from equipoise.data_players.generator import Generator
from equipoise.data_players.mixture import Mixture
from equipoise.data_players.multiplicative_weights import MultiplicativeWeights
from equipoise.data_players.relaxed_rows import RelaxedPlayer
from equipoise.data_players.ruled import Ruled, obeying
from equipoise.queries.workload import Group, Workload

SHAPE = (3, 4, 3, 2)
NUM_ROWS = 2000
WORKLOAD = Workload(
    Domain(("a", "b", "c", "d"), SHAPE),
    tuple(Group((i, j), (SHAPE[i], SHAPE[j])) for i in range(4) for j in range(i + 1, 4)),
)
FIRST, ODD, LAST = np.array([1, 0, 0], dtype=bool), np.array([0, 1, 0, 1], dtype=bool), np.array([0, 0, 1], dtype=bool)
RULES = Rules(SHAPE, ({0: FIRST, 1: ODD}, {1: ~ODD, 2: LAST}, {0: LAST, 2: FIRST}))

PLAYERS: dict[str, Any] = {
    "weights": MultiplicativeWeights(WORKLOAD, NUM_ROWS),
    "average": MultiplicativeWeights(WORKLOAD, NUM_ROWS, replay="threshold", average=True),
    "noise_aware": EntropyProjection(WORKLOAD, NUM_ROWS),
    "projection": EntropyProjection(WORKLOAD, NUM_ROWS, solver="projection"),
    "dual": EntropyProjection(WORKLOAD, NUM_ROWS, solver="dual", tolerance="noise"),
    "mixture": Mixture(WORKLOAD, NUM_ROWS, num_components=100),
    "generator": Generator(
        WORKLOAD, NUM_ROWS, 1, num_products=100, widths=(16, 32), loss="squared", learning_rate=1e-2, max_steps=300
    ),
    "clip": RelaxedPlayer(WORKLOAD, NUM_ROWS, 1, "clip", num_relaxed=100, max_steps=50),
    "softmax": RelaxedPlayer(WORKLOAD, NUM_ROWS, 1, "softmax", num_relaxed=100, max_steps=50),
}
"""Players of one round, in which everything is measured."""


def truth(rng: np.random.Generator) -> np.ndarray:
    """A distribution that obeys the rules."""
    cells = rng.dirichlet(np.full(np.prod(SHAPE), 0.5)).reshape(SHAPE) * RULES.possible_cells()
    return np.asarray(cells / cells.sum())


def measured(rng: np.random.Generator, cells: np.ndarray, stddev: float) -> tuple[Move, np.ndarray]:
    """All queries with noise, and without."""
    answers = np.concatenate(
        [cells.sum(axis=tuple({0, 1, 2, 3} - set(g.columns))).reshape(-1) for g in WORKLOAD.groups]
    )
    noisy = np.rint(NUM_ROWS * answers + stddev * rng.standard_normal(len(answers))).astype(np.int64)
    return Move(np.arange(len(answers)), np.zeros(len(answers), dtype=np.int64), noisy, stddev), answers


def error(player: DataPlayer[Any], seed: int, stddev: float = 20.0) -> float:
    """Root mean square error after one round."""
    rng = np.random.default_rng(seed)
    move, answers = measured(rng, truth(rng), stddev)
    state = player.step(np.random.default_rng(seed), player.init(np.random.default_rng(seed)), [move])
    return float(np.sqrt(np.mean((WORKLOAD.on(player.play(state)) - answers) ** 2)))


@pytest.mark.parametrize("name", PLAYERS)
def test_nothing_impossible_is_played_before_or_after_a_move(name: str) -> None:
    player = obeying(PLAYERS[name], RULES)
    rng = np.random.default_rng(0)
    move, _ = measured(rng, truth(rng), 20.0)
    state = player.init(rng)
    before = player.play(state)
    state = player.step(rng, state, [move])
    for played in (before, player.play(state)) if name != "clip" else (player.play(state),):
        joint = played.marginal((0, 1, 2, 3))
        assert joint.sum() == pytest.approx(1.0)
        assert not joint[~RULES.possible_cells()].any()
        assert not RULES.broken_by(played.sample(rng, 500)).any()


@pytest.mark.parametrize("name", [n for n in PLAYERS if n not in ("clip", "softmax")])
def test_knowing_the_rules_makes_the_fit_more_accurate(name: str) -> None:
    """Seeds are fixed and players deterministic: no chance of a false alarm."""
    seeds = range({"generator": 2, "mixture": 24}.get(name, 12))
    plain, ruled = (np.mean([error(p, seed) for seed in seeds]) for p in (PLAYERS[name], obeying(PLAYERS[name], RULES)))
    assert ruled < plain


def test_a_measurement_of_what_is_impossible_changes_nothing() -> None:
    """Records that break a rule are errors in the data: whatever is measured of them, the model stays where it is."""
    inside = int(np.flatnonzero(RULES.impossible_in((0, 1)))[0])
    move = Move(np.array([inside]), np.zeros(1, dtype=np.int64), np.array([900]), 5.0)
    for name in ("weights", "noise_aware", "projection", "dual"):
        player = obeying(PLAYERS[name], RULES)
        state = player.init(np.random.default_rng(0))
        before = player.play(state).marginal((0, 1))
        state = player.step(np.random.default_rng(0), state, [move])
        np.testing.assert_allclose(player.play(state).marginal((0, 1)), before, atol=1e-12)


def test_without_rules_and_on_public_rows_the_player_is_the_same() -> None:
    assert obeying(PLAYERS["mixture"], Rules(SHAPE)) is PLAYERS["mixture"]
    rows = PublicRows(np.zeros((4, 1), dtype=np.uint8), np.ones(1, dtype=np.int64), (0, 1, 2, 3), "public")
    public = replace(PLAYERS["weights"], public=rows)
    assert obeying(public, RULES) is public


class Stubborn:
    """Plays one impossible record, whatever it is told; keeps no workload."""

    def init(self, rng: np.random.Generator) -> int:
        return 0

    def step(self, rng: np.random.Generator, state: int, moves: Any) -> int:
        return len(moves)

    def play(self, state: int) -> WeightedRows:
        return WeightedRows(np.array([[0], [1], [0], [0]], dtype=np.uint8), np.ones(1), SHAPE)


class Concluding(Stubborn):
    """Ends with an impossible and a possible record."""

    def conclude(self, state: int) -> Conclusion:
        records = np.array([[0, 0], [1, 0], [0, 0], [0, 0]], dtype=np.uint8)
        return Conclusion(WeightedRows(records, np.array([0.3, 0.7]), SHAPE), ("said",))


def test_the_end_of_a_game_obeys_the_rules_and_keeps_its_notes() -> None:
    distribution, notes = Ruled.of(Concluding(), RULES).conclude(0)
    assert notes == ("said",)
    assert isinstance(distribution, WeightedRows)
    assert distribution.codes[:, 0].tolist() == [0, 0, 0, 0]
    assert distribution.weights.tolist() == [1.0]
    other = Ruled.of(Stubborn(), RULES)
    np.testing.assert_array_equal(other.conclude(0).distribution.marginal((0,)), other.play(0).marginal((0,)))


def test_a_player_that_knows_no_queries_is_conditioned_all_the_same() -> None:
    player = obeying(Stubborn(), RULES)
    assert isinstance(player, Ruled)
    rng = np.random.default_rng(0)
    silent = Move(np.array([0]), np.ones(1, dtype=np.int64), None, 0.0)
    assert player.step(rng, player.init(rng), [silent]) == 1
    expected = condition(uniform(SHAPE), RULES)
    assert expected is not None
    np.testing.assert_allclose(player.play(0).marginal((0, 1)), expected.marginal((0, 1)))
