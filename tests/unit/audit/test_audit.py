"""The audit tells a true charge from a false one; it needs nothing but the protocols."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest

from equipoise.algorithms import Plan, Players, Setting, create
from equipoise.algorithms.mwem import Mwem
from equipoise.audit.enumeration import Made, enumerate_move, loss_of
from equipoise.audit.laws import factors_of
from equipoise.audit.less_noise import LessNoise
from equipoise.audit.sampling import FAILURE, Sampled, epsilon_bound, rho_bound, sample
from equipoise.audit.subject import quick_options, subject_of
from equipoise.audit.table import audit, audits
from equipoise.core import Move
from equipoise.errors import SettingError
from equipoise.privacy.accountant import cost
from equipoise.privacy.cost import Cost
from equipoise.privacy.events import Exponential, Gaussian, Laplace
from equipoise.privacy.noise import ExactNoise, Noise
from equipoise.privacy.private import reveal

NOTHING = Move(np.array([0]), np.array([0]), None, 0.0)
QUICK = ("auto", "mixture", "mwem")


@pytest.mark.parametrize("method", QUICK)
def test_charges_hold_and_half_the_noise_is_found_out(method: str) -> None:
    found = list(audits(only=(method,)))
    assert found
    for each in found:
        assert each.holds
        assert each.control_found
        assert 0 < each.measured <= each.claimed * (1 + 1e-9)
        assert each.to_json()["half_the_noise"] > each.measured


def test_a_static_plan_is_found_to_cost_exactly_what_it_is_charged() -> None:
    [found] = audits(only=("mixture",))
    assert found.measured == pytest.approx(found.claimed, rel=1e-3)


def worlds(first: int, second: int, event: Gaussian | Laplace, scale: float):  # type: ignore[no-untyped-def]
    def world(count: int):  # type: ignore[no-untyped-def]
        def play(noise: Noise) -> Made:
            draw = noise.gaussian if isinstance(event, Gaussian) else noise.laplace
            ids = np.array([0])
            return Made(Move(ids, ids, draw(np.array([count], dtype=np.int64), scale), scale), cost(event))

        return play

    return world(first), world(second)


def test_a_marginal_charged_for_sensitivity_1_is_found_out() -> None:
    """All cells of a marginal move by 1 in two of them: squared sensitivity 2, a common mistake."""
    for charged, holds in ((2, True), (1, False)):

        def world(counts: list[int], charged: int = charged):  # type: ignore[no-untyped-def]
            def play(noise: Noise) -> Made:
                noise.gaussian(np.array(counts, dtype=np.int64), 3.0)
                return Made(NOTHING, cost(Gaussian(Fraction(charged), Fraction(9))))

            return play

        assert loss_of(enumerate_move(world([4, 6]), world([5, 5]))).holds == holds


def test_several_selections_charged_as_one_are_found_out() -> None:
    for charged, holds in ((3, True), (1, False)):

        def world(scores: list[int], charged: int = charged):  # type: ignore[no-untyped-def]
            def play(noise: Noise) -> Made:
                noise.largest(np.array(scores, dtype=np.int64), 1.0, 3, "gumbel")  # epsilon 2
                return Made(NOTHING, cost(Exponential(Fraction(2), charged)))

            return play

        assert loss_of(enumerate_move(world([1, 0, 1, 0]), world([0, 1, 0, 1]))).holds == holds


def test_a_selection_at_twice_its_parameter_is_found_out() -> None:
    subject = subject_of(create("mwem", quick_options(Mwem)))
    assert loss_of(subject.law(0)).holds
    assert not loss_of(subject.law(0, sabotage=0.4, only=("largest",))).holds
    assert not loss_of(subject.law(0, sabotage=0.5, only=("gaussian",))).holds


def test_a_charge_or_a_draw_that_depends_on_the_table_is_told() -> None:
    cheap, dear = (
        worlds(4, 5, Gaussian(Fraction(1), Fraction(9)), 3.0)[0],
        worlds(4, 5, Laplace(Fraction(1), Fraction(3)), 3.0)[1],
    )
    with pytest.raises(SettingError, match="leaks"):
        enumerate_move(cheap, dear)
    one, two = worlds(4, 5, Gaussian(Fraction(1), Fraction(9)), 3.0)
    with pytest.raises(SettingError, match="leaks"):
        enumerate_move(one, lambda noise: two(noise)._replace(charge=Cost(Fraction(1))))


def test_a_move_that_tells_more_than_its_noise_is_told() -> None:
    """A count beside the noise, a choice by an exact score, another stopping time: all at the same noise."""
    one, two = worlds(4, 5, Gaussian(Fraction(1), Fraction(9)), 3.0)
    assert loss_of(enumerate_move(one, two)).holds
    for name, told in (("ids", 1), ("signs", 1), ("stddev", 2.0), ("values", None)):

        def telling(noise: Noise, name: str = name, told: object = told) -> Made:
            made = two(noise)
            value = None if told is None else np.array([told]) if name != "stddev" else told
            return made._replace(move=made.move._replace(**{name: value}))

        with pytest.raises(SettingError, match="leaks"):
            enumerate_move(one, telling)
    with pytest.raises(SettingError, match="leaks"):
        enumerate_move(one, lambda noise: two(noise)._replace(over=True))


def test_laws_are_laws() -> None:
    numbers = np.array([3, 1, 2], dtype=np.int64)
    for kind, more in (
        ("gaussian", {}),
        ("laplace", {}),
        ("draws", {"num_draws": 2}),
        ("coins", {}),
        ("largest", {"num_selected": 2, "law": "gumbel"}),
        ("largest", {"num_selected": 1, "law": "exponential"}),
    ):
        for part in factors_of(kind, numbers, numbers + 1, (2.0, 2.0), **more):
            assert np.exp(part.here).sum() == pytest.approx(1, abs=1e-4)
            assert np.exp(part.there).sum() == pytest.approx(1, abs=1e-4)


def runs_of(count: int, scale: float):  # type: ignore[no-untyped-def]
    noise, ids = ExactNoise(), np.array([0])

    def move() -> Move:
        return Move(ids, ids, noise.gaussian(np.array([count], dtype=np.int64), scale), scale)

    return move


def test_sampling_passes_the_claimed_noise_and_finds_half_of_it() -> None:
    """4,000 runs on each table; false alarm: 1e-10. With the claimed noise the event "at least 1" has probabilities .70
    and .30, and rho is found to be about .13 (of .5): above .05, unless the two frequencies together are missed by .1,
    7 standard deviations (below 1e-11). With .3 of it they are .997 and .003, and rho is found to be above 1."""
    charge = cost(Gaussian(Fraction(1), Fraction(1)))
    fair = sample(runs_of(0, 1.0), runs_of(1, 1.0), charge, num_runs=4000, delta=1e-2)
    assert fair.holds
    assert fair.found > 0.5
    assert fair.found_rho > 0.05
    control = sample(runs_of(0, 0.3), runs_of(1, 0.3), charge, num_runs=4000, delta=1e-2)
    assert not control.holds
    assert control.found_rho > 2 * control.claimed_rho
    assert control.found > control.claimed


def test_a_loss_of_one_kind_is_enough_to_break_a_claim() -> None:
    told = sample(runs_of(0, 0.3), runs_of(1, 0.3), cost(Gaussian(Fraction(1), Fraction(1))), num_runs=1000, delta=1e-2)
    assert not told.holds
    assert not told._replace(found=0.0).holds
    assert not told._replace(found_rho=0.0, found=told.claimed + 1e-9).holds
    assert told._replace(found_rho=0.0, found=0.0).holds


def test_the_bounds_say_nothing_of_equal_runs() -> None:
    same = np.zeros(1000)
    for delta in (0.0, 0.5, 0.99):
        assert epsilon_bound(same, same, delta=delta) == 0
        assert epsilon_bound(same[:2], same[:2], delta=delta) == 0
    assert rho_bound(same, same) == rho_bound(same[:2], same[:2]) == 0
    mixed = np.arange(1000) % 2
    assert epsilon_bound(mixed, mixed, delta=0.0) == 0
    assert rho_bound(mixed, mixed) == pytest.approx(0, abs=1e-12)


def test_the_bounds_of_certain_events_are_those_of_clopper_and_pearson() -> None:
    """All of the 1,500 runs that count against none: p and 1 - q are each at least (failure / 8)^(1/1500)."""
    ones, zeros = np.ones(2000), np.zeros(2000)
    p = (FAILURE / 8) ** (1 / 1500)
    assert epsilon_bound(ones, zeros, delta=0.0) == pytest.approx(math.log(p / (1 - p)))
    assert epsilon_bound(ones, zeros, delta=0.2) == pytest.approx(math.log((p - 0.2) / (1 - p)))
    log_of = {a: math.log(p**a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a)) for a in (1.01, 1.5, 2, 4, 16)}
    assert rho_bound(ones, zeros) == pytest.approx(max(log / (a * (a - 1)) for a, log in log_of.items()))


def test_too_little_noise_of_a_whole_move_is_found_out_by_runs() -> None:
    """1,000 runs on each table. With a quarter of the noise events have probabilities near .98 and .02, rho is 8 and .5
    are claimed: to miss it, the half that counts would have to show .75 and .25 (below 1e-80). False alarm: 1e-10."""
    subject = subject_of(create("hdmm", {}))
    charge = subject.play(subject.game.rows, 0).charge

    def sampled(noise: Noise) -> Sampled:
        here, there = subject.game.rows, subject.neighbour
        worlds = (lambda rows=rows: subject.play(rows, 0, noise).move for rows in (here, there))
        return sample(*worlds, charge, num_runs=1000, delta=1e-3)

    assert sampled(ExactNoise()).holds
    assert not sampled(LessNoise(0.25)).holds


@pytest.mark.slow
def test_half_the_noise_of_many_measurements_is_found_out_by_2000_runs() -> None:
    """All marginals at once, rho 2 where .5 are claimed. The bound found is .66 with a deviation of .035 (24 audits):
    to miss it would take 4.5 deviations (below 1e-5), so a second attempt is made; both fail with 1e-10."""
    subject = subject_of(create("auto", {}))
    charge, half = subject.play(subject.game.rows, 0).charge, LessNoise(0.5)

    def found_out() -> bool:
        worlds = (lambda rows=rows: subject.play(rows, 0, half).move for rows in (subject.game.rows, subject.neighbour))
        return not sample(*worlds, charge, num_runs=2000, delta=1e-3).holds

    assert found_out() or found_out()


def moves_of(shift: int, queries: int, rng: np.random.Generator):  # type: ignore[no-untyped-def]
    """A move of many queries, each measured with deviation 2; the last four of them move by one."""
    ids, off = np.arange(queries), np.zeros(queries, dtype=np.int64)
    off[-4:] = shift
    return lambda: Move(ids, ids * 0, off + np.rint(rng.normal(scale=2.0, size=queries)).astype(np.int64), 2.0)


def test_every_value_of_a_move_is_looked_at() -> None:
    """20 queries, of which the last four tell: together rho is .5. False alarm 1e-10. With a tenth claimed, it is
    found out: of events with .69 and .31, 3,000 runs show .60 and .40 (rho .13 by the interval at 6.6 deviations)."""
    rng = np.random.default_rng(0)
    charge = cost(Gaussian(Fraction(1), Fraction(1)))
    fair = sample(moves_of(0, 20, rng), moves_of(1, 20, rng), charge, num_runs=4000, delta=1e-2)
    assert fair.holds
    assert fair.found_rho > 0.05
    assert not fair._replace(claimed_rho=0.05).holds


def test_which_queries_are_drawn_is_looked_at_with_their_signs() -> None:
    """Four draws a move, of a query or its complement; from the second on, the one with .7 and .3."""
    rng = np.random.default_rng(1)

    def draws(share: float):  # type: ignore[no-untyped-def]
        def move() -> Move:
            signs = np.where(rng.random(4) < share, 1, -1)
            signs[0] = 1
            return Move(np.zeros(4, dtype=np.int64), signs, None, 0.0)

        return move

    found = sample(draws(0.7), draws(0.3), Cost(Fraction(1, 2), Fraction(2)), num_runs=2000, delta=0.0)
    assert found.found_rho > 0.15
    assert found.found > 0.9
    few = sample(draws(0.7), draws(0.3), Cost(Fraction(1, 2), Fraction(2)), num_runs=2, delta=0.0)
    assert few.found == few.found_rho == 0


def test_an_audit_with_runs_has_their_control_beside_them() -> None:
    found = audit(create("hdmm", {}), num_runs=20)
    told = found.to_json()
    assert found.holds
    assert told["sampled"]["num_runs"] == told["half_the_noise_sampled"]["num_runs"] == 20
    assert told["sampled"]["claimed_rho"] == pytest.approx(0.5)
    assert audit(create("hdmm", {})).to_json()["half_the_noise_sampled"] is None


def test_less_noise_is_a_share_of_every_kind() -> None:
    """Without any noise to speak of, everything is certain."""
    noise, counts = LessNoise(1e-4), np.array([5, 9, 1], dtype=np.int64)
    assert noise.gaussian(counts, 3.0).tolist() == noise.laplace(counts, 3.0).tolist() == [5, 9, 1]
    assert noise.largest(counts, 3.0, 2, "gumbel").tolist() == [1, 0]
    assert noise.largest(counts, 3.0, 1, "exponential").tolist() == [1]
    assert noise.draws(counts, 3.0, 4).tolist() == [1] * 4
    assert noise.coins(counts, 3.0).tolist() == [False] * 3


@dataclass(frozen=True)
class TooCheap:
    """A user's algorithm that measures with less noise than it is charged for."""

    name: ClassVar[str] = "too_cheap"

    def plan(self, setting: Setting) -> Plan:
        return self._inner().plan(setting)

    def players(self, setting: Setting, plan: Plan) -> Players:
        players = self._inner().players(setting, plan)
        assert setting.rho is not None
        louder = self._inner().players(
            replace(setting, rho=4 * setting.rho), self._inner().plan(replace(setting, rho=4 * setting.rho))
        )
        return replace(players, query_player=_Cheap(louder.query_player))

    @staticmethod
    def _inner():  # type: ignore[no-untyped-def]
        return create("mwem", {"num_rounds": 1, "moves": "cell"})


@dataclass(frozen=True)
class _Cheap:
    """Plays with four times the budget, and debits a quarter of it."""

    inner: object

    def init(self, truth):  # type: ignore[no-untyped-def]
        return self.inner.init(truth)  # type: ignore[attr-defined]

    def step(self, gate, state, played):  # type: ignore[no-untyped-def]
        class Quarter:
            rows_per_unit = 1
            reserved = Cost(Fraction(100), None)

            def moves(self):  # type: ignore[no-untyped-def]
                return []

            def record(self, number, draw):  # type: ignore[no-untyped-def]
                return draw(lambda event, price: None, Cost())

        from equipoise.privacy.gate import Gate

        state, move = self.inner.step(Gate(Quarter(), noise=gate.noise), state, played)  # type: ignore[attr-defined]
        gate.play(lambda turn: (turn.debit(Exponential(Fraction(1, 100))), move)[1])
        return state, move

    def recall(self, state, played, move):  # type: ignore[no-untyped-def]
        return self.inner.recall(state, played, move)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class BestByTrueError(Mwem):
    """MWEM that says beside its move how far off it was before, by the exact counts: as the best iterate would."""

    def players(self, setting: Setting, plan: Plan) -> Players:
        players = super().players(setting, plan)
        return replace(players, query_player=_Telling(players.query_player))


@dataclass(frozen=True)
class _Telling:
    inner: object

    def init(self, truth):  # type: ignore[no-untyped-def]
        return truth, self.inner.init(truth)  # type: ignore[attr-defined]

    def step(self, gate, state, played):  # type: ignore[no-untyped-def]
        truth, secret = state
        secret, move = self.inner.step(gate, secret, played)  # type: ignore[attr-defined]
        worst = np.argmax(np.abs(reveal(truth) - played.answers * 20))
        return (truth, secret), move._replace(signs=np.full(len(move.ids), worst))

    def recall(self, state, played, move):  # type: ignore[no-untyped-def]
        return state[0], self.inner.recall(state[1], played, move)  # type: ignore[attr-defined]


def test_what_is_chosen_by_an_exact_score_is_found_out() -> None:
    with pytest.raises(SettingError, match="leaks"):
        audit(BestByTrueError(**quick_options(Mwem)))


def test_a_users_algorithm_that_charges_too_little_is_found_out() -> None:
    assert not audit(TooCheap()).holds
