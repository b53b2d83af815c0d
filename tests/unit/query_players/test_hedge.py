"""Multiplicative weights over queries, and the reuse of draws: their laws in closed form on toy sizes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from tests.games import TinyGame, bits, triples
from tests.noise import NoNoise, SeededNoise
from tests.oracles import FirstBest

from equipoise.algorithms import Setting, create
from equipoise.audit.book import MemoryBook
from equipoise.core import Move
from equipoise.data.distributions import WeightedRows
from equipoise.data_players.best_records import BestRecords
from equipoise.game.loop import play
from equipoise.privacy.accountant import Cost
from equipoise.privacy.gate import Gate
from equipoise.queries.played import Played
from equipoise.query_players.hedge import Hedge, Weights, signed
from equipoise.query_players.reuse import Reuse, Sampled

PLENTY = Cost(Fraction(10**9), None)


def record(game: TinyGame, *codes: int) -> Played:
    rows = WeightedRows(np.array(codes, dtype=np.uint8)[:, None], np.ones(1), game.workload.domain.sizes)
    return Played(rows, game.workload)


def test_negations_are_the_second_half_of_the_positions() -> None:
    move = signed(np.array([0, 3, 4, 7]), 4)
    assert move.ids.tolist() == [0, 3, 0, 3]
    assert move.signs.tolist() == [1, 1, -1, -1]
    assert move.values is None


def test_the_first_round_does_not_look_and_costs_nothing() -> None:
    game = bits(3, 10)
    book = MemoryBook(Cost())
    player = Hedge(10, Fraction(1), 5)
    state, move = player.step(Gate(book, noise=NoNoise()), player.init(game.truth()), record(game, 0))
    assert book.charged == []
    assert len(move.ids) == 5
    assert state.num_updates == 0
    assert not state.sums.any(), "what was played before the first draw answers nothing"


def test_a_resumed_state_is_the_played_one() -> None:
    game = bits(3, 10)
    player = Hedge(10, Fraction(1), 2)
    state = recalled = player.init(game.truth())
    gate = Gate(MemoryBook(PLENTY), noise=NoNoise())
    for codes in (0, 1, 1, 0):
        before = recalled
        state, move = player.step(gate, state, record(game, codes))
        recalled = player.recall(before, record(game, codes), move)
        assert (state.num_updates, state.sums.tolist()) == (recalled.num_updates, recalled.sums.tolist())
    assert state.num_updates == 3
    assert state.sums.tolist() == [1.0, 2.0]


def toy_error(*, flip_weights: bool, flip_records: bool) -> float:
    """The largest error on a toy table with many draws, with signs flipped on purpose."""
    game = triples(num_rows=500)

    class Flipped(Hedge):
        def step(self, gate: Gate, state: Weights, played: Played) -> tuple[Weights, Move]:
            now, move = super().step(gate, state, played)
            return now, move._replace(signs=-move.signs) if flip_weights else move

    outcome = play(
        gate=Gate(MemoryBook(PLENTY), noise=SeededNoise(4)),
        truth=game.truth(),
        workload=game.workload,
        query_player=Flipped(500, Fraction(1, 2), 200),
        data_player=BestRecords(game.workload, FirstBest(worst=flip_records), skipped=2),
        num_rounds=120,
        seed=0,
    )
    return float(np.abs(game.workload.on(outcome.distribution) - game.counts() / 500).max())


def test_one_flipped_sign_ruins_the_game_and_two_do_not() -> None:
    assert toy_error(flip_weights=False, flip_records=False) < 0.07
    assert toy_error(flip_weights=True, flip_records=True) < 0.07
    assert toy_error(flip_weights=True, flip_records=False) > 0.5
    assert toy_error(flip_weights=False, flip_records=True) > 0.5


def test_many_draws_without_a_limit_on_the_budget_reach_the_bound_of_the_theorem() -> None:
    """alpha = 0.5: 16 log|Q|/alpha^2 rounds, rate alpha/4. The seed is fixed, so this cannot fail by chance."""
    game, alpha = triples(num_rows=500), 0.5
    num_rounds = math.ceil(16 * math.log(2 * game.workload.num_queries) / alpha**2)
    outcome = play(
        gate=Gate(MemoryBook(PLENTY), noise=SeededNoise(1)),
        truth=game.truth(),
        workload=game.workload,
        query_player=Hedge(500, Fraction(1, 8), 400),
        data_player=BestRecords(game.workload, FirstBest()),
        num_rounds=num_rounds,
        seed=0,
    )
    error = np.abs(game.workload.on(outcome.distribution) - game.counts() / 500).max()
    assert error <= alpha


RATE, SLACK = 0.4, 0.3


def law(payoffs: np.ndarray, rate: float = RATE) -> np.ndarray:
    weights = np.exp(rate * payoffs)
    return np.asarray(weights / weights.sum())


def test_thinning_and_refilling_gives_the_new_weights_exactly() -> None:
    """For a record that was not chosen by the sample (vietri2020new, Lemma 10): kept + dropped · new = new."""
    old = law(np.array([0.5, -0.5, 0.2, -0.2]))
    payoff = np.array([1.0, -1.0, -0.3, 0.3])
    new = old * np.exp(RATE * payoff)
    new /= new.sum()
    keep = np.exp(-RATE - SLACK + RATE * payoff)
    assert keep.max() <= math.exp(-SLACK)
    assert keep.min() >= math.exp(-2 * RATE - SLACK)
    kept = old * keep
    assert kept + (1 - kept.sum()) * new == pytest.approx(new, abs=1e-15)


def reused(num_draws: int, limits: Fraction = Fraction(10**6)) -> Reuse:
    return Reuse(10, Fraction(2, 5), num_draws, (Fraction(3, 10),) * 9, (limits,) * 10)


class Scripted(NoNoise):
    """Keeps what it is told to keep, and remembers the chances."""

    def __init__(self, heads: list[bool]) -> None:
        self.heads, self.chances = heads, np.zeros(0)

    def coins(self, exponents: np.ndarray, scale: float) -> np.ndarray:
        self.chances = np.exp(-exponents / scale)
        return np.array(self.heads)


def test_each_query_is_kept_with_its_own_chance() -> None:
    """Three of ten records are 1, the record is 0: A(x=0) = 0.7 - 1, A(x=1) = 0.3, negations the opposite."""
    game = bits(3, 10)
    player, noise = reused(4), Scripted([True, False, True, True])
    state = Sampled(Weights(game.truth(), np.zeros(2), 0), np.arange(4))
    book = MemoryBook(PLENTY)
    after, move = player.step(Gate(book, noise=noise), state, record(game, 0))
    payoff = np.array([-0.3, 0.3, 0.3, -0.3])
    # The slack is rounded up to the grid of the scores.
    assert noise.chances == pytest.approx(np.exp(-0.4 - 0.3 + 0.4 * payoff), rel=1e-4)
    assert (noise.chances <= np.exp(-0.4 - 0.3 + 0.4 * payoff) * (1 + 1e-12)).all()
    assert after.sample[:3].tolist() == [0, 2, 3]
    assert len(after.sample) == 4, "dropped queries are replaced"
    assert move.signs[:3].tolist() == [1, -1, -1]
    assert len(book.charged) == 2


def test_refills_are_cut_to_what_the_schedule_has_left() -> None:
    game = bits(3, 10)
    state = Sampled(Weights(game.truth(), np.zeros(2), 0), np.arange(4))
    whole = MemoryBook(PLENTY)
    dropped = Scripted([False] * 4)
    reused(4).step(Gate(whole, noise=dropped), state, record(game, 0))
    coins, draws = (price.rho for _, price in whole.charged)
    for part, left in ((Fraction(0), 0), (Fraction(5, 8), 2), (Fraction(2), 4)):
        book = MemoryBook(PLENTY)
        after, _ = reused(4, coins + part * draws).step(Gate(book, noise=dropped), state, record(game, 0))
        assert len(after.sample) == left
        assert book.spent.rho <= coins + min(part, Fraction(1)) * draws


def test_a_sample_that_is_used_up_is_drawn_anew() -> None:
    game = bits(3, 10)
    state = Sampled(Weights(game.truth(), np.zeros(2), 3), np.zeros(0, dtype=np.int64))
    after, _ = reused(4).step(Gate(MemoryBook(PLENTY), noise=NoNoise()), state, record(game, 0))
    assert len(after.sample) == 4


def test_dqrs_never_spends_more_than_its_plan_and_finishes() -> None:
    game = triples(num_rows=500)
    setting = Setting(game.workload, 500, Fraction(1, 2), None, 1, 2**30)
    algorithm = create("dqrs", {"num_rounds": 60, "num_draws": 30, "num_records": 2})
    plan = algorithm.plan(setting)
    players = algorithm.players(setting, plan)
    for seed, noise in itertools.product((0, 1), (SeededNoise(2), Scripted([False] * 30))):
        book = MemoryBook(plan.reserve)
        if isinstance(noise, Scripted):
            noise.coins = lambda exponents, scale: np.zeros(len(exponents), dtype=bool)  # type: ignore[method-assign]
        play(
            gate=Gate(book, noise=noise),
            truth=game.truth(),
            workload=game.workload,
            query_player=players.query_player,
            data_player=players.data_player,
            num_rounds=plan.num_rounds,
            seed=seed,
        )
        assert Fraction(1, 2) * plan.cost.rho <= book.spent.rho <= plan.cost.rho
        assert len(book.stored) == 60


class Enumerated(NoNoise):
    """Coins and draws that come out as told; `chance` is how likely that is, by their laws."""

    def __init__(self, heads: tuple[bool, ...], drawn: tuple[int, ...]) -> None:
        self.heads, self.drawn, self.chance = heads, drawn, 1.0

    def coins(self, exponents: np.ndarray, scale: float) -> np.ndarray:
        chances = np.exp(-exponents / scale)
        self.chance *= math.prod(c if head else 1 - c for c, head in zip(chances, self.heads, strict=True))
        return np.array(self.heads)

    def draws(self, scores: np.ndarray, scale: float, num_draws: int) -> np.ndarray:
        weights = np.exp((scores - scores.max()) / scale)
        self.chance *= math.prod(weights[list(self.drawn)] / weights.sum())
        return np.array(self.drawn, dtype=np.int64)


def deviation(oracle: Callable[[tuple[int, ...]], int]) -> float:
    """How far (total variation, at worst) the sample's law given the record is from fresh draws by the new weights.

    Three of ten records are 1; four positions (two queries, two negations), samples of two, of which the first has the
    law of the weights after one record. `oracle` says which record answers a sample.
    """
    game = bits(3, 10)
    before = Weights(game.truth(), np.zeros(2), 0).updated(record(game, 0))
    laws = {0: np.zeros((4, 4)), 1: np.zeros((4, 4))}
    for sample in itertools.product(range(4), repeat=2):
        bit, first = oracle(sample), float(_law_after(before)[list(sample)].prod())
        for heads in itertools.product((True, False), repeat=2):
            for drawn in itertools.product(range(4), repeat=2 - sum(heads)):
                noise = Enumerated(heads, drawn)
                gate = Gate(MemoryBook(PLENTY), noise=noise)
                after, _ = reused(2).step(gate, Sampled(before, np.array(sample)), record(game, bit))
                # Refills stand behind what was kept: back to where the dropped ones were.
                kept, fresh = iter(after.sample[: sum(heads)]), iter(after.sample[sum(heads) :])
                place = tuple(int(next(kept if head else fresh)) for head in heads)
                laws[bit][place] += first * noise.chance
    assert sum(law.sum() for law in laws.values()) == pytest.approx(1)
    far = [
        np.abs(law / law.sum() - np.outer(new, new)).sum() / 2
        for bit, law in laws.items()
        if law.any()
        for new in [_law_after(before.updated(record(game, bit)))]
    ]
    return float(max(far))


def _law_after(state: Weights) -> np.ndarray:
    payoffs = state.num_updates * np.array([0.7, 0.3]) - state.sums
    return law(np.concatenate([payoffs, -payoffs]))


def test_a_refilled_sample_is_one_of_fresh_draws_exactly_if_the_record_ignored_it() -> None:
    """Every coin and every refill of two draws enumerated (vietri2020new, Lemma 10; Theorem 9 takes it for granted).

    The slack is rounded up to the grid of the scores, hence the tolerance. A record that answers the sample, as the
    game's do, is not independent of it: that is why no bound is claimed for DQRS.
    """
    assert deviation(lambda sample: 0) < 2e-5
    assert deviation(lambda sample: 1) < 2e-5
    holds_on_one = np.array([-1, 1, 1, -1])
    assert deviation(lambda sample: int(holds_on_one[list(sample)].sum() > 0)) > 0.05
