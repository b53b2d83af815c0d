"""`equipoise release`: a private table in; a synthetic table, a report and a ledger entry out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.cli import asking, options
from equipoise.cli.console import Json, Quiet, Speaker, pairs

if TYPE_CHECKING:
    from equipoise.budget import Budget
    from equipoise.pipeline import Request
    from equipoise.releases import Release

__all__ = ["EXAMPLES", "open_request", "release", "tell"]

EXAMPLES = (
    "equipoise release people.csv --schema people.toml --columns sex,age,region,education,work,income"
    " --epsilon 1 --workload 3-way --method pep -o out/",
    "equipoise release adult.csv --domain adult.domain.json --epsilon 1 --workload marginals.json -o out/",
)


def release(
    file: options.File,
    output: options.Output,
    epsilon: options.Epsilon,
    schema: options.SchemaFile = None,
    domain: options.Domain = None,
    columns: options.Columns = None,
    table: options.TableName = None,
    query: options.Query = None,
    engine: options.Engine = "local",
    public: options.Public = None,
    accept_inferred: options.AcceptInferred = False,
    delta: options.Delta = None,
    pure: options.Pure = False,
    ledger: options.LedgerUrl = None,
    workload: options.Workload = None,
    method: options.Method = "auto",
    objective: options.Objective = None,
    option: options.Options = None,
    memory: options.Memory = "4GB",
    threads: options.Threads = None,
    rows: options.Rows = None,
    seed: options.Seed = None,
    overwrite: options.Overwrite = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Release a table: private synthetic rows, a report, a statement of the guarantee.

    Whatever can be refused is refused before a row is counted or the budget touched. If it is interrupted, repeat the
    same command: it goes on where it stopped and pays for nothing twice.
    """
    given = locals()
    from equipoise import pipeline

    speaker = Speaker(json=json, quiet=quiet)
    request = open_request(speaker, given)
    made = pipeline.run(request, output, overwrite=overwrite, steps=speaker.steps)
    tell(speaker, made, request, output, file)


def open_request(speaker: Speaker, given: Mapping[str, Any]) -> Request:
    """What the user asks for (`asking.ask`), with the table opened and its rows counted."""
    from equipoise import pipeline

    with speaker.steps("Opening"):
        request = asking.ask(given)
        request.table.num_rows  # noqa: B018  a pass over a CSV file, remembered: it belongs to this step
    if pipeline.goes_on(request, given["output"]):
        speaker.note(f"{given['output']} holds an unfinished release: going on with it.")
    return request


def tell(speaker: Speaker, made: Release, request: Request, output: Path, file: str) -> None:
    """Print what was released, where, and what is left of the budget."""
    budget = _budget(request, output)
    body = _body(made, output, budget)
    speaker.result(body, [] if speaker.quiet else _shown(body, budget, file))


def _budget(request: Request, output: Path) -> Budget:
    from equipoise.budget import look
    from equipoise.pipeline import ledger_beside, ledger_location

    schema = request.table.schema
    return look(request.ledger or ledger_location(schema) or ledger_beside(output), schema)


def _body(made: Release, output: Path, budget: Budget) -> dict[str, Any]:
    import numpy as np

    bars = made.error_bars
    return {
        "release": str(output),
        "report": str(output / "report.html"),
        "table": made.schema.name,
        "num_rows": made.num_rows,
        "guarantee": made.statement["guarantee"],
        "outside_the_guarantee": made.statement["outside_the_guarantee"],
        "accepted_inferred": made.statement["accepted_inferred"],
        "method": made.statement["method"],
        "workload": made.statement["workload"],
        "tuning": made.statement.get("tuning"),
        "error_bars": None if bars is None else {"largest": float(bars.max()), "median": float(np.median(bars))},
        "budget": budget.to_json(),
        "ledger_run": made.statement["ledger_run"],
    }


def _shown(body: dict[str, Any], budget: Budget, file: str) -> list[Any]:
    bars, out = body["error_bars"], body["release"]
    facts = [
        ("report", body["report"]),
        ("guarantee", _sentence(body["guarantee"])),
        *(("outside it", note) for note in body["outside_the_guarantee"][: 1 if body["accepted_inferred"] else 0]),
        *((f"budget {name}", value) for name, value in budget.words()),
    ]
    if body["tuning"] is not None:
        facts.append(("chosen", ", ".join(f"{name}={value}" for name, value in body["tuning"]["chosen"].items())))
    if bars is not None:
        facts.append(
            (
                "error bars",
                f"95 %, all at once: largest ± {bars['largest']:.2%}, median ± {bars['median']:.2%} of the rows"
                if bars["median"] < 1
                else "none for all queries at once, the noise is too large; `answer` has one for each query",
            )
        )
    query = f'equipoise answer {out} "..."'
    return [
        f"Released {body['table']} to {out}.",
        pairs(facts),
        f"\nNext:\n  {query}\n  equipoise evaluate {out} {file}    (not private: for you only)",
    ]


def _sentence(guarantee: dict[str, Any]) -> str:
    unit, delta = guarantee["unit"], guarantee["delta"]
    who = "one record" if unit == "one record" else f"all rows of one {unit} (at most {guarantee['rows_per_unit']})"
    rest = "" if delta == 0 else f", plus {delta:.3g}"
    return (
        f"replacing {who} changes the probability of whatever comes out by a factor of at most"
        f" e^{guarantee['epsilon']:g}{rest}."
    )
