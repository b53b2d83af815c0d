"""What a session will do and cost, in each of its modes: from public facts alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from equipoise.analysts.terms import FAILURE, Terms, laplace_reach
from equipoise.privacy import accountant
from equipoise.privacy.accountant import Cost
from equipoise.privacy.events import ConditionalRelease, Event, Gaussian

__all__ = ["Mode", "SessionPlan", "plan_noise", "smallest_tau", "window_plan"]

Mode: TypeAlias = Literal["online", "pmw", "noise"]


@dataclass(frozen=True)
class SessionPlan:
    """What a session will do and cost: from public facts alone.

    Attributes:
        asked: The mode that was asked for.
        mode: The mode it has: "noise" where the one asked for cannot do better than noise on every answer.
        reason: Why, in a sentence, when the two differ; else empty.
        half_width: Of an answer from the hypothesis (online, pmw), or of every answer (noise).
        paid_half_width: Of an answer with noise of its own.
        max_paid: Answers with noise of their own that the session has paid for.
        parameters: All of the mechanism's, by name: numbers, and exact fractions as text.
        protects_analysts: Whether analysts' queries are private too; not in mode "pmw".
        events: What the table's account is charged at the start.
        analyst_events: What the analysts' account is charged at the start.
        reserve: The most that the session can cost the table's account.
    """

    asked: Mode
    mode: Mode
    reason: str
    half_width: float
    paid_half_width: float
    max_paid: int
    parameters: Mapping[str, Any]
    protects_analysts: bool
    events: tuple[Event, ...]
    analyst_events: tuple[Event, ...]
    reserve: Cost

    def number(self, name: str) -> int:
        """A whole parameter."""
        return int(self.parameters[name])

    def fraction(self, name: str) -> Fraction:
        """An exact parameter."""
        return Fraction(self.parameters[name])

    def to_json(self) -> dict[str, Any]:
        """As plain values, for ledger and statement."""
        return {
            "method": f"analysts ({self.mode})",
            "asked": self.asked,
            "reason": self.reason,
            "half_width": self.half_width,
            "paid_half_width": self.paid_half_width,
            "num_rounds": self.max_paid,
            "parameters": dict(self.parameters),
            "protects_analysts": self.protects_analysts,
        }


def plan_noise(terms: Terms, asked: Mode = "noise", reason: str = "") -> SessionPlan:
    """Every answer with Gaussian noise of its own, for an equal share of the budget (P1).

    Private for analysts without any budget: an answer depends on one query, its own noise, and public numbers.
    """
    share = terms.rho / (terms.num_queries * terms.rows_per_unit**2)
    stddev = accountant.stddev_of(rho=share)
    event = Gaussian(Fraction(1), Fraction(stddev) ** 2)
    reach = stddev * math.sqrt(2 * math.log(2 * terms.num_queries / FAILURE)) / terms.num_rows
    price = accountant.cost(event).rho * terms.rows_per_unit**2
    return SessionPlan(
        asked,
        "noise",
        reason,
        min(1.0, reach),
        min(1.0, reach),
        terms.num_queries,
        {"stddev": stddev},
        True,
        (),
        (),
        Cost(price * terms.num_queries, None),
    )


def window_plan(
    terms: Terms,
    mode: Mode,
    tests: ConditionalRelease,
    threshold: int,
    parameters: Mapping[str, Any],
    analyst_events: tuple[Event, ...],
) -> SessionPlan:
    """A session that tests each query against a window of `threshold` counts around the hypothesis's answer.

    Half-widths: the noise of none of the k tests exceeds its reach but with probability FAILURE. An answer from the
    hypothesis passed its test, so it is off by the threshold and the reach at most; a paid one by the reach.
    """
    reach = laplace_reach(1 / tests.epsilon, terms.num_queries, FAILURE)
    known: dict[str, Any] = {"tests_epsilon": str(tests.epsilon), "threshold": threshold, "noise_reach": reach}
    return SessionPlan(
        mode,
        mode,
        "",
        min(1.0, (threshold + reach) / terms.num_rows),
        min(1.0, reach / terms.num_rows),
        tests.max_hits,
        {**known, **parameters},
        mode == "online",
        (tests,),
        analyst_events,
        accountant.cost(tests),
    )


def smallest_tau(plan_at: Callable[[float], SessionPlan | None]) -> SessionPlan | None:
    """The plan with the smallest tau, to within one in a hundred; None when no tau below 1 works."""
    found, holds, bad = plan_at(1.0), 1.0, 1e-6
    while found is not None and holds / bad > 1.01:
        middle = math.sqrt(holds * bad)  # halves the range in logarithms
        better = plan_at(middle)
        if better is None:
            bad = middle
        else:
            found, holds = better, middle
    return found
