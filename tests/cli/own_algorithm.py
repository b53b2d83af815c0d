"""A user's algorithm, written to the player protocols, and the same with each of the mistakes that an audit must find.

It measures the first two cells, a whole marginal of the toy table, in each of two rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from equipoise.algorithms import Forecast, Plan, Players, Setting
from equipoise.algorithms.mwem import Mwem
from equipoise.core import Move
from equipoise.privacy.cost import Cost
from equipoise.privacy.events import Gaussian
from equipoise.privacy.gate import Gate, Turn
from equipoise.privacy.private import Private, reveal
from equipoise.queries.played import Played

IDS = np.arange(2)


def _debit(turn: Turn, event: Gaussian) -> None:
    turn.debit(event)


@dataclass(frozen=True)
class Measurer:
    """Measures the same cells in every round."""

    stddev: float
    share_of_noise: float = 1.0
    pay: Callable[[Turn, Gaussian], None] = _debit

    def init(self, truth: Private) -> Private:
        return truth

    def step(self, gate: Gate, state: Private, played: Played) -> tuple[Private, Move]:
        def draw(turn: Turn) -> Move:
            self.pay(turn, Gaussian(Fraction(2), Fraction(self.stddev) ** 2))
            noisy = turn.noise.gaussian(reveal(state.take(IDS)), self.share_of_noise * self.stddev)
            return Move(IDS, np.ones(2, dtype=np.int64), noisy, self.stddev)

        return state, gate.play(draw)

    def recall(self, state: Private, played: Played, move: Move) -> Private:
        return state


@dataclass(frozen=True)
class Correct:
    """Two rounds for a budget of two."""

    name: ClassVar[str] = "correct"
    title: ClassVar[str] = "two cells, twice"
    citations: ClassVar[tuple[str, ...]] = ()
    guarantee: ClassVar[str] = "zCDP by Gaussian measurements"
    when: ClassVar[str] = "in tests"
    num_rounds: ClassVar[int] = 2
    num_paid: ClassVar[int] = 2

    def plan(self, setting: Setting) -> Plan:
        event = Gaussian(Fraction(2), Fraction(self._stddev(setting)) ** 2)
        events = ((event, self.num_paid),)
        return Plan(self.name, {}, self.num_rounds, events, False, 2**20, Forecast(0.0, 0.0), setting.workload)

    def players(self, setting: Setting, plan: Plan) -> Players:
        inner = Mwem(num_rounds=2, moves="cell")
        players = inner.players(setting, inner.plan(setting))
        return replace(players, query_player=self._measurer(self._stddev(setting)))

    def _measurer(self, stddev: float) -> Measurer:
        return Measurer(stddev)

    def _stddev(self, setting: Setting) -> float:
        """Two rounds of a marginal's 1/stddev^2 make rho; a little more noise, so that floats do not matter."""
        return math.sqrt(2 / setting.rho_per_record) * (1 + 1e-9)


class HalfNoise(Correct):
    """Half of the noise that is charged for."""

    name: ClassVar[str] = "half_noise"

    def _measurer(self, stddev: float) -> Measurer:
        return Measurer(stddev, share_of_noise=0.5)


def _give_back(turn: Turn, event: Gaussian) -> None:
    turn.charge(event, Cost(-event.sensitivity_squared / (2 * event.variance), None))


class NegativeCharge(Correct):
    """Beside the gate's own debit, a charge with its sign turned round."""

    name: ClassVar[str] = "negative_charge"

    def _measurer(self, stddev: float) -> Measurer:
        return Measurer(stddev, pay=_give_back)


class NegativeEvent(Correct):
    """The same within an event."""

    name: ClassVar[str] = "negative_event"

    def _measurer(self, stddev: float) -> Measurer:
        return Measurer(stddev, pay=lambda turn, event: turn.debit(Gaussian(Fraction(-2), event.variance)))


class UnpaidRound(Correct):
    """One round more than is in the plan's price."""

    name: ClassVar[str] = "unpaid_round"
    num_rounds: ClassVar[int] = 3


class RoundTooMany(Correct):
    """One round more than the budget has room for, in the plan's price too."""

    name: ClassVar[str] = "round_too_many"
    num_rounds: ClassVar[int] = 3
    num_paid: ClassVar[int] = 3
