"""`equipoise evaluate`: true errors of a release, for the steward only."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli import asking, options
from equipoise.cli.console import Json, Quiet, Speaker, table_of
from equipoise.errors import OutputError, SettingError

if TYPE_CHECKING:
    from equipoise.evaluation import Evaluation

__all__ = ["EXAMPLES", "evaluate"]

EXAMPLES = ("equipoise evaluate out/ people.csv", "equipoise evaluate rule/ others.csv")

LABEL = "NOT PRIVATE: computed from the private table. For the steward only; do not publish."


def evaluate(
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="A folder of a release, or of a rule.")],
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The private table that it was made from; for a rule, any.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="HTML", help="The internal report. Default: OUT-internal.html, beside OUT."
        ),
    ] = None,
    table: options.TableName = None,
    query: options.Query = None,
    engine: options.Engine = "local",
    threads: Annotated[int | None, typer.Option(help="For the scan. Default: all cores.")] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare a release with the private table: [bold red]not private[/bold red], for the steward only.

    Prints the true errors and writes an internal report: beside the release folder, so that it is not published. Of a
    rule (from [bold]learn[/bold]), prints the share of rows that it predicts right.
    """
    from equipoise import evaluation
    from equipoise.data.write import write_bytes
    from equipoise.learning.rule import is_rule
    from equipoise.releases import load

    speaker = Speaker(json=json, quiet=quiet)
    if is_rule(folder):
        _evaluate_rule(folder, file, output, speaker)
        return
    target = output or folder.resolve().parent / f"{folder.resolve().name}-internal.html"
    if folder.resolve() in target.resolve().parents:
        raise OutputError(
            "the internal report is not private, so it may not lie in the release folder; choose -o elsewhere"
        )
    release = load(folder)
    rows = evaluation.stored_rows(folder, release.schema)
    opened = asking.open_anywhere(file, release.schema, table=table, query=query, engine=engine)
    with speaker.steps("Counting") as progress:
        found = evaluation.evaluate(release, opened, rows=rows, threads=threads, progress=progress)
    write_bytes(evaluation.internal_report(release, rows, found).encode(), target)
    speaker.result({**found.to_json(), "release": str(folder), "report": str(target)}, _shown(found, target))


def _evaluate_rule(folder: Path, file: str, output: Path | None, speaker: Speaker) -> None:
    from rich.text import Text

    from equipoise.learning.rule import load_rule

    if output is not None:
        raise SettingError("a rule has no internal report; leave out -o")
    rule = load_rule(folder)
    with speaker.steps("Reading") as progress:
        accuracy = rule.accuracy(file, progress=progress)
    body = {"private": False, "warning": LABEL, "rule": rule.words, "target": rule.predicted, "accuracy": accuracy}
    label = Text(LABEL, style="bold red")
    shown = [label, f"Predict {rule.predicted} where: {rule.words}", f"Accuracy on this table: {accuracy:.2%}", label]
    speaker.result(body, shown)


def _shown(found: Evaluation, target: Path) -> list[Any]:
    from rich.text import Text

    rows = []
    for name, errors in (("model", found.model), ("synthetic rows", found.rows)):
        variation = "" if errors.total_variation is None else f"{errors.total_variation:.4%}"
        rows.append((name, f"{errors.max:.4%}", f"{errors.mean:.4%}", f"{errors.rmse:.4%}", variation))
    label = Text(LABEL, style="bold red")
    titles = ("true error", "largest", "mean", "root mean square", "total variation (mean)")
    told: list[Any] = [label, table_of(titles, rows, right=(1, 2, 3, 4))]
    if found.coverage is not None:
        told.append(f"{found.coverage:.2%} of the true answers lie within their error bars.")
    return [*told, f"Internal report: {target}", label]
