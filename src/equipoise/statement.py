"""The privacy statement: what a release guarantees, to whom, and at what cost, for machines and for people."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from equipoise.algorithms import Algorithm, Plan, Setting
from equipoise.data.schema import Schema
from equipoise.privacy import accountant, events
from equipoise.privacy.events import Event

__all__ = ["ADJACENCY", "describe_event", "statement"]

PUBLIC_DATA = "The public table is treated as public and as disjoint from the private one; its rows are not protected."
ADJACENCY = "one record replaced by another; the number of records is public"
UNIT_ADJACENCY = "up to {k} records of one unit ({unit}) replaced by others; the number of records is public"
CURVE = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
"""Deltas at which the statement gives epsilon, so that a reader need not trust our choice of one."""


def describe_event(event: Event) -> str:
    """An event in a few words.

    Example:
        >>> from fractions import Fraction
        >>> describe_event(events.Exponential(Fraction(1, 50)))
        'private selection of 1 query, epsilon 0.02'
    """
    match event:
        case events.Gaussian(sensitivity_squared, variance):
            return (
                f"noisy measurement, Gaussian noise of standard deviation {float(variance) ** 0.5:.4g} counts,"
                f" squared sensitivity {sensitivity_squared}"
            )
        case events.Laplace(sensitivity, scale):
            return f"noisy measurement, Laplace noise of scale {float(scale):.4g} counts, sensitivity {sensitivity}"
        case events.Exponential(epsilon, num_selected):
            word = "query" if num_selected == 1 else "queries"
            return f"private selection of {num_selected} {word}, epsilon {float(epsilon):.4g}"
        case events.PermuteAndFlip(epsilon):
            return f"private selection of 1 query (permute-and-flip), epsilon {float(epsilon):.4g}"
        case events.ConditionalRelease(epsilon, max_hits, _):
            return f"conditional release of up to {max_hits} values, epsilon {float(epsilon):.4g} a test"
        case events.Group(inner, size):
            return f"{describe_event(inner)}; charged for {size} rows a unit"


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
) -> dict[str, Any]:
    """The guarantee of one release, from what the ledger was charged."""
    total = accountant.total((event, 1) for event in charged)
    claim: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rho": float(total.rho), "rho_exact": str(total.rho)}
    if plan.pure:
        claim |= {"pure_epsilon": str(total.epsilon), "delta": 0.0}
    public = setting.public
    return {
        "product": "equipoise",
        "format": 1,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "table": schema.name,
        "num_rows": setting.num_rows,
        "guarantee": claim
        | {
            "definition": "pure differential privacy" if plan.pure else "(epsilon, delta)-differential privacy by zCDP",
            "adjacency": ADJACENCY
            if schema.unit is None
            else UNIT_ADJACENCY.format(k=setting.rows_per_unit, unit=schema.unit),
            "unit": schema.unit or "one record",
            "rows_per_unit": setting.rows_per_unit,
            "curve": {f"{d:g}": accountant.epsilon_of(rho=total.rho, delta=d) for d in CURVE},
        },
        "events": [
            {
                "event": events.to_json(event),
                "words": describe_event(event),
                "times": times,
                "rho": float(accountant.cost(event).rho * times),
                "epsilon": None if (pure := accountant.cost(event).epsilon) is None else float(pure * times),
            }
            for event, times in Counter(charged).items()
        ],
        "method": {
            "name": plan.method,
            "title": algorithm.title,
            "options": plan.options,
            "num_rounds": plan.num_rounds,
            "measurement_stddev": plan.forecast.measurement_stddev,
            "selection_resolution": plan.forecast.selection_resolution,
            "bound": plan.forecast.bound,
        },
        "workload": {
            "text": workload_text,
            "num_queries": setting.workload.num_queries,
            "num_marginals": len(setting.workload.groups),
            "fingerprint": setting.workload.fingerprint,
        },
        "schema_fingerprint": schema.fingerprint,
        "public_data": None
        if public is None
        else {
            "name": public.name,
            "fingerprint": public.fingerprint,
            "num_rows": public.num_rows,
            "columns": [setting.workload.domain.columns[c] for c in public.columns],
            "assumption": PUBLIC_DATA,
        },
        "outside_the_guarantee": _outside(accepted_inferred) + ([] if public is None else [PUBLIC_DATA]),
        "accepted_inferred": list(accepted_inferred),
        "citations": list(algorithm.citations),
        "ledger_run": run,
        "versions": {name: version(name) for name in ("equipoise", "opendp", "numpy")}
        | {"python": platform.python_version()},
    }


def _outside(accepted_inferred: Sequence[str]) -> list[str]:
    notes = [
        "The number of records is treated as public.",
        "The time that the computation took is not covered.",
        "What the schema declares (columns, values, bounds) is treated as public.",
    ]
    if accepted_inferred:
        notes.insert(
            0, f"The schema of these columns was read from the data and accepted: {', '.join(accepted_inferred)}."
        )
    return notes
