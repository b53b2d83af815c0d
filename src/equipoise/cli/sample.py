"""`equipoise sample`: more rows from a release, at no privacy cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli.console import Json, Quiet, Speaker, counted
from equipoise.errors import OutputError, SettingError

__all__ = ["EXAMPLES", "sample"]

EXAMPLES = (
    'equipoise sample out/ --where "sex = Female" --rows 1000 -o females.csv',
    "equipoise sample out/ --rows 100000 --seed 7 -o more.parquet",
)


def sample(
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="A release folder.")],
    where: Annotated[
        str | None,
        typer.Option(metavar="QUERY", help="Only records that fulfil this; written as for [bold]answer[/bold]."),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(metavar="N", help="How many. Default: as many as the table has, by the model's estimate."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Another seed, other rows. Default: the release's own, the same rows each time.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help=".csv, .parquet or .arrow. Default: CSV on stdout."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw synthetic rows from a release. It reads the folder only, and costs nothing.

    With [bold]--where[/bold] the rows are drawn from the model given the condition: as many as you like, however rare
    it is. They obey the rules of the schema, like all synthetic rows.
    """
    from equipoise.data.write import csv_bytes, writer_of
    from equipoise.releases import load

    if rows is not None and rows < 1:
        raise SettingError("--rows must be at least 1")
    if seed is not None and seed < 0:
        raise SettingError("--seed must not be negative")
    if json and output is None:
        raise SettingError("--json describes a file: say which with -o")
    if output is not None and output.exists() and not overwrite:
        raise OutputError(f"{output} exists; choose another file with -o, or pass --overwrite")
    write = None if output is None else writer_of(output)
    speaker = Speaker(json=json, quiet=quiet)
    release = load(folder)
    with speaker.steps("Drawing"):
        drawn = release.sample(rows, seed=seed, where=where)
    if output is None or write is None:
        typer.echo(csv_bytes(drawn), nl=False)
        return
    write(drawn, output)
    body = {"release": str(folder), "file": str(output), "where": where, "num_rows": drawn.num_rows}
    speaker.result(body, [] if quiet else [f"Wrote {counted(drawn.num_rows, 'synthetic row')} to {output}."])
