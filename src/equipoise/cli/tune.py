"""`equipoise tune`: a release whose options are chosen on the private table, at a price that is paid."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from equipoise.cli import options
from equipoise.cli.console import Json, Quiet, Speaker
from equipoise.cli.release import open_request, tell
from equipoise.errors import SettingError

__all__ = ["EXAMPLES", "parse_grid", "tune"]

EXAMPLES = (
    "equipoise tune people.csv --schema people.toml --method gem"
    ' --grid "num_rounds=20,50;learning_rate=1e-3,1e-2" --epsilon 1 -o out/',
)

TUNING = "The tuning"


def parse_grid(text: str) -> dict[str, list[str]]:
    """The values to try, for each option.

    Example:
        >>> parse_grid("num_rounds=20,50; learning_rate=1e-3,1e-2")
        {'num_rounds': ['20', '50'], 'learning_rate': ['1e-3', '1e-2']}
    """
    found: dict[str, list[str]] = {}
    for part in text.split(";"):
        name, _, values = part.partition("=")
        listed = [value.strip() for value in values.split(",") if value.strip()]
        if not name.strip() or not listed or name.strip() in found or len(set(listed)) < len(listed):
            raise SettingError(f'--grid {text!r}: write each option once, with different values, as "a=1,2;b=3,4"')
        found[name.strip()] = listed
    return found


def tune(
    file: options.File,
    output: options.Output,
    epsilon: options.Epsilon,
    grid: Annotated[
        str,
        typer.Option(
            metavar="A=1,2;B=3,4", help="Values to try; each combination is a candidate.", rich_help_panel=TUNING
        ),
    ],
    trials: Annotated[
        float | None,
        typer.Option(help="Mean of their random number. Default: one a candidate.", rich_help_panel=TUNING),
    ] = None,
    law: Annotated[
        Literal["logarithmic", "geometric"],
        typer.Option(help="Of that number: the second is dearer, and rarely tries only one.", rich_help_panel=TUNING),
    ] = "logarithmic",
    criterion: Annotated[
        Literal["mean", "max"],
        typer.Option(help="Which error of the workload's answers decides.", rich_help_panel=TUNING),
    ] = "mean",
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
    """Release a table with the best of several options, chosen on the table itself, privately.

    A random number of trials is made, each with a candidate drawn at random and a private score; the best is released
    and the rest forgotten. All of it is paid for by epsilon, so each trial has less than half of the budget: worth it
    only where options matter more than that. The defaults need no tuning. If it is interrupted, repeat the same
    command: the same dice, nothing paid twice.
    """
    given = locals()
    from equipoise import tuning

    speaker = Speaker(json=json, quiet=quiet)
    request = open_request(speaker, given)
    asked = tuning.Tuning(parse_grid(grid), num_trials=trials, law=law, criterion=criterion)
    made = tuning.run(request, asked, output, overwrite=overwrite, steps=speaker.steps)
    tell(speaker, made, request, output, file)
