"""What a round will do and cost: from public facts alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from equipoise.analysts.plan import plan_noise
from equipoise.analysts.terms import FAILURE, Terms
from equipoise.privacy import accountant
from equipoise.privacy.accountant import Cost
from equipoise.privacy.analyst_accountant import rate_of
from equipoise.privacy.capped import SLACK
from equipoise.privacy.events import AnalystGame, CappedHedge, Event, Gated, Gaussian, Simple

__all__ = ["GameTerms", "RoundMode", "RoundPlan", "best_game", "plan_apart", "plan_noisy"]

RoundMode: TypeAlias = Literal["per-query", "per-analyst", "apart", "noise"]


@dataclass(frozen=True)
class RoundPlan:
    """What a round will do and cost.

    Attributes:
        mode: What it does.
        reason: Why, when that is not what was asked for; else empty.
        half_width: Of an answer that was tested, or has noise of its own; None where each analyst's method says it.
        parameters: All of the mechanism's, by name.
        events: What the table's account is charged.
        analyst_events: What the analysts' account is charged.
    """

    mode: RoundMode
    reason: str
    half_width: float | None
    parameters: Mapping[str, Any]
    events: tuple[Simple, ...]
    analyst_events: tuple[Event, ...]

    @property
    def cost(self) -> Cost:
        """What the table's account is charged, without rows per unit."""
        return accountant.total((event, 1) for event in self.events)

    def to_json(self) -> dict[str, Any]:
        """As plain values, for ledger and statement."""
        return {
            "method": f"analysts, a round ({self.mode})",
            "reason": self.reason,
            "half_width": self.half_width,
            "num_rounds": int(self.parameters.get("num_rounds", 1)),
            "parameters": dict(self.parameters),
        }


def plan_noisy(terms: Terms, reason: str = "") -> RoundPlan:
    """Every answer with Gaussian noise of its own."""
    plain = plan_noise(terms)
    stddev = plain.parameters["stddev"]
    event = Gaussian(Fraction(terms.num_queries), Fraction(stddev) ** 2)
    return RoundPlan("noise", reason, plain.half_width, {"stddev": stddev}, (event,), ())


def plan_apart(terms: Terms, reason: str = "") -> RoundPlan:
    """Every analyst by a method of their own, for an equal share of the budget.

    Perfectly private for analysts: what one is told depends on their own queries and on public numbers.
    """
    budget = terms.rho / (terms.num_analysts * terms.rows_per_unit**2)
    return RoundPlan("apart", reason, None, {"budget": str(budget)}, (Gated(budget, terms.num_analysts),), ())


@dataclass(frozen=True)
class GameTerms:
    """Parameters of a game: T rounds, rate eta, density s, and a bound on the error of what it plays."""

    num_rounds: int
    rate: Fraction
    density: int
    bound: float

    def data_event(self, num_rows: int, draws: int) -> CappedHedge:
        """What it costs people."""
        return CappedHedge(self.rate / num_rows, self.num_rounds, draws, SLACK)

    def analyst_event(self, changed: int, delta: Fraction) -> AnalystGame:
        """What it costs an analyst whose part is so many actions."""
        return AnalystGame(self.num_rounds, Fraction(changed, self.density), self.rate, delta)


def best_game(
    terms: Terms, *, rho: Fraction, analyst_epsilon: Fraction, changed: int, draws: int, num_actions: int
) -> GameTerms | None:
    """The game with the smallest bound among those with a density below the number of actions; None: there is none.

    hsu2013differential, Theorem 3.3, corrected: the rate is the largest that analysts (privacy/analyst_accountant.py)
    and people allow, and at most sqrt(L/T); the bound is eta + L/(eta T) + 4 log(2/beta)/sqrt(T). s = 12 T for each
    action that an analyst's part may change.
    """
    log_actions = max(terms.log_cells, math.log(2 * terms.num_queries))
    best: GameTerms | None = None
    num_rounds = 4
    while 12 * changed * num_rounds < num_actions:
        density = 12 * changed * num_rounds
        allowed = rate_of(
            num_rounds=num_rounds,
            distance=Fraction(changed, density),
            epsilon=float(analyst_epsilon) * (1 - 1e-9),
            delta=float(terms.analyst_delta),
        )
        people = terms.num_rows * math.sqrt(24 * rho / draws / num_rounds**3) * (1 - 1e-4)
        rate = accountant.exact(min(allowed, people, math.sqrt(log_actions / num_rounds)))
        bound = float(rate) + log_actions / (float(rate) * num_rounds) + 4 * math.log(2 / FAILURE) / num_rounds**0.5
        if best is None or bound < best.bound:
            best = GameTerms(num_rounds, rate, density, bound)
        num_rounds = math.ceil(num_rounds * 1.3)
    return best
