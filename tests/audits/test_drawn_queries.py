"""Exact-enumeration audits of the algorithms that draw or select queries against an oracle: DualQuery, DQRS, FEM.

Every transcript of a real game (planner's players, gate, mechanisms) on every table of five bits and its neighbours,
with the noise scripted and the laws' probabilities added up. The closed forms of one round are checked apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest
from tests.games import TinyGame
from tests.noise import ScriptedNoise
from tests.oracles import FirstBest

from equipoise.algorithms import Setting, create
from equipoise.audit.book import MemoryBook
from equipoise.core import DataPlayer
from equipoise.data.domain import Domain
from equipoise.data_players.best_records import BestRecords
from equipoise.errors import BudgetError
from equipoise.game.loop import play
from equipoise.privacy import accountant
from equipoise.privacy.accountant import Cost
from equipoise.privacy.events import Coins
from equipoise.privacy.gate import Gate
from equipoise.queries.conjunctions import Conjunctions
from equipoise.queries.workload import Group, Workload
from equipoise.query_players.hedge import Hedge
from equipoise.query_players.player import QueryPlayer
from equipoise.query_players.reuse import Reuse

ORDERS = (1.5, 2.0, 4.0, 16.0)
NUM_ROWS = 5
RATE = Fraction(4, 5)
TABLES = (0, 1, 2)
"""Numbers of ones: neighbours from the end, where the ratios are largest, and one pair further in."""


def table(ones: int) -> TinyGame:
    """Five bits; the queries x and 1, so with negations all four functions of a bit."""
    masks = np.array([[False, True], [True, True]])
    rows = (np.arange(NUM_ROWS) < ones).astype(np.int64)[None, :]
    return TinyGame(Workload(Domain(("x",), (2,)), (Group((0,), (2,), (masks,)),)), rows)


def records(workload: Workload) -> BestRecords:
    return BestRecords(workload, FirstBest(), skipped=1)


def play_script(
    game: TinyGame,
    query_player: QueryPlayer[Any],
    data_player: DataPlayer[Any],
    num_rounds: int,
    script: list[int],
    *,
    sabotage: float = 1.0,
    reserved: Cost | None = None,
) -> tuple[float, Cost]:
    """log-probability of a script, and what it was charged."""
    noise = ScriptedNoise(script, sabotage)
    book = MemoryBook(reserved or Cost(Fraction(10**6), None))
    play(
        gate=Gate(book, noise=noise),
        truth=game.truth(),
        workload=game.workload,
        query_player=query_player,
        data_player=data_player,
        num_rounds=num_rounds,
        seed=0,
    )
    assert noise.used == len(script)
    return noise.log_probability, book.spent


def divergence(here: np.ndarray, there: np.ndarray, order: float) -> float:
    return float(np.logaddexp.reduce(order * here + (1 - order) * there) / (order - 1))


def worst(laws: list[np.ndarray]) -> tuple[float, float]:
    """The largest D_a/a over neighbours and orders, and the largest log-ratio."""
    pairs = [(a, b) for one, two in itertools.pairwise(laws) for a, b in ((one, two), (two, one))]
    rho = max(divergence(a, b, order) / order for a, b in pairs for order in ORDERS)
    return rho, max(float(np.abs(a - b).max()) for a, b in pairs)


def hedge_laws(num_rounds: int, sabotage: float = 1.0) -> list[np.ndarray]:
    scripts = [list(script) for script in itertools.product(range(4), repeat=num_rounds)]
    player = Hedge(NUM_ROWS, RATE, 1)
    return [
        np.array(
            [
                play_script(game, player, records(game.workload), num_rounds, script, sabotage=sabotage)[0]
                for script in scripts
            ]
        )
        for game in map(table, range(NUM_ROWS + 1))
    ]


def test_dual_query_costs_at_most_what_it_is_charged() -> None:
    """The golden values of the specification: .0306 <= .0640 and .732 <= .96."""
    charged = accountant.total((event, 1) for event in Hedge(NUM_ROWS, RATE, 1).events(3))
    assert float(charged.rho) == pytest.approx(0.0640)
    assert charged.epsilon == Fraction(96, 100)
    laws = hedge_laws(3)
    assert all(np.exp(law).sum() == pytest.approx(1, abs=1e-9) for law in laws)
    rho, pure = worst(laws)
    assert rho == pytest.approx(0.0306, abs=5e-4)
    assert pure == pytest.approx(0.732, abs=5e-3)


def test_dual_query_at_twice_its_rate_is_caught() -> None:
    """Two rounds: one paid draw. The charge is nearly attained in pure terms, so half the noise exceeds it."""
    charged = accountant.total((event, 1) for event in Hedge(NUM_ROWS, RATE, 1).events(2))
    rho, pure = worst(hedge_laws(2))
    assert rho <= float(charged.rho)
    assert pure <= float(charged.epsilon or 0)
    rho, pure = worst(hedge_laws(2, sabotage=0.4))
    assert rho > float(charged.rho)
    assert pure > float(charged.epsilon or 0)


def padded_laws(sabotage: float = 1.0) -> tuple[list[np.ndarray], Cost]:
    """Whole games of a plan that asks "x is 1" and adds "x is 0" by itself, and what the plan is charged."""
    asked = Conjunctions.of(Domain(("x",), (2,)), [[0]], [[1]])
    setting = Setting(asked, NUM_ROWS, Fraction(1, 10), None, 1, 2**30)
    algorithm = create("dual_query", {"num_rounds": 2, "num_draws": 1, "num_extra_queries": 1})
    plan = algorithm.plan(setting)
    player, workload = algorithm.players(setting, plan).query_player, cast(Conjunctions, plan.asked).grouped()
    assert workload.num_queries == 2
    laws = []
    for ones in range(NUM_ROWS + 1):
        game = TinyGame(workload, (np.arange(NUM_ROWS) < ones).astype(np.int64)[None, :])
        scripts = itertools.product(range(4), repeat=plan.num_rounds)
        found = [play_script(game, player, records(workload), 2, list(each), sabotage=sabotage)[0] for each in scripts]
        laws.append(np.array(found))
    return laws, plan.cost


def test_queries_that_nobody_asked_for_are_paid_for_with_the_rest() -> None:
    laws, charged = padded_laws()
    assert all(np.exp(law).sum() == pytest.approx(1, abs=1e-9) for law in laws)
    rho, pure = worst(laws)
    assert rho <= float(charged.rho)
    assert pure <= float(charged.epsilon or 0)
    rho, _ = worst(padded_laws(sabotage=0.25)[0])
    assert rho > float(charged.rho), "a quarter of the noise must be found out"


def test_the_second_draw_of_dual_query_has_the_closed_form() -> None:
    """All records 0 against one 1, queries x and not x only: Pr[draw x] is logistic in 2 rate A."""
    for ones in (0, 1):
        rows = (np.arange(20) < ones).astype(np.int64)[None, :]
        workload = Workload(Domain(("x",), (2,)), (Group((0,), (2,), (np.array([[False, True]]),)),))
        game, rate = TinyGame(workload, rows), Fraction(10)
        first_free = np.log(0.5)
        # Drawing x first makes the record 1, so A(x) = ones/20 - 1.
        found, _ = play_script(game, Hedge(20, rate, 1), records(workload), 2, [0, 0])
        payoff = ones / 20 - 1
        assert found - first_free == pytest.approx(-np.log1p(np.exp(-2 * float(rate) * payoff)), abs=1e-9)


def reuse(num_rounds: int, num_draws: int, slack: Fraction | None) -> Reuse:
    # The limits never bind: exact refill, whatever it costs.
    return Reuse(NUM_ROWS, RATE, num_draws, (slack,) * (num_rounds - 1), (Fraction(10**6),) * num_rounds)


def reuse_scripts(num_rounds: int, num_draws: int) -> Iterator[list[int]]:
    """Every first sample; then in each round every pattern of coins, and every refill of the dropped."""
    later = [
        [*coins, *fresh]
        for coins in itertools.product((0, 1), repeat=num_draws)
        for fresh in itertools.product(range(4), repeat=num_draws - sum(coins))
    ]
    for first in itertools.product(range(4), repeat=num_draws):
        for rest in itertools.product(later, repeat=num_rounds - 1):
            yield [*first, *(x for part in rest for x in part)]


@pytest.mark.parametrize(("num_rounds", "num_draws"), [(3, 1), pytest.param(2, 2, marks=pytest.mark.slow)])
def test_dqrs_costs_at_most_what_it_is_charged_and_too_little_noise_more(num_rounds: int, num_draws: int) -> None:
    """The charge depends on the transcript, so the filter's view is audited: the loss above the charge, on average.

    With c(y) the charge of transcript y, E exp((a - 1)(L - a c)) <= 1 for every order a, in both directions.
    """
    player, scripts = reuse(num_rounds, num_draws, Fraction(2, 5)), list(reuse_scripts(num_rounds, num_draws))
    for sabotage, fails in ((1.0, False), (0.25, True)):
        laws, charges = [], []
        for game in map(table, TABLES):
            found = [
                play_script(game, player, records(game.workload), num_rounds, script, sabotage=sabotage)
                for script in scripts
            ]
            laws.append(np.array([log for log, _ in found]))
            charges.append(np.array([float(spent.rho) for _, spent in found]))
        assert all(np.exp(law).sum() == pytest.approx(1, abs=1e-9) for law in laws)
        assert all(np.array_equal(charges[0], other) for other in charges), "a charge must not depend on the table"
        excess = max(
            float(np.logaddexp.reduce(a + (order - 1) * (a - b - order * charges[0])))
            for one, two in itertools.pairwise(laws)
            for a, b in ((one, two), (two, one))
            for order in ORDERS
        )
        assert (excess > 1e-9) == fails


@pytest.mark.slow
def test_three_rounds_of_dqrs_have_the_golden_values() -> None:
    """.0549 <= .2458 (the specification): the largest D_a/a, here of five ones against four, and the largest charge.

    The first two queries are drawn alike, so they are taken in one order only, and count twice where they differ.
    """
    scripts = [script for script in reuse_scripts(3, 2) if script[0] <= script[1]]
    twice = np.array([np.log(2) if script[0] < script[1] else 0.0 for script in scripts])
    player, laws, charged = reuse(3, 2, Fraction(2, 5)), [], 0.0
    for game in map(table, (4, 5)):
        found = [play_script(game, player, records(game.workload), 3, script) for script in scripts]
        laws.append(twice + np.array([log for log, _ in found]))
        charged = max(charged, *(float(spent.rho) for _, spent in found))
        assert np.exp(laws[-1]).sum() == pytest.approx(1, abs=1e-9)
    assert worst(laws)[0] == pytest.approx(0.0549, abs=5e-5)
    assert charged == pytest.approx(0.2458, abs=5e-5)


def test_dqrs_that_drops_everything_is_dual_query_with_the_same_ledger() -> None:
    game = table(2)
    for script in ([0, 1, 2, 3, 1, 0], [3, 3, 0, 0, 1, 2]):
        one = play_script(game, Hedge(NUM_ROWS, RATE, 2), records(game.workload), 3, script)
        two = play_script(game, reuse(3, 2, None), records(game.workload), 3, script)
        assert one == two


def test_one_coin_is_the_worst_case_its_price_is_for() -> None:
    """The exact Bernoulli ratio for every payoff against the price, and above it with too little noise."""
    rate, slack, n = Fraction(1, 2), Fraction(2, 5), 5
    price = accountant.cost(Coins(rate / n, slack, 2 * rate, 1))
    for sabotage, fails in ((1.0, False), (0.4, True)):
        found = []
        for payoff, other in itertools.pairwise(np.arange(-n, n + 1) / n):
            p, q = (np.exp((-float(slack) - float(rate) * (1 - a)) / sabotage) for a in (payoff, other))
            here, there = np.log([p, 1 - p]), np.log([q, 1 - q])
            found += [divergence(a, b, order) / order for a, b in ((here, there), (there, here)) for order in ORDERS]
            assert sabotage < 1 or np.abs(here - there).max() <= float(price.epsilon or 0) * (1 + 1e-9)
        assert (max(found) > float(price.rho)) == fails


def made(method: str, **options: Any) -> Any:
    game = table(2)
    setting = Setting(game.workload, NUM_ROWS, Fraction(1, 5), None, 1, 2**30)
    algorithm = create(method, options)
    plan = algorithm.plan(setting)
    players = algorithm.players(setting, plan)
    return game, plan, players.query_player, replace(players.data_player, oracle=FirstBest())


def test_fem_costs_what_it_is_charged_and_nearly_all_of_it() -> None:
    scripts = [list(script) for script in itertools.product(range(4), repeat=2)]
    _, plan, query_player, _ = made("fem", num_rounds=2, noise_scale=0.0, num_records=1)
    for sabotage, fails in ((1.0, False), (0.4, True)):
        laws = [
            np.array(
                [
                    play_script(
                        game,
                        query_player,
                        replace(records(game.workload), opens=True, memory=None),
                        2,
                        s,
                        sabotage=sabotage,
                    )[0]
                    for s in scripts
                ]
            )
            for game in map(table, range(NUM_ROWS + 1))
        ]
        rho, _ = worst(laws)
        assert (rho > float(plan.cost.rho)) == fails


def test_the_selection_of_fem_has_the_exponential_mechanisms_law() -> None:
    """Scores n (q(P) - q(D)) of x, 1, not x, 0: Pr proportional to exp(epsilon score / 2)."""
    game, plan, query_player, data_player = made("fem", num_rounds=1, noise_scale=0.0, num_records=1)
    epsilon = float(Fraction(plan.options["selection_epsilon"]))
    state = data_player.init(np.random.default_rng([0, 0]))
    payoff = game.counts() - NUM_ROWS * game.workload.on(data_player.play(state))
    weights = np.exp(epsilon / 2 * np.concatenate([payoff, -payoff]))
    for chosen in range(4):
        found, _ = play_script(game, query_player, data_player, 1, [chosen])
        assert found == pytest.approx(np.log(weights[chosen] / weights.sum()), abs=1e-9)


@pytest.mark.parametrize(
    ("method", "options", "extra"),
    [
        ("fem", {"num_rounds": 2}, [0, 0, 0]),
        ("sep_fem", {"num_rounds": 2}, [0, 0, 0]),
        ("dual_query", {"num_rounds": 2, "num_draws": 1}, [0, 0, 0]),
    ],
)
def test_one_round_too_many_is_refused_by_the_gate(method: str, options: dict[str, Any], extra: list[int]) -> None:
    game, plan, query_player, data_player = made(method, **options)
    with pytest.raises(BudgetError, match="more than it reserved"):
        play_script(game, query_player, data_player, 3, extra, reserved=plan.reserve)
