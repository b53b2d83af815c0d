"""Best responses by an oracle: the test oracles of FEM and sepFEM, and oracles that fail in every way."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import stats
from tests.games import TinyGame, bits, triples
from tests.noise import SeededNoise
from tests.oracles import FirstBest

from equipoise.algorithms import Setting, create
from equipoise.audit.book import MemoryBook
from equipoise.core import Move
from equipoise.data.distributions import WeightedRows
from equipoise.data.domain import Domain
from equipoise.data_players.best_records import BestRecords, Noise
from equipoise.game.loop import play
from equipoise.oracles.branch_and_bound import BranchAndBound
from equipoise.oracles.checked import Checked
from equipoise.oracles.instance import Instance
from equipoise.oracles.oracle import Solutions
from equipoise.privacy.gate import Gate
from equipoise.queries.workload import Group, Workload

THRESHOLD = 1e-10
RNG = np.random.default_rng


def said(*signed: int) -> Move:
    """A move of queries by their number from 1, negative for negations."""
    numbers = np.array(signed, dtype=np.int64)
    return Move(np.abs(numbers) - 1, np.sign(numbers), None, 0.0)


def test_without_queries_the_perturbed_record_is_uniform() -> None:
    workload = triples().workload
    player = BestRecords(workload, BranchAndBound(), num_records=4000, noise=Noise("exponential", 3.0))
    codes = player.init(RNG(1)).rounds[0]
    for column, size in enumerate(workload.domain.sizes):
        assert stats.chisquare(np.bincount(codes[column], minlength=size)).pvalue > THRESHOLD


@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_a_bit_follows_its_queries_with_the_chance_that_the_noise_stays_below_them(scale: float) -> None:
    """k copies of q = x against exponential noise of mean b on "x is 1": Pr[x = 1] = 1 - exp(-k/b)."""
    workload = Workload(Domain(("x",), (2,)), (Group((0,), (2,), (np.array([[False, True]]),)),))
    player = BestRecords(workload, BranchAndBound(), num_records=4000, noise=Noise("exponential", scale), memory=None)
    state = player.step(RNG(2), player.init(RNG(1)), [said(1), said(1, 1)])
    ones = int(state.rounds[-1].sum())
    assert stats.binomtest(ones, 4000, 1 - math.exp(-3 / scale)).pvalue > THRESHOLD
    assert stats.binomtest(ones, 4000, 1 - math.exp(-3 * scale)).pvalue < THRESHOLD or scale == 1.0
    assert stats.binomtest(ones, 4000, math.exp(-3 / scale)).pvalue < THRESHOLD


def test_learnt_noise_fills_a_column_by_how_often_its_values_were_asked_for() -> None:
    """Value 0 was asked for nine times, 1 only not to hold: 10/12, 1/12, 1/12. Even noise, the control, is far off."""
    workload = Workload(Domain(("x",), (3,)), (Group((0,), (3,)),))
    asked, silence = said(*[1] * 9, *[-2] * 5), said()
    chances = {}
    for learns in (True, False):
        player = BestRecords(
            workload, BranchAndBound(), num_records=12_000, noise=Noise("exponential", 2.0), learns=learns
        )
        rng = np.random.default_rng(3)
        state = player.step(rng, player.step(rng, player.init(rng), [asked]), [asked, silence])
        counts = np.bincount(state.rounds[-1][0], minlength=3)
        chances[learns] = float(stats.chisquare(counts, [10_000, 1_000, 1_000]).pvalue)
    assert chances[True] > THRESHOLD
    assert chances[False] < THRESHOLD


def test_values_never_asked_for_are_not_shut_out() -> None:
    """The floor: noise at most ten times that of an even column, whatever was asked for."""
    workload = Workload(Domain(("x",), (3,)), (Group((0,), (3,)),))
    player = BestRecords(workload, BranchAndBound(), noise=Noise("exponential", 1.0), learns=True)
    assert player._popularity(np.array([1e6, 0.0, 0.0])) == pytest.approx([3.0, 0.1, 0.1], rel=1e-4)
    assert player._popularity(np.zeros(3)) == pytest.approx([1.0, 1.0, 1.0])


def test_without_noise_records_are_best_and_ties_are_broken_at_random() -> None:
    game = triples()
    player = BestRecords(game.workload, BranchAndBound(), num_records=50)
    moves = [said(1, 2, -40)]  # the first two exclude each other, and say nothing of the last column
    codes = player.step(RNG(0), player.init(RNG(0)), moves).rounds[-1]
    best = BestRecords(game.workload, FirstBest(), num_records=1).step(RNG(0), player.init(RNG(0)), moves).rounds[-1]
    answers = [game.workload.count_rows(codes[:, i : i + 1]) for i in range(50)]
    signs, ids = moves[0].signs, moves[0].ids
    wanted = float(signs @ game.workload.count_rows(best)[ids])
    assert all(signs @ answer[ids] == wanted for answer in answers)
    assert len(np.unique(codes, axis=1).T) > 1


def test_ranges_and_prefixes_are_split_into_cells() -> None:
    masks = np.tri(4, 5, dtype=bool)
    workload = Workload(Domain(("x",), (5,)), (Group((0,), (5,), (masks,)),))
    player = BestRecords(workload, BranchAndBound(), num_records=3)
    state = player.step(RNG(0), player.init(RNG(0)), [said(3, -2)])  # x <= 2 and not x <= 1
    assert state.rounds[-1].tolist() == [[2, 2, 2]]


def test_memory_hears_the_newest_moves() -> None:
    game = bits(1, 4)
    moves = [said(1), said(2), said(2)]
    for memory, value in ((1, 1), (2, 1), (None, 1)):
        player = BestRecords(game.workload, BranchAndBound(), memory=memory)
        assert player.step(RNG(0), player.init(RNG(0)), moves).rounds[-1][0, 0] == value
    alone = BestRecords(game.workload, BranchAndBound(), memory=1)
    assert alone.step(RNG(0), alone.init(RNG(0)), [said(2), said(2), said(1)]).rounds[-1][0, 0] == 0


def test_the_conclusion_is_the_union_of_the_rounds_that_count() -> None:
    game = bits(1, 4)
    player = BestRecords(game.workload, BranchAndBound(), skipped=2)
    state = player.init(RNG(0))
    moves: list[Move] = []
    for number in (1, 2, 2, 1, 2):
        moves.append(said(number))
        state = player.step(RNG(0), state, moves)
    assert game.workload.on(player.play(state)).tolist() == [0.0, 1.0]
    end = player.conclude(state)
    assert game.workload.on(end.distribution).tolist() == [0.25, 0.75]
    assert end.notes == ()


def played(method: str, oracle: Any = None, game: TinyGame | None = None, **options: Any) -> Any:
    game = game or triples(num_rows=500)
    setting = Setting(game.workload, game.num_rows, Fraction(1, 2), None, 1, 2**30)
    algorithm = create(method, options)
    plan = algorithm.plan(setting)
    players = algorithm.players(setting, plan)
    data_player = players.data_player if oracle is None else replace(players.data_player, oracle=oracle)
    book = MemoryBook(plan.reserve)
    outcome = play(
        gate=Gate(book, noise=SeededNoise(3)),
        truth=game.truth(),
        workload=game.workload,
        query_player=players.query_player,
        data_player=data_player,
        num_rounds=plan.num_rounds,
        seed=5,
    )
    return outcome, book, plan


def test_sep_fem_is_fem_with_laplace_noise() -> None:
    """The separator of conjunctions is one query a value; the same seeds then play the same game."""
    options = {"num_rounds": 8, "num_records": 5, "noise_scale": 1.5}
    one, _, _ = played("sep_fem", **options)
    two, _, _ = played("fem", law="laplace", **options)
    here, there = one.distribution.to_arrays(), two.distribution.to_arrays()
    assert all(np.array_equal(here[name], there[name]) for name in here)
    other, _, _ = played("fem", **options)
    assert not np.array_equal(other.distribution.to_arrays()["codes"], here["codes"])


@dataclass(frozen=True)
class Broken:
    """An oracle that fails as told."""

    name: ClassVar[str] = "broken"
    how: str

    def refuses(self, instance: Instance) -> str | None:
        return "too large" if self.how == "refuses" else None

    def solve(self, instance: Instance, rng: np.random.Generator) -> Solutions:
        found = FirstBest().solve(instance, rng)
        match self.how:
            case "killed":
                raise ChildProcessError("the solver is gone")
            case "times out":
                raise TimeoutError
            case "nonsense":
                return replace(found, codes=np.full_like(found.codes, 250))
            case "lies":
                return replace(found, values=found.values + 1000)
            case "shape":
                return replace(found, codes=found.codes[:1])
            case _:
                return replace(found, proved=np.zeros(instance.num_copies, dtype=bool))


@pytest.mark.parametrize("how", ["killed", "times out", "nonsense", "lies", "shape", "refuses", "unproved"])
@pytest.mark.parametrize("method", ["dual_query", "dqrs", "fem", "sep_fem"])
def test_a_failing_solver_costs_no_privacy_and_is_reported(method: str, how: str) -> None:
    options = {"num_rounds": 6, "num_records": 3}
    outcome, book, plan = played(method, Checked(Broken(how)), **options)
    # DQRS draws anew what its coins dropped: at most what was planned, whoever solves. Others spend exactly that.
    within = book.spent.rho <= plan.cost.rho if method == "dqrs" else book.spent.rho == plan.cost.rho
    assert within, "the ledger must not depend on the solver"
    assert len(outcome.moves) == 6
    assert outcome.notes, "what went wrong must be said"
    shares = outcome.distribution.marginal((0,))
    assert shares.sum() == pytest.approx(1)


@pytest.mark.parametrize("method", ["dual_query", "dqrs", "fem", "sep_fem"])
def test_a_good_solver_has_nothing_to_report(method: str) -> None:
    outcome, _, _ = played(method, num_rounds=6, num_records=3)
    assert outcome.notes == ()


@pytest.mark.parametrize("method", ["dual_query", "fem", "sep_fem"])
def test_theory_modes_play_to_the_end_and_spend_their_plan(method: str) -> None:
    """On a table of 30 records the theorems promise nothing, and FEM's noise drowns the queries; it still ends."""
    game = bits(12, 30)
    outcome, book, plan = played(method, game=game, mode="theory")
    assert isinstance(outcome.distribution, WeightedRows)
    assert len(outcome.moves) == plan.num_rounds
    assert book.spent.rho == plan.cost.rho <= Fraction(1, 2)
    assert plan.forecast.bound is None
    num_rows = plan.num_rounds * plan.options["num_records"]
    # The rounds after the first move; FEM's records before it count too.
    assert outcome.distribution.codes.shape[1] - num_rows in (0, plan.options["num_records"])
