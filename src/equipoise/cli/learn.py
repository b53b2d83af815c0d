"""`equipoise learn`: a private table in; a readable rule that predicts a label, and a ledger entry, out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from equipoise.cli import asking, options
from equipoise.cli.console import Json, Quiet, Speaker, pairs
from equipoise.cli.evaluate import LABEL

if TYPE_CHECKING:
    from equipoise.budget import Budget

__all__ = ["EXAMPLES", "learn"]

EXAMPLES = (
    'equipoise learn people.csv --schema people.toml --target "income >= 50000" --class conjunctions --epsilon 1'
    " -o rule/",
    'equipoise learn people.csv --schema people.toml --target "income >= 50000" --columns age,education,work,income'
    " --max-literals 3 --epsilon 1 -o rule/ --evaluate --test others.csv",
)

RULE = "The rule"


def learn(
    file: options.File,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="OUT", help="The folder to make for the rule.")],
    epsilon: Annotated[float, typer.Option(help="Privacy budget of this rule.", rich_help_panel="The budget")],
    target: Annotated[
        str,
        typer.Option(
            metavar="CONDITION",
            help='What to predict: "income >= 50000". The rule uses the other columns.',
            rich_help_panel=RULE,
        ),
    ],
    query_class: Annotated[
        Literal["conjunctions", "disjunctions", "parities", "halfspaces", "decision_lists"],
        typer.Option("--class", help="Where the rule is sought.", rich_help_panel=RULE),
    ] = "conjunctions",
    max_literals: Annotated[
        int | None,
        typer.Option(help="Most conditions of a conjunction or disjunction. Default: 2.", rich_help_panel=RULE),
    ] = None,
    mechanism: Annotated[
        Literal["exponential", "rspm", "gaussian_rspm", "prsma"],
        typer.Option(
            help="exponential tries every rule; rspm asks a solver, for classes too large to try, and its guarantee"
            " holds only if the solver's certificate does; gaussian_rspm is the same with a delta, for many literals;"
            " prsma needs no condition, and more time than anyone has unless delta is very large.",
            rich_help_panel=RULE,
        ),
    ] = "exponential",
    delta: Annotated[
        float | None,
        typer.Option(help="For gaussian_rspm and prsma. Default: 1/n².", rich_help_panel="The budget"),
    ] = None,
    max_calls: Annotated[
        int, typer.Option(help="Calls of the solver beyond which prsma is refused.", rich_help_panel=RULE)
    ] = 100_000,
    schema: options.SchemaFile = None,
    domain: options.Domain = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,C", help="Read only these columns, the target's among them.", rich_help_panel="The table"
        ),
    ] = None,
    accept_inferred: options.AcceptInferred = False,
    ledger: options.LedgerUrl = None,
    memory: options.Memory = "4GB",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a finished rule by a new one, which is paid for anew.")
    ] = False,
    evaluate: Annotated[
        bool,
        typer.Option("--evaluate", help="Also print the accuracy on the table itself: not private, not for release."),
    ] = False,
    test: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also print the accuracy on another table: not private for its records."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn a readable rule that predicts a condition, privately.

    A rule names conditions such as "age >= 40", made from what the schema declares. Writes rule.txt, rule.json,
    schema.json and statement.json, which may be published, and debits the table's ledger. [bold]equipoise
    predict[/bold] applies it. If it is interrupted, repeat the same command: nothing is paid for twice. (With a solver,
    a choice that was interrupted is lost: it is not tried again.)
    """
    from dataclasses import replace

    from equipoise.budget import look
    from equipoise.data.table import read
    from equipoise.learning import table as learning
    from equipoise.pipeline import Request, goes_on, ledger_beside, ledger_location
    from equipoise.privacy.learner import PURE

    speaker = Speaker(json=json, quiet=quiet)
    with speaker.steps("Opening"):
        table = asking.open_table(file, schema=schema, domain=domain, columns=columns, workload=None)
        request = Request(
            table,
            epsilon=epsilon,
            delta=delta,
            pure=mechanism in PURE,
            ledger=ledger,
            accept_inferred=accept_inferred,
            memory_limit=asking.parse_bytes(memory),
        )
    if goes_on(request, output):
        speaker.note(f"{output} holds an unfinished rule: going on with it.")
    if test is not None:  # a table that is not there, or lacks a column, is told before anything is paid
        read(test, schema=replace(table.schema, unit=None, rows_per_unit=1))
    task = learning.Task(target, query_class, max_literals, mechanism, max_calls)
    learned = learning.run(request, task, output, overwrite=overwrite, steps=speaker.steps)
    accuracy = ({"training_accuracy": learned.accuracy(table)} if evaluate else {}) | (
        {} if test is None else {"test_accuracy": learned.accuracy(test)}
    )
    location = ledger or ledger_location(table.schema) or ledger_beside(output)
    budget = look(location, table.schema)
    body = {"folder": str(output), **learned.statement, "budget": budget.to_json()}
    if accuracy:
        body["evaluation"] = {"private": False, "warning": LABEL, **accuracy}
    speaker.result(body, _shown(body, budget))


def _shown(body: dict[str, Any], budget: Budget) -> list[Any]:
    from rich.text import Text

    guarantee, learning = body["guarantee"], body["learning"]
    spent = f"epsilon {guarantee['epsilon']:g}" + (f", delta {guarantee['delta']:.3g}" if guarantee["delta"] else "")
    facts = [
        ("guarantee", f"{guarantee['definition']}, {spent}; {guarantee['adjacency']}"),
        *((f"budget {name}", value) for name, value in budget.words()),
    ]
    if "conditional" in guarantee:
        facts[1:1] = [
            ("NOT PROVEN", f"the guarantee {guarantee['conditional']['condition']}"),
            ("certificate", str(learning["certificate"])),
        ]
    if body["accepted_inferred"]:
        facts.insert(1, ("outside it", body["outside_the_guarantee"][0]))
    told: list[Any] = [
        f"Predict {learning['target']} where: {learning['rule']}",
        pairs(facts),
        f"Wrote {body['folder']}.",
    ]
    if "evaluation" in body:
        label = Text(LABEL, style="bold red")
        shares = [
            f"Accuracy on {words}: {body['evaluation'][name]:.2%}"
            for name, words in (("training_accuracy", "the table itself"), ("test_accuracy", "the other table"))
            if name in body["evaluation"]
        ]
        told += [label, *shares, label]
    return told
