"""The privacy statement: what a release guarantees, to whom, and at what cost, for machines and for people."""

from __future__ import annotations

import math
import platform
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from importlib.metadata import version
from typing import Any

from equipoise.algorithms import ALGORITHMS, Algorithm, Plan, Setting
from equipoise.data.schema import Schema
from equipoise.privacy import accountant, events
from equipoise.privacy.accountant import Cost
from equipoise.privacy.event_words import describe_event
from equipoise.privacy.events import Event
from equipoise.privacy.gate import within
from equipoise.privacy.stored_events import to_json

__all__ = [
    "ADJACENCY",
    "CONDITION",
    "conditional_part",
    "coverage",
    "listed_events",
    "outside",
    "statement",
    "versions",
]

PUBLIC_DATA = "The public table is treated as public and as disjoint from the private one; its rows are not protected."
RULES = (
    "Declared, not read from the data. No synthetic record breaks a rule; private records that do, if any, are"
    " protected and counted like all others."
)
CONDITION = (
    "holds if the solver's certificates of optimality are true and would have been given on every neighbouring table"
    " too, whatever the noise"
)
ADJACENCY = "one record replaced by another; the number of records is public"
UNIT_ADJACENCY = "{rows} of one unit ({unit}) replaced; the number of records is public"
CURVE = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
"""Deltas at which the statement gives epsilon, so that a reader need not trust our choice of one."""


def conditional_part(cost: Cost) -> dict[str, Any]:
    """What of a cost is proven, what is not, and what that rests on; nothing where all is proven.

    Example:
        >>> conditional_part(accountant.cost(events.Exponential(Fraction(1))))
        {}
    """
    if not cost.conditional_rho:
        return {}
    pure = None if cost.epsilon is None else str(cost.epsilon - cost.conditional_epsilon)
    return {
        "conditional": {
            "proven_rho": str(cost.rho - cost.conditional_rho),
            "proven_pure_epsilon": pure,
            "conditional_rho": str(cost.conditional_rho),
            "conditional_pure_epsilon": str(cost.conditional_epsilon),
            "condition": CONDITION,
        }
    }


def coverage(total: Cost, unit: str | None, rows_per_unit: int) -> dict[str, Any]:
    """Whom a guarantee covers, its epsilon at several deltas, and which part of it is conditional, if any.

    Example:
        >>> coverage(Cost(), "patient", 1)["adjacency"]
        'the one record of one unit (patient) replaced; the number of records is public'
        >>> coverage(Cost(), "patient", 3)["adjacency"]
        'up to 3 records of one unit (patient) replaced; the number of records is public'
    """
    rows = "the one record" if rows_per_unit == 1 else f"up to {rows_per_unit} records"
    return conditional_part(total) | {
        "adjacency": ADJACENCY if unit is None else UNIT_ADJACENCY.format(rows=rows, unit=unit),
        "unit": unit or "one record",
        "rows_per_unit": rows_per_unit,
        "curve": {f"{d:g}": found for d in CURVE if (found := accountant.epsilon_at(total, delta=d)) < math.inf},
    }


def listed_events(charged: Sequence[Event], rho_of: Callable[[Cost], Fraction]) -> list[dict[str, Any]]:
    """Each event that was charged, how often, in words and at its price."""
    return [
        {
            "event": to_json(event),
            "words": describe_event(event),
            "times": times,
            "rho": float(rho_of(accountant.cost(event) * times)),
            "epsilon": None if (pure := accountant.cost(event).epsilon) is None else float(pure * times),
            **({"conditional": CONDITION} if events.conditional(event) else {}),
        }
        for event, times in Counter(charged).items()
    ]


def versions() -> dict[str, str]:
    """What a result was made with."""
    return {name: version(name) for name in ("equipoise", "opendp", "numpy")} | {"python": platform.python_version()}


def statement(
    *,
    schema: Schema,
    algorithm: Algorithm,
    setting: Setting,
    plan: Plan,
    epsilon: float,
    delta: float,
    charged: Sequence[Event],
    accepted_inferred: Sequence[str],
    run: str,
    workload_text: str,
    tuning: dict[str, Any] | None = None,
    chosen_public: int | None = None,
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """The guarantee of one release, from what the ledger was charged and held it to."""
    total = accountant.total((event, 1) for event in charged)
    total = _held_to(plan, total) if tuning is None else replace(total, gaussian=None)

    def rho_of(cost: Cost) -> Fraction:
        return cost.rho if plan.pure else accountant.rho_at(cost, epsilon=epsilon, delta=delta)

    rho = rho_of(total)
    claim: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rho": float(rho), "rho_exact": str(rho)}
    by = "zCDP" if tuning is None else "Rényi divergence"
    if total.gaussian:
        claim |= {"mu": math.sqrt(2 * total.gaussian), "half_mu_squared_exact": str(total.gaussian)}
        by = "Gaussian differential privacy"
    if plan.pure:
        claim |= {"pure_epsilon": str(total.epsilon), "delta": 0.0}
    return {
        "product": "equipoise",
        "format": 1,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "table": schema.name,
        "num_rows": setting.num_rows,
        "guarantee": claim
        | {
            "definition": "pure differential privacy"
            if plan.pure
            else f"(epsilon, delta)-differential privacy by {by}",
            **coverage(total, schema.unit, setting.rows_per_unit),
        },
        "events": listed_events(charged, rho_of),
        "method": {
            "name": plan.method,
            "title": next((cls.title for cls in ALGORITHMS if cls.name == plan.method), algorithm.title),
            "options": plan.options,
            "num_rounds": plan.num_rounds,
            "measurement_stddev": plan.forecast.measurement_stddev,
            "selection_resolution": plan.forecast.selection_resolution,
            "bound": plan.forecast.bound,
            "notes": list(notes),
        },
        "workload": {
            "text": workload_text,
            "num_queries": setting.workload.num_queries,
            "num_marginals": len(setting.workload.starts) - 1,
            "fingerprint": setting.workload.fingerprint,
        },
        "tuning": tuning,
        "schema_fingerprint": schema.fingerprint,
        "rules": {"impossible": list(schema.impossible), "implies": list(schema.implies), "meaning": RULES}
        if schema.rules
        else None,
        "public_data": _public_data(setting, chosen_public),
        "outside_the_guarantee": outside(accepted_inferred) + ([PUBLIC_DATA] if setting.publics else []),
        "accepted_inferred": list(accepted_inferred),
        "citations": list(algorithm.citations) + ([] if tuning is None else ["papernot2022hyper"]),
        "ledger_run": run,
        "versions": versions(),
    }


def _held_to(plan: Plan, spent: Cost) -> Cost:
    """What a release guarantees: the plan's price, even where it spent less.

    What a game spends may depend on its own moves (refills, annealed rounds, an early end). The ledger, a filter, holds
    it to what was reserved, and that is what holds for every outcome; a smaller sum that this outcome came to does not.
    """
    if plan.pure:
        return spent if plan.cost.epsilon is None or spent.epsilon == plan.cost.epsilon else plan.cost
    if not plan.by_mu:
        spent = replace(spent, gaussian=None)
    return spent if within(plan.cost, spent.impure) else plan.cost


def _public_data(setting: Setting, chosen: int | None) -> dict[str, Any] | None:
    """The public tables: the one that was used (or the first, when all were), and the others."""
    if not setting.publics:
        return None
    names = setting.workload.domain.columns
    each = [
        {
            "name": public.name,
            "fingerprint": public.fingerprint,
            "num_rows": public.num_rows,
            "columns": [names[c] for c in public.columns],
        }
        for public in setting.publics
    ]
    used = each.pop(chosen or 0)
    how = "all tables were used" if chosen is None else "chosen privately, by best-mixture-error; the others are unused"
    return used | {"others": each, "use": how, "assumption": PUBLIC_DATA}


def outside(accepted_inferred: Sequence[str]) -> list[str]:
    """What a guarantee does not cover, in sentences."""
    notes = [
        "The number of records is treated as public.",
        "The time that the computation took is not covered.",
        "What the schema declares (columns, values, bounds, rules) is treated as public.",
    ]
    if accepted_inferred:
        notes.insert(
            0, f"The schema of these columns was read from the data and accepted: {', '.join(accepted_inferred)}."
        )
    return notes
