"""`equipoise plan`: what a release would cost and give; touches no budget and reads no private value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from equipoise.cli import asking, options
from equipoise.cli.console import Json, Quiet, Speaker, counted, pairs, sized, table_of
from equipoise.errors import BudgetError

if TYPE_CHECKING:
    from equipoise.budget import Budget
    from equipoise.pipeline import Prepared

__all__ = ["EXAMPLES", "plan"]

EXAMPLES = (
    "equipoise plan people.csv --schema people.toml --epsilon 1 --workload 3-way",
    "equipoise plan people.csv --schema people.toml --columns sex,age,income --epsilon 0.5 --method mwem --json",
)

COARSE = 0.05
"""Standard deviation of the noise, as a share of the rows, above which the plan says what would lessen it."""


def plan(
    file: options.File,
    epsilon: options.Epsilon,
    schema: options.SchemaFile = None,
    domain: options.Domain = None,
    columns: options.Columns = None,
    table: options.TableName = None,
    query: options.Query = None,
    engine: options.Engine = "local",
    public: options.Public = None,
    delta: options.Delta = None,
    pure: options.Pure = False,
    ledger: options.LedgerUrl = None,
    workload: options.Workload = None,
    method: options.Method = "auto",
    objective: options.Objective = None,
    option: options.Options = None,
    memory: options.Memory = "4GB",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say what a release would cost and how accurate it would be, before anything is touched.

    Of the table only the number of rows is used. Exit code 6 when the budget does not cover it.
    """
    given = locals()
    speaker = Speaker(json=json, quiet=quiet)
    with speaker.steps("Planning"):
        # A draft may be planned with, though not released: the plan says so.
        request = asking.ask(given, accept_inferred=True)
        prepared, budget = _plan(request)
    body = _body(prepared, budget)
    speaker.result(body, _shown(body, budget, prepared))
    if not body["fits"]:
        raise typer.Exit(BudgetError.exit_code)


def _plan(request: Any) -> tuple[Prepared, Budget]:
    from equipoise import pipeline
    from equipoise.budget import Budget, look
    from equipoise.privacy.accountant import Cost

    prepared = pipeline.prepare(request)
    schema = request.table.schema
    location = request.ledger or pipeline.ledger_location(schema)
    if location is None:
        return prepared, Budget("a new one in the release folder", False, schema.epsilon, schema.delta, Cost())
    budget = look(location, schema)
    if budget.exists:
        pipeline.open_account(request)  # refuses, as a release would, a ledger that has another total
    return prepared, budget


def _body(prepared: Prepared, budget: Budget) -> dict[str, Any]:
    from equipoise.privacy import accountant
    from equipoise.privacy.event_words import describe_event
    from equipoise.privacy.stored_events import to_json
    from equipoise.statement import CURVE

    made, setting, request = prepared.plan, prepared.setting, prepared.request
    rho = made.cost.rho
    forecast = {
        name: None if share is None else {"share": share, "count": share * setting.num_rows}
        for name, share in asdict(made.forecast).items()
    }
    return {
        "fits": budget.covers(made.reserve),
        "table": request.table.schema.name,
        "num_rows": setting.num_rows,
        "columns": list(setting.workload.domain.columns) if request.table.schema.items is None else "items",
        "num_columns": len(setting.workload.domain.columns),
        # Of a table of items the number would have thousands of digits.
        "domain_cells": setting.workload.domain.num_cells if request.table.schema.items is None else None,
        "workload": {
            "text": str(request.workload),
            "num_queries": setting.workload.num_queries,
            "num_marginals": len(setting.workload.starts) - 1,
        },
        "method": {"name": made.method, "num_rounds": made.num_rounds, "options": made.options},
        "memory": {"bytes": made.memory_bytes, "limit": setting.memory_limit},
        "guarantee": {
            "epsilon": request.epsilon,
            "delta": 0.0 if made.pure else prepared.delta,
            "rho": float(rho),
            "rows_per_unit": setting.rows_per_unit,
            "curve": {f"{d:g}": accountant.epsilon_at(made.cost, delta=d) for d in CURVE},
        },
        "events": [
            {
                "event": to_json(event),
                "words": describe_event(event),
                "times": times,
                "rho": float(accountant.cost(event).rho * times),
                "share": float(accountant.cost(event).rho * times / rho),
            }
            for event, times in made.events
        ],
        "expected_error": forecast,
        "budget": budget.to_json(),
        "unconfirmed": list(request.table.schema.unconfirmed),
    }


def _shown(body: dict[str, Any], budget: Budget, prepared: Prepared) -> list[Any]:
    from equipoise.report.guarantee import budget as spending

    lines = spending(body, in_full="plan --json")
    events = [(line.words, f"{line.times:,}", line.rho, f"{line.share:.0%}") for line in lines]
    ledger = budget.location + ("" if budget.exists else " (nothing recorded yet; planning makes none)")
    verdict = "Fits the budget." if body["fits"] else "Does NOT fit the budget: ask for a smaller epsilon."
    if budget.epsilon is None:
        verdict = "No total is declared, so nothing limits it."
    told = [
        pairs(_facts(body, prepared.workload.domain.sizes)),
        table_of(("cost", "times", "rho", "share"), events, right=(1, 2, 3)),
        table_of(("expected error", "share of rows", "rows"), _errors(body["expected_error"]), right=(1, 2)),
        pairs([("ledger", ledger), *budget.words()]),
        f"\n{verdict} Nothing was spent.",
    ]
    noise = body["expected_error"]["measurement_stddev"]
    if noise is not None and noise["share"] > COARSE:
        told.append(
            "Most answers would be lost in noise: name fewer columns (--columns), declare fewer bins, ask for smaller"
            " marginals (--workload 2-way), or spend a larger epsilon."
        )
    if body["unconfirmed"]:
        told.append(f"Not confirmed yet, so release would refuse: {', '.join(body['unconfirmed'])}.")
    return told


def _facts(body: dict[str, Any], sizes: Sequence[int]) -> list[tuple[str, str]]:
    guarantee, method, workload, memory = (body[key] for key in ("guarantee", "method", "workload", "memory"))
    queries = f"{workload['num_queries']:,} queries"
    cells = body["domain_cells"]
    options = dict(method["options"])
    because = options.pop("chosen_because", None)
    return [
        ("table", f"{body['table']}: {counted(body['num_rows'], 'row')}"),
        ("columns", _columns(body["columns"], sizes)),
        ("domain", f"2^{len(sizes):,} cells" if cells is None else counted(cells, "cell")),
        ("workload", f"{workload['text']}: {queries} in {counted(workload['num_marginals'], 'marginal')}"),
        ("method", f"{method['name']}, {counted(method['num_rounds'], 'round')}"),
        *([("because", str(because))] if because else []),
        ("options", ", ".join(f"{name} {value}" for name, value in options.items() if value is not None)),
        ("memory", f"{sized(memory['bytes'])}, of {sized(memory['limit'])} allowed"),
        ("asked", f"epsilon {guarantee['epsilon']:g} at delta {guarantee['delta']:.3g} (rho {guarantee['rho']:.6g})"),
        ("which is", "; ".join(f"epsilon {eps:.3g} at delta {d}" for d, eps in guarantee["curve"].items())),
    ]


def _columns(names: Sequence[str] | str, sizes: Sequence[int]) -> str:
    if isinstance(names, str):
        return f"{len(sizes):,} {names}, in the list or not"
    return ", ".join(f"{name} {size}" for name, size in zip(names, sizes, strict=True))


def _errors(expected: dict[str, Any]) -> list[tuple[str, str, str]]:
    words = {
        "measurement_stddev": "noise of a measured answer (standard deviation)",
        "selection_resolution": "smallest error that a selection can tell from the rest",
        "bound": "largest error, at most this with probability 0.95",
    }
    if expected.get("bound") is not None and not expected["selection_resolution"]["share"]:
        # A static plan: what is known is the error of the best unbiased answers, not of the fitted model.
        words["measurement_stddev"] = "noise of an unbiased answer (standard deviation)"
        words["bound"] = "largest error of the unbiased answers, at most this with probability 0.95"
    rows = []
    for name, text in words.items():
        error = expected.get(name)
        if error is None:
            rows.append((text, "no bound in this mode", ""))
        elif error["share"] or name != "selection_resolution":  # else nothing is selected
            rows.append((text, f"{error['share']:.4%}", f"{error['count']:,.1f}"))
    return rows
