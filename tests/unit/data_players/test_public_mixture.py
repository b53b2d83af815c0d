"""The pool of a mixture and public tables: what each is worth, and what is done about missing columns."""

from __future__ import annotations

import numpy as np
import pytest
from tests.games import triples
from tests.public_tables import reduced, rows_of, sister, without_zeros

from equipoise.core import Move
from equipoise.data.distributions import MixtureOfProducts
from equipoise.data.public import PublicRows
from equipoise.data_players.mixture import Mixture
from equipoise.data_players.public_mixture import NUM_COPIES, Pooled, PublicMixture, complete, memory_bytes


def measured(stddev: float) -> Move:
    """All marginals of `triples`, with noise."""
    game = triples()
    noise = np.random.default_rng(4).normal(0, stddev, game.workload.num_queries)
    ids = np.arange(game.workload.num_queries)
    return Move(ids, np.zeros_like(ids), np.rint(game.counts() + noise).astype(np.int64), stddev)


def pooled(stddev: float, *publics: PublicRows) -> tuple[PublicMixture, Pooled]:
    game = triples()
    player = PublicMixture(Mixture(game.workload, game.num_rows, num_components=50), publics, expected_error=1e-3)
    rng = np.random.default_rng(0)
    return player, player.step(rng, player.init(rng), [measured(stddev)])


def off(player: PublicMixture, state: Pooled) -> float:
    game = triples()
    return float(np.abs(game.workload.on(player.play(state)) - game.counts() / game.num_rows).max())


def test_a_table_is_worth_its_rows_until_it_is_contradicted() -> None:
    _, state = pooled(20.0, sister(600), without_zeros(triples()))
    assert 150 < state.worths[1] <= 600  # Two samples, of 600 and of 2,000, differ like 460 from the population.
    assert state.worths[2] < 20
    _, state = pooled(5000.0, without_zeros(triples()))  # Noise that could explain anything.
    assert state.worths[1] == without_zeros(triples()).num_rows


def test_a_bad_table_does_no_harm_beside_a_good_one() -> None:
    """With so much noise a good table helps by a quarter in every draw of it; with half as much, in three of four."""
    alone, bad, both = (
        off(*pooled(80.0, *tables))
        for tables in ((sister(),), (without_zeros(triples()),), (sister(), without_zeros(triples())))
    )
    mixture = Mixture(triples().workload, 2000, num_components=50)
    rng = np.random.default_rng(0)
    plain = mixture.play(mixture.step(rng, mixture.init(rng), [measured(80.0)]))
    without = float(np.abs(triples().workload.on(plain) - triples().counts() / 2000).max())
    assert alone < without
    assert bad < 1.5 * without
    assert both < 1.3 * alone


def test_it_says_what_each_table_was_worth() -> None:
    player, state = pooled(60.0, sister(600), without_zeros(triples()))
    good, bad = player.conclude(state).notes
    assert "600 of its 600 rows" in good
    assert "contradict" in bad
    assert "contradict" not in good


def test_a_column_alone_is_compared_through_sums() -> None:
    """No marginal is measured that the public table has all columns of."""
    wrong = rows_of(np.full((1, 900), 3), (3,), "wrong")
    player, state = pooled(20.0, reduced((3,), 900), wrong)
    assert state.worths[1] > 400
    assert state.worths[2] < 20
    assert off(player, state) < 0.05


def test_missing_values_are_drawn_given_those_there_are() -> None:
    copy = MixtureOfProducts((np.eye(3), np.eye(3), np.full((3, 2), 0.5)), np.full(3, 1 / 3))
    rows = rows_of(np.arange(300)[None] % 3, (1,))
    codes, shares = complete(np.random.default_rng(0), rows, copy)
    assert len(codes) == 3
    assert codes.shape[1] == len(shares) >= NUM_COPIES * rows.num_distinct
    np.testing.assert_array_equal(codes[0], codes[1])
    assert shares.sum() == pytest.approx(1)
    # A row that no component could have made is completed all the same.
    strange = PublicRows(np.array([[0], [1]], dtype=np.uint8), np.array([1]), (0, 1), "strange")
    assert len(complete(np.random.default_rng(0), strange, copy)[0]) == 3


def test_before_any_move_it_is_uniform_and_the_memory_grows_with_the_rows() -> None:
    game = triples()
    player = PublicMixture(Mixture(game.workload, 10, num_components=5), (sister(),), expected_error=1e-3)
    state = player.init(np.random.default_rng(0))
    np.testing.assert_allclose(player.play(state).marginal((0,)), 1 / 3)
    assert player.conclude(state).notes == ()
    assert memory_bytes([sister(), sister()], game.workload) > memory_bytes([sister()], game.workload)
