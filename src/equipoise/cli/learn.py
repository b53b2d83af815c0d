"""`equipoise learn`: a private table in; a readable rule that predicts a label, and a ledger entry, out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from equipoise.cli import options
from equipoise.cli.console import Json, Quiet, Speaker, pairs
from equipoise.cli.evaluate import LABEL

if TYPE_CHECKING:
    from equipoise.budget import Budget

__all__ = ["EXAMPLES", "learn"]

EXAMPLES = (
    'equipoise learn people.csv --schema people.toml --target "income >= 50000" --class conjunctions --epsilon 1'
    " -o rule/",
    'equipoise learn people.csv --schema people.toml --target "income >= 50000" --columns age,education,work,income'
    " --max-literals 3 --epsilon 1 -o rule/ --evaluate",
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
        Literal["exponential", "rspm"],
        typer.Option(
            help="exponential tries every rule; rspm asks a solver, for classes too large to try, and its guarantee"
            " holds only if the solver's certificate does.",
            rich_help_panel=RULE,
        ),
    ] = "exponential",
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
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn a readable rule that predicts a condition, privately.

    A rule names conditions such as "age >= 40", made from what the schema declares. Writes rule.txt, rule.json and
    statement.json, which may be published, and debits the table's ledger. If it is interrupted, repeat the same
    command: nothing is paid for twice. (With rspm, a choice that was interrupted is lost: it is not tried again.)
    """
    from equipoise import folder
    from equipoise.budget import look
    from equipoise.learning import table as learning
    from equipoise.pipeline import Request, ledger_beside, ledger_location

    speaker = Speaker(json=json, quiet=quiet)
    with speaker.steps("Opening"):
        table = options.open_table(file, schema=schema, domain=domain, columns=columns, workload=None)
        request = Request(
            table,
            epsilon=epsilon,
            pure=True,
            ledger=ledger,
            accept_inferred=accept_inferred,
            memory_limit=options.parse_bytes(memory),
        )
    if folder.is_unfinished(output):
        speaker.note(f"{output} holds an unfinished rule: going on with it.")
    task = learning.Task(target, query_class, max_literals, mechanism)
    learned = learning.run(request, task, output, overwrite=overwrite, steps=speaker.steps)
    accuracy = learning.training_accuracy(learned, table) if evaluate else None
    location = ledger or ledger_location(table.schema) or ledger_beside(output)
    budget = look(location, table.schema)
    body = {"folder": str(output), **learned.statement, "budget": budget.to_json()}
    if accuracy is not None:
        body["evaluation"] = {"private": False, "warning": LABEL, "training_accuracy": accuracy}
    speaker.result(body, _shown(body, budget))


def _shown(body: dict[str, Any], budget: Budget) -> list[Any]:
    from rich.text import Text

    guarantee, learning = body["guarantee"], body["learning"]
    facts = [
        ("guarantee", f"pure differential privacy, epsilon {guarantee['epsilon']:g}; {guarantee['adjacency']}"),
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
        told += [label, f"Accuracy on the table itself: {body['evaluation']['training_accuracy']:.2%}", label]
    return told
