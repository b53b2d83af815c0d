"""`equipoise methods`: every algorithm, its paper, its guarantee, when to use it."""

from __future__ import annotations

import sys
from dataclasses import MISSING, fields
from typing import Annotated, Any

import typer

from equipoise.cli.console import Json, Quiet, Speaker, pairs, table_of
from equipoise.errors import SettingError

__all__ = ["EXAMPLES", "methods"]

EXAMPLES = ("equipoise methods", "equipoise methods pep")


def methods(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="One method, in full.")] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List the methods; with a name, its options and how it follows its paper."""
    from equipoise.algorithms import ALGORITHMS

    speaker = Speaker(json=json, quiet=quiet)
    known = {cls.name: cls for cls in ALGORITHMS}
    if name is None:
        bodies = [_body(cls) for cls in known.values()]
        rows = [(b["name"], b["title"], b["guarantee"], b["when"], ", ".join(b["citations"])) for b in bodies]
        table = table_of(("method", "what it is", "guarantee", "when to use it", "paper"), rows)
        speaker.result({"methods": bodies}, [table])
        return
    if name not in known:
        raise SettingError(f"there is no method {name!r}; the methods are {', '.join(known)}")
    body = _body(known[name])
    body["about"] = str(sys.modules[known[name].__module__].__doc__).strip()
    options = [
        (f"--option {key}=", f"{option['type']}; default {option['default']}")
        for key, option in body["options"].items()
    ]
    speaker.result(
        body,
        [body["about"], "\nWhen to use it: " + body["when"], "\nOptions", pairs(options)],
    )


def _body(cls: Any) -> dict[str, Any]:
    return {
        "name": cls.name,
        "title": cls.title,
        "guarantee": cls.guarantee,
        "when": cls.when,
        "citations": list(cls.citations),
        "options": {
            field.name: {
                "type": str(field.type),
                "default": "none" if field.default is MISSING else _default(field.default),
            }
            for field in fields(cls)
        },
    }


def _default(value: object) -> str:
    return "chosen from public quantities" if value is None else str(value)
