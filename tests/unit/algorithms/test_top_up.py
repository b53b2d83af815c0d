"""The top-up of mixture: what it costs, when there is one, and that it measures what the first fit is worst at."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.book import MemoryBook
from tests.games import TinyGame, triples
from tests.noise import NoNoise, SeededNoise

from equipoise.algorithms import Plan, Players, Setting
from equipoise.algorithms.mixture import Mixture
from equipoise.answers import unbiased
from equipoise.data_players.mixture import Mixture as MixturePlayer
from equipoise.errors import SettingError
from equipoise.game.error_bars import error_bars
from equipoise.game.loop import Outcome, play
from equipoise.privacy import Private, accountant
from equipoise.privacy.events import Exponential, Gaussian
from equipoise.privacy.gate import Gate
from equipoise.privacy.noise import Noise
from equipoise.queries.workload import Group, Workload
from equipoise.query_players.best_marginal import LIKELY, likely_errors
from equipoise.query_players.top_up import TopUp

GAME = triples()
COARSE, FINE = Fraction(1, 1000), Fraction(10)
"""Budgets at which 2,000 rows have a top-up, and have none."""


def setting(rho: Fraction, unit: int = 1) -> Setting:
    return Setting(GAME.workload, GAME.num_rows, rho, None, unit, 2**32)


def truth(plan: Plan, game: TinyGame = GAME) -> Private:
    assert isinstance(plan.asked, Workload)
    return Private(plan.asked.count_rows(game.rows.astype(np.uint8)), plan.asked)


def played(
    algorithm: Mixture, where: Setting, noise: Noise, book: MemoryBook | None = None
) -> tuple[Outcome, Plan, Players]:
    plan = algorithm.plan(where)
    players = algorithm.players(where, plan)
    outcome = play(
        gate=Gate(book or MemoryBook(plan.reserve), noise=noise),
        truth=truth(plan),
        workload=plan.asked,
        query_player=players.query_player,
        data_player=players.data_player,
        num_rounds=plan.num_rounds,
        seed=0,
    )
    return outcome, plan, players


@given(st.fractions(min_value=Fraction(1, 10**5), max_value=10), st.integers(1, 5), st.integers(0, 6))
def test_the_plan_and_its_top_up_recompose_to_the_budget(rho: Fraction, unit: int, num_top_ups: int) -> None:
    plan = Mixture(num_top_ups=num_top_ups).plan(setting(rho, unit))
    assert Fraction(99, 100) * rho <= plan.cost.rho <= rho
    assert plan.num_rounds == 1 + num_top_ups


def test_there_is_a_top_up_where_the_plans_noise_is_coarse() -> None:
    """Of at most half as many rounds as there are marginals to choose from, here ten."""
    assert Mixture().plan(setting(COARSE)).options["num_top_ups"] == 4
    assert Mixture().plan(setting(FINE)).options["num_top_ups"] == 0


def test_there_is_no_top_up_where_there_is_little_to_choose_from() -> None:
    """A pair and its two columns."""
    pair = Workload(GAME.workload.domain, (Group((0, 1), GAME.workload.domain.sizes[:2]),))
    plan = Mixture().plan(replace(setting(COARSE), workload=pair))
    assert plan.options["num_top_ups"] == 0
    assert plan.num_rounds == 1


def test_the_coarser_the_noise_the_more_is_left_to_be_chosen() -> None:
    """Parts of the budget for four selections: two fifths of four rounds, of which eight spend at most three tenths."""
    parts = []
    for rho in (COARSE, COARSE / 4, COARSE / 16, COARSE / 1000):
        plan = Mixture(num_top_ups=4).plan(setting(rho))
        selections = [(event, times) for event, times in plan.events if isinstance(event, Exponential)]
        parts.append(float(accountant.total(selections).rho / rho))
    assert parts == sorted(parts)
    assert 0.04 < parts[0] < parts[-1] <= 0.4 * 0.16


def test_the_game_spends_its_plan() -> None:
    book = MemoryBook(Mixture().plan(setting(COARSE)).reserve)
    outcome, plan, _ = played(Mixture(num_components=20), setting(COARSE), SeededNoise(0), book)
    assert book.spent.rho == plan.cost.rho
    assert [type(event) for event, _ in book.charged[-4:]] == [Exponential, Gaussian] * 2
    assert len(outcome.moves) == 5
    assert isinstance(plan.asked, Workload)
    assert len(plan.asked.groups) == 4 + 6 + 4  # triples, pairs, single columns


def test_the_top_up_measures_the_pair_whose_agreement_is_furthest_off_and_likely_to_be() -> None:
    """Without noise the selection is the maximum itself, over what the draft answered."""
    outcome, plan, players = played(Mixture(num_components=20), setting(COARSE), NoNoise())
    assert outcome.last_played is not None
    assert isinstance(plan.asked, Workload)
    assert isinstance(players.query_player, TopUp)
    exact = plan.asked.count_rows(GAME.rows.astype(np.uint8))
    errors = exact - GAME.num_rows * outcome.last_played.answers
    *before, chosen = (int(plan.asked.group_of(move.ids[:1])[0]) for move in outcome.moves[1:])
    noise = 2 / float(players.query_player.selected.selection_epsilon)
    likely = LIKELY * noise * likely_errors(outcome.last_played.answers, plan.asked)
    likely[before] = 0.0
    scores = []
    for group, begin, end in zip(plan.asked.groups, plan.asked.starts[:-1], plan.asked.starts[1:], strict=True):
        off = errors[begin:end].reshape(group.shape)
        if len(group.columns) == 2:
            agreements = [
                off[i, j] + np.delete(np.delete(off, i, axis=0), j, axis=1).sum() for i, j in np.ndindex(*off.shape)
            ]
            scores.append(np.abs(agreements).max() + likely[len(scores)])
        else:
            scores.append(np.abs(off).max() if len(group.columns) == 1 else -1.0)
    assert chosen == np.argmax(scores)


def test_a_game_goes_on_from_recorded_moves_without_paying_again() -> None:
    algorithm, where = Mixture(num_components=20, num_sweeps=4), setting(COARSE)
    book = MemoryBook(algorithm.plan(where).reserve)
    whole, _, _ = played(algorithm, where, SeededNoise(1), book)
    for num_kept in (1, 3, 5):
        rest = MemoryBook(book.reserved, stored=book.stored[:num_kept])
        again, _, _ = played(algorithm, where, SeededNoise(2), rest)
        assert len(rest.ends) == 5 - num_kept
        if num_kept == 5:
            np.testing.assert_array_equal(again.distribution.marginal((0, 1)), whole.distribution.marginal((0, 1)))


def test_error_bars_hold() -> None:
    """Each of 40 games' bars hold with probability 0.95; 20 failures have probability below 1e-14."""
    where, failures = setting(COARSE), 0
    for seed in range(40):
        outcome, plan, players = played(Mixture(num_components=10, num_sweeps=2), where, SeededNoise(seed))
        assert players.evidence is not None
        assert isinstance(plan.asked, Workload)
        bars = error_bars(outcome, plan.asked, GAME.num_rows, players.evidence)
        exact = plan.asked.count_rows(GAME.rows.astype(np.uint8)) / GAME.num_rows
        failures += bool((np.abs(plan.asked.on(outcome.distribution) - exact) > bars).any())
    assert failures < 20


def test_unbiased_answers_leave_out_what_was_selected() -> None:
    outcome, plan, _ = played(Mixture(num_components=10), setting(COARSE), SeededNoise(3))
    both = unbiased(GAME.workload, plan.asked, outcome.moves, GAME.num_rows)
    first = unbiased(GAME.workload, plan.asked, outcome.moves[:1], GAME.num_rows)
    assert both is not None
    assert first is not None
    np.testing.assert_array_equal(both[0], first[0])


def test_refusals() -> None:
    with pytest.raises(SettingError, match=r"num_top_ups must lie between 0 and 15, and below .* 10"):
        Mixture(num_top_ups=17).plan(setting(COARSE))
    with pytest.raises(SettingError, match="num_top_ups"):
        Mixture(num_top_ups=10).plan(setting(COARSE))
    with pytest.raises(SettingError, match="num_top_ups"):
        Mixture(num_top_ups=-1).plan(setting(COARSE))
    with pytest.raises(SettingError, match="pure"):
        Mixture().plan(replace(setting(COARSE), rho=None, epsilon=Fraction(1)))


def test_a_fit_after_drafts_has_more_components_than_one_without() -> None:
    for rho, expected in ((COARSE, 1500), (FINE, 1000)):
        plan = Mixture().plan(setting(rho))
        assert (plan.num_rounds > 1) == (expected == 1500)
        player = Mixture().players(setting(rho), plan).data_player
        assert isinstance(player, MixturePlayer)
        assert player.num_components == plan.options["num_components"] == expected
