from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.games import triples
from tests.noise import NoNoise, SeededNoise

from equipoise.algorithms import Setting
from equipoise.algorithms.hdmm import Hdmm
from equipoise.algorithms.static import column_sets, plan_static
from equipoise.answers import unbiased
from equipoise.audit.book import MemoryBook
from equipoise.data.domain import Domain
from equipoise.data_players.mixture import Mixture as MixturePlayer
from equipoise.errors import CapacityError, QueryError, SettingError
from equipoise.game.loop import play
from equipoise.privacy import Private, accountant
from equipoise.privacy.gate import Gate
from equipoise.queries.workload import Group, Workload


def setting(rho: Fraction = Fraction(1, 10), unit: int = 1, memory: int = 2**32) -> Setting:
    game = triples()
    return Setting(game.workload, game.num_rows, rho, None, unit, memory)


@given(
    st.lists(st.floats(1e-3, 1.0), min_size=6, max_size=6),
    st.fractions(min_value=Fraction(1, 10**6), max_value=10),
    st.integers(1, 5),
)
def test_shares_recompose_to_the_budget(shares: list[float], rho: Fraction, unit: int) -> None:
    sets = [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3), (0, 1), (2,)]
    where = setting(rho, unit)
    static = plan_static(where, dict(zip(sets, shares, strict=True)))
    spent = accountant.total(static.events(where)).rho
    assert Fraction(99, 100) * rho <= spent <= rho


def test_extra_marginals_come_after_the_workloads_own() -> None:
    where = setting()
    static = plan_static(where, {(0, 1, 2): 0.5, (1,): 0.25, (0, 3): 0.25})
    own = len(where.workload.groups)
    assert static.asked.groups[:own] == where.workload.groups
    assert [group.columns for group in static.asked.groups[own:]] == [(1,), (0, 3)]
    assert [stddev is None for stddev in static.stddevs] == [False, True, True, True, False, False]
    # Half of rho = 0.1 on a marginal of squared sensitivity 2: variance 1/0.05.
    assert static.stddevs[0] == pytest.approx(20**0.5)


def test_hdmm_spends_its_plan_and_its_unbiased_answers_are_exact_without_noise() -> None:
    game, where = triples(), setting()
    algorithm = Hdmm(num_components=50)
    plan = algorithm.plan(where)
    counts = plan.asked.count_rows(game.rows.astype(np.uint8))
    players = algorithm.players(where, plan)
    book = MemoryBook(plan.reserve)
    outcome = play(
        gate=Gate(book, noise=NoNoise()),
        truth=Private(counts, plan.asked),
        workload=plan.asked,
        query_player=players.query_player,
        data_player=players.data_player,
        num_rounds=plan.num_rounds,
        seed=0,
    )
    assert book.spent.rho == plan.cost.rho
    found = unbiased(where.workload, plan.asked, outcome.moves, game.num_rows)
    assert found is not None
    assert found[0] == pytest.approx(game.counts(), abs=1e-6)


def test_unbiased_answers_have_the_predicted_error() -> None:
    """Mean square over 300 runs of 84 cells against the prediction. False-alarm probability below 1e-9: ten sigmas."""
    game, where = triples(), setting()
    static = plan_static(where, {(0, 1, 2): 0.3, (0, 1, 3): 0.2, (0, 2, 3): 0.2, (1, 2, 3): 0.2, (0, 1): 0.1})
    truth = Private(static.asked.count_rows(game.rows.astype(np.uint8)), static.asked)
    squares = []
    for seed in range(300):
        book = MemoryBook(accountant.Cost(Fraction(1), None))
        from equipoise.data.distributions import Histogram
        from equipoise.queries.played import Played

        shape = where.workload.domain.sizes
        uniform = Histogram(np.full(shape, 1 / np.prod(shape)))
        player = static.query_player()
        _, move = player.step(Gate(book, noise=SeededNoise(seed)), player.init(truth), Played(uniform, static.asked))
        found = unbiased(where.workload, static.asked, (move,), game.num_rows)
        assert found is not None
        squares.append(((found[0] - game.counts()) ** 2).mean())
    predicted = (static.forecast(where).measurement_stddev * game.num_rows) ** 2
    spread = np.std(squares) / len(squares) ** 0.5
    assert abs(np.mean(squares) - predicted) < 10 * spread


def test_refusals() -> None:
    domain = Domain(("x",), (5,))
    masked = Workload(domain, (Group((0,), (5,), (np.tri(4, 5, dtype=bool),)),))
    with pytest.raises(QueryError, match="whole marginals"):
        column_sets(masked, "hdmm")
    game = triples()
    pure = Setting(game.workload, game.num_rows, None, Fraction(1), 1, 2**30)
    with pytest.raises(SettingError, match="pure"):
        Hdmm().plan(pure)
    with pytest.raises(CapacityError, match="--memory"):
        Hdmm().plan(setting(memory=1000))


def test_after_drafts_there_are_more_components_and_whoever_says_a_number_gets_it() -> None:
    static, where = plan_static(setting(), {(0, 1, 2): 1.0}), setting()
    assert static.plan(Hdmm(), where).options["num_components"] == 1000
    assert static.plan(Hdmm(), where, num_drafts=4).options["num_components"] == 1500
    assert static.plan(Hdmm(num_components=7), where, num_drafts=4).options["num_components"] == 7


def test_a_plans_components_are_those_that_are_fitted() -> None:
    for algorithm, expected in ((Hdmm(), 1000), (Hdmm(num_components=7), 7)):
        player = algorithm.players(setting(), algorithm.plan(setting())).data_player
        assert isinstance(player, MixturePlayer)
        assert player.num_components == expected
