"""Which mechanism learns, from which class, at what price: decided from public facts, before a record is read.

exponential    every query of the class is scored: nothing rests on a solver, error about 2 log|Q|/epsilon records
rspm           a solver finds the best query for the records and noise on the separators: for classes that cannot be
               enumerated. Its guarantee is conditional on the solver's certificate (docs/s003.md)
gaussian_rspm  the same with Gaussian noise and a delta: less noise than rspm from about 40 separators on
prsma          rspm on random blocks, conditional on nothing; its solver calls are more than a machine can make, and
               it is refused, unless delta is very large
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from equipoise.algorithms.algorithm import price
from equipoise.errors import SettingError
from equipoise.oracles.classes.branching import ByBranching
from equipoise.oracles.classes.conjunctions import Conjunctions, Disjunctions
from equipoise.oracles.classes.decision_lists import DecisionLists
from equipoise.oracles.classes.halfspaces import Halfspaces
from equipoise.oracles.classes.minimisers import ByProgram
from equipoise.oracles.classes.parities import Parities
from equipoise.oracles.classes.query_class import Minimiser, QueryClass
from equipoise.privacy import accountant
from equipoise.privacy.accountant import Cost
from equipoise.privacy.events import Event
from equipoise.privacy.learner import MECHANISMS, PURE, Learner
from equipoise.privacy.prsma import MAX_CALLS
from equipoise.statement import coverage, listed_events

__all__ = ["CLASSES", "Learning", "guarantee", "plan_learning"]

CLASSES: Mapping[str, Callable[[int], QueryClass]] = MappingProxyType(
    {
        "conjunctions": Conjunctions,
        "disjunctions": Disjunctions,
        "parities": Parities,
        "halfspaces": Halfspaces,
        "decision_lists": DecisionLists,
    }
)
MAX_LITERALS = 2
"""Of a conjunction or disjunction unless told otherwise: readable, and quickly enumerated for a hundred literals."""

MAX_CELLS = 5 * 10**7
"""Queries times features up to which a class is enumerated: 400 MB of parameters."""


@dataclass(frozen=True)
class Learning:
    """What learning will do and cost.

    Attributes:
        learner: Where the rule is sought, how, and under which guarantee for one record.
        rows_per_unit: Records that a privacy unit may have.
    """

    learner: Learner
    rows_per_unit: int = 1

    @property
    def event(self) -> Event:
        """As the gate will charge it."""
        return price(self.learner.event, self.rows_per_unit)

    @property
    def reserve(self) -> Cost:
        """Its price."""
        return accountant.cost(self.event)


def plan_learning(
    name: str,
    num_features: int,
    *,
    epsilon: float,
    delta: float | None = None,
    max_literals: int | None = None,
    num_records: int,
    mechanism: str = "exponential",
    rows_per_unit: int = 1,
    max_calls: int = MAX_CALLS,
) -> Learning:
    """The plan for a class, by its name.

    Args:
        name: One of `CLASSES`.
        num_features: Bits of a record.
        epsilon: Of the guarantee, for a unit.
        delta: Of the guarantee, for the mechanisms that have one; None for 1/n².
        max_literals: Most literals of a conjunction or disjunction; None for 2, or fewer if there are fewer bits.
        num_records: Of the table.
        mechanism: One of `MECHANISMS`. RSPM is never taken unasked: its guarantee is conditional.
        rows_per_unit: Records that a privacy unit may have.
        max_calls: Solver calls beyond which PRSMA is refused.

    Raises:
        SettingError: a name is unknown, a number out of range, or the mechanism cannot take the class, or would learn
            nothing but noise.
        CapacityError: PRSMA would call the solver too often.

    Example:
        >>> plan = plan_learning("parities", 144, epsilon=1.0, num_records=40_000, mechanism="rspm")
        >>> plan.reserve.conditional_epsilon
        Fraction(1, 1)
    """
    if not isinstance(epsilon, int | float) or not 0 < epsilon < math.inf:
        raise SettingError("epsilon must be a positive number; 1 is a common choice, smaller is more private")
    if mechanism not in MECHANISMS:
        raise SettingError(f"there is no mechanism {mechanism!r}; choose one of {', '.join(MECHANISMS)}")
    query_class = _class_of(name, num_features, max_literals)
    if mechanism == "exponential" and query_class.num_queries * num_features > MAX_CELLS:
        raise SettingError(
            f"the exponential mechanism tries every query, and the {name} over {num_features} literals are too many;"
            " use fewer columns or literals, or the mechanism rspm, if a guarantee that is conditional on a solver's"
            " certificate will do"
        )
    few = isinstance(query_class, Conjunctions | Disjunctions)
    minimiser: Minimiser = ByBranching() if few else ByProgram()
    if mechanism != "exponential" and (reason := minimiser.refuses(query_class)) is not None:
        raise SettingError(f"{minimiser.name} cannot be used: {reason}")
    each, own = Fraction(epsilon) / rows_per_unit, _delta(mechanism, delta, num_records)
    learner = Learner(query_class, mechanism, each, own, minimiser, num_records, max_calls)
    plan = Learning(learner, rows_per_unit)
    plan.reserve  # noqa: B018  what has no price, such as PRSMA with too many calls, is refused here
    if learner.noise_scale >= num_records:
        raise SettingError(
            f"{mechanism} would add noise of scale {learner.noise_scale:,.0f} to each of {learner.num_separators:,}"
            f" separators, for a table of {num_records:,} records, and learn nothing; use fewer columns, or a larger"
            " epsilon"
        )
    return plan


def _delta(mechanism: str, delta: float | None, num_records: int) -> Fraction:
    if mechanism in PURE:
        if delta is not None:
            raise SettingError(f"{mechanism} is pure: it has no delta; leave it out, or use gaussian_rspm")
        return Fraction(0)
    chosen = 1 / num_records**2 if delta is None else delta
    if not isinstance(chosen, int | float) or not 0 < chosen < 1 / num_records:
        raise SettingError("delta must be above 0 and below 1/n; the default is 1/n²")
    return Fraction(chosen)


def _class_of(name: str, num_features: int, max_literals: int | None) -> QueryClass:
    if name not in CLASSES:
        raise SettingError(f"there is no class {name!r}; choose one of {', '.join(CLASSES)}")
    if num_features < 1:
        raise SettingError("there is nothing to learn from: no column is left besides the target's")
    if name in ("conjunctions", "disjunctions"):
        limited = Conjunctions if name == "conjunctions" else Disjunctions
        most = min(MAX_LITERALS, num_features) if max_literals is None else max_literals
        if not 1 <= most <= num_features:
            raise SettingError(f"max_literals must lie between 1 and the number of literals, {num_features}")
        return limited(num_features, max_literals=most)
    if max_literals is not None:
        raise SettingError(f"max_literals is for conjunctions and disjunctions; leave it out for {name}")
    return CLASSES[name](num_features)


def guarantee(plan: Learning, charged: list[Event], unit: str | None = None) -> dict[str, Any]:
    """What is guaranteed to whom, and the events that it adds up, for a statement."""
    total = accountant.total((event, 1) for event in charged)
    learner = plan.learner
    pure = learner.mechanism in PURE
    return {
        "guarantee": {
            "epsilon": float(learner.epsilon * plan.rows_per_unit),
            "delta": float(learner.delta),
            "rho": float(total.rho),
            "rho_exact": str(total.rho),
            **({"pure_epsilon": str(total.epsilon)} if pure else {}),
            "definition": "pure differential privacy" if pure else "(epsilon, delta)-differential privacy",
            **coverage(total, unit, plan.rows_per_unit),
        },
        "events": listed_events(charged, lambda cost: cost.rho),
    }
