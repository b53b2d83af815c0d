"""`equipoise cite`: the papers behind a method or a release, as BibTeX."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated, Any

import typer

from equipoise.cli.console import Json, Quiet, Speaker
from equipoise.errors import OutputError, SettingError

__all__ = ["EXAMPLES", "cite"]

EXAMPLES = ("equipoise cite pep", "equipoise cite out/")

OTHERS = {
    "exponential": ("mcsherry2007mechanism",),
    "rspm": ("neel2019heuristics",),
    "gaussian_rspm": ("neel2019heuristics",),
    "prsma": ("neel2019heuristics",),
    "online": ("hsu2013differential",),
    "pmw": ("hardt2010multiplicative",),
    "per-query": ("hsu2013differential",),
    "per-analyst": ("hsu2013differential",),
    "apart": ("hsu2013differential",),
    "noise": ("canonne2020discrete",),
}
"""Papers of what is no release method: the mechanisms of `equipoise learn`, and what analysts are answered by."""

MECHANISMS = {
    "gaussian": "canonne2020discrete",
    "exponential": "mcsherry2007mechanism",
    "permute_and_flip": "mckenna2020permute",
    "tuned": "papernot2022hyper",
}
"""Papers of mechanisms that a run may have used besides its method's, by the kind of their events."""


def cite(
    names: Annotated[list[str], typer.Argument(metavar="METHOD|FOLDER", help="Methods, or release folders.")],
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print BibTeX entries: of a method, or of exactly what a release folder's run used."""
    from equipoise.report.references import entries

    keys = list(dict.fromkeys(key for name in names for key in _keys(name)))
    Speaker(json=json, quiet=quiet).result(
        {"citations": dict(zip(keys, entries(keys), strict=True))}, ["\n\n".join(entries(keys))]
    )


def _keys(name: str) -> list[str]:
    from equipoise.algorithms import ALGORITHMS

    known = {cls.name: cls for cls in ALGORITHMS}
    if name in known:
        return list(known[name].citations)
    statement = Path(name) / "statement.json"
    if not statement.is_file():
        if name in OTHERS:
            return list(OTHERS[name])
        methods = ", ".join([*known, *OTHERS])
        raise SettingError(f"{name!r} is neither a method nor a release folder; the methods are {methods}")
    try:
        body: dict[str, Any] = json_format.loads(statement.read_text(encoding="utf-8"))
        kinds = {kind for item in body["events"] for kind in _kinds(item["event"])}
        return [*body["citations"], *(key for kind, key in MECHANISMS.items() if kind in kinds)]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OutputError(f"{statement} cannot be read as a release's statement; restore the file") from error


def _kinds(event: dict[str, Any]) -> list[str]:
    """The event's kind, and that of the one inside: an event of several rows a unit wraps another."""
    return [str(event["kind"]), *(_kinds(event["event"]) if "event" in event else ())]
