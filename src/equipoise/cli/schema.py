"""`equipoise schema`: draft the public schema of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from equipoise.cli.console import Json, Quiet, Speaker, table_of
from equipoise.errors import OutputError

__all__ = ["EXAMPLES", "schema"]

EXAMPLES = ("equipoise schema people.csv -o people.toml",)


def schema(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="The table: CSV, CSV.gz, Parquet or Arrow; of items, also libsvm, .npz."),
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="TOML", help="Where to write it. Default: stdout.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draft the public schema of a table, for you to check.

    The draft looks at the data without protection. Every bound and category list that it read there is marked
    [bold]confirmed = false[/bold], and [bold]release[/bold] refuses it until you have checked it.
    """
    import tomllib

    from equipoise.data.draft import draft
    from equipoise.data.write import write_bytes

    speaker = Speaker(json=json, quiet=quiet)
    if output is not None and output.exists() and not overwrite:
        raise OutputError(f"{output} exists; choose another file with -o, or pass --overwrite")
    with speaker.steps("Drafting"):
        text = draft(file)
    if output is not None:
        write_bytes(text.encode(), output)
    content = tomllib.loads(text)
    body = {
        "schema": None if output is None else str(output),
        "text": text,
        "columns": {
            name: {"type": c["type"], "confirmed": c.get("confirmed", True)}
            for name, c in content.get("columns", {"items": {"type": "list", "confirmed": False}}).items()
        },
        "dropped": content["table"].get("drop", []),
    }
    if output is None:
        speaker.result(body, [text.rstrip()])
    else:
        speaker.result(body, [] if quiet else _summary(body, file))


def _summary(body: dict[str, Any], file: Path) -> list[Any]:
    rows = [
        (name, column["type"], "declared" if column["confirmed"] else "check it: read from the data")
        for name, column in body["columns"].items()
    ]
    rows += [(name, "dropped", "") for name in body["dropped"]]
    target = body["schema"]
    return [
        f"Drafted {target} from {file}.",
        table_of(("column", "type", "values and bounds"), rows),
        f"Next: edit {target}, set confirmed = true where you agree, declare a total budget under [privacy]; then\n"
        f"  equipoise plan {file} --schema {target} --epsilon 1",
    ]
