"""What a mechanism did, as a record: its kind and parameters, never a pre-computed cost.

The ledger stores events; `equipoise.privacy.accountant` prices them, so a better accountant can re-price an old ledger.
Compatibility rule: a kind is never removed and its parameters never change meaning; a new meaning is a new kind.
All numbers are exact rationals.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, TypeAlias

from equipoise.privacy.composed_events import (
    AnalystGame,
    CappedHedge,
    Gated,
    Prsma,
    SeparatorGaussian,
    SeparatorLaplace,
)
from equipoise.privacy.primitive_events import (
    AboveThreshold,
    Coins,
    ConditionalRelease,
    Draws,
    Exponential,
    Gaussian,
    Laplace,
    NoisyStop,
    PermuteAndFlip,
    Record,
)

__all__ = [
    "AboveThreshold",
    "AnalystGame",
    "CappedHedge",
    "Coins",
    "ConditionalRelease",
    "Draws",
    "Event",
    "Exponential",
    "Gated",
    "Gaussian",
    "Group",
    "Laplace",
    "NoisyStop",
    "PermuteAndFlip",
    "Prsma",
    "SeparatorGaussian",
    "SeparatorLaplace",
    "Simple",
    "Tuned",
    "conditional",
]

Simple: TypeAlias = (
    Gaussian
    | Laplace
    | Exponential
    | PermuteAndFlip
    | ConditionalRelease
    | Draws
    | Coins
    | SeparatorLaplace
    | SeparatorGaussian
    | Prsma
    | AboveThreshold
    | CappedHedge
    | NoisyStop
    | AnalystGame
    | Gated
)
"""Events that a mechanism charges: what `Group` may stand around. A new event is a class, and a line here."""


@dataclass(frozen=True)
class Group(Record):
    """Another event, seen by neighbours that differ in up to `size` records (several rows a person)."""

    kind: ClassVar[str] = "group"

    event: Simple
    size: int


@dataclass(frozen=True)
class Tuned(Record):
    """The best of a random number of runs, each scored privately and held to a budget of its own (P11).

    Attributes:
        budget: What the gate lets one run spend, its score included, for one unit: rho, or epsilon if `pure`.
        pure: Whether the budget is a pure one.
        law: Of the number of runs: "logarithmic" or "geometric" (`privacy.random_runs`).
        stop: The law's parameter, strictly between 0 and 1; small means many runs.
    """

    kind: ClassVar[str] = "tuned"
    below_one: ClassVar[tuple[str, ...]] = ("stop",)

    budget: Fraction
    pure: bool
    law: str
    stop: Fraction


Event: TypeAlias = Simple | Group | Tuned


def conditional(event: Event) -> bool:
    """Whether the event's price holds only if a solver's certificates do, on this table and on its neighbours.

    Example:
        >>> conditional(Group(SeparatorLaplace(3, 64, 0, Fraction(387)), 2)), conditional(Exponential(Fraction(1)))
        (True, False)
    """
    inner = event.event if isinstance(event, Group) else event
    return isinstance(inner, SeparatorLaplace | SeparatorGaussian)
