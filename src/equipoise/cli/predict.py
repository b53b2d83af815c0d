"""`equipoise predict`: a learnt rule applied to a table, at no privacy cost for the table it was learnt from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli.console import Json, Quiet, Speaker, counted
from equipoise.errors import OutputError, SettingError

__all__ = ["EXAMPLES", "predict"]

EXAMPLES = ("equipoise predict rule/ others.csv -o predicted.csv",)

COLUMN = "predicted"


def predict(
    folder: Annotated[Path, typer.Argument(metavar="RULE", help="A folder that [bold]learn[/bold] made.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The table to predict for. It needs no target column.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="The table with predictions: .csv, .parquet, .arrow.")
    ],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Apply a rule: writes the table again, with a column "predicted" that says whether the rule holds.

    It costs no budget: the rule is public. But the table that is written holds the records that were given, as they
    are; they are not protected.
    """
    import pyarrow as pa

    from equipoise.data.sources import open_source
    from equipoise.data.table import BATCH_ROWS
    from equipoise.data.write import writer_of
    from equipoise.learning.rule import load_rule

    if output.exists() and not overwrite:
        raise OutputError(f"{output} exists; choose another file with -o, or pass --overwrite")
    write = writer_of(output)
    speaker = Speaker(json=json, quiet=quiet)
    rule, source = load_rule(folder), open_source(file)
    if COLUMN in source.names:
        raise SettingError(f"the table has a column named {COLUMN!r} already; rename it")
    with speaker.steps("Predicting") as progress:
        found = rule.predict(file, progress=progress)
        rows = pa.Table.from_batches(list(source.batches(source.names, BATCH_ROWS)))
    write(rows.append_column(COLUMN, pa.array(found)), output)
    body = {"rule": rule.words, "target": rule.predicted, "file": str(output), "num_rows": len(found)}
    told = [f"Predicted {rule.predicted} where: {rule.words}", f"Wrote {counted(len(found), 'row')} to {output}."]
    speaker.result(body, [] if quiet else told)
