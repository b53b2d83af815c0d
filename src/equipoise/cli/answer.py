"""`equipoise answer`: ask a release a question, at no privacy cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.cli.console import Json, Quiet, Speaker, table_of
from equipoise.errors import QueryError

if TYPE_CHECKING:
    from equipoise.releases import Answer, Release

__all__ = ["EXAMPLES", "answer"]

EXAMPLES = (
    'equipoise answer out/ "sex = Female and age in 30..39"',
    'equipoise answer out/ "age >= 65" "region in {North, South} and income is missing" --json',
)


def answer(
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="A release folder.")],
    queries: Annotated[list[str], typer.Argument(metavar="QUERY", help="Questions, each in quotes.")],
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Answer queries from a release. It reads the folder only, and costs nothing.

    A query is conditions joined by [bold]and[/bold]: column = value, !=, <, <=, >, >=, in 30..39, in {a, b}, not in, is
    missing. Quote values 'like this' and column names `like this` when they hold spaces or signs.
    """
    from equipoise.releases import load

    release = load(folder)
    answers = [_answer(release, text) for text in queries]
    body = {
        "release": str(folder),
        "num_rows": release.num_rows,
        "answers": [{"query": a.text, "share": a.share, "count": a.count, "half_width": a.half_width} for a in answers],
    }
    rows = [
        (
            a.text,
            f"{a.share:.4%}",
            f"{a.count:,.0f}",
            "no bound" if a.half_width is None else f"± {a.half_width:.2%}",
        )
        for a in answers
    ]
    shown = [table_of(("query", "share", "count", "95 % bound"), rows, right=(1, 2, 3))]
    Speaker(json=json, quiet=quiet).result(body, shown)
    Speaker(json=json, quiet=quiet).note(
        f"Estimates for {release.num_rows:,} records. Each bound holds with probability 95 %, for a query chosen"
        " without looking at the noisy measurements."
    )


def _answer(release: Release, text: str) -> Answer:
    """The answer; of a query that cannot be answered, the error says which it is."""
    try:
        return release.answer(text)
    except QueryError as error:
        raise QueryError(f"{text!r}: {error}") from error
