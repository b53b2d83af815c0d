"""`equipoise serve`: the query service and its web console."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli.console import Json, Quiet, Speaker, pairs
from equipoise.errors import SettingError

__all__ = ["EXAMPLES", "serve"]

EXAMPLES = (
    "equipoise serve --root tables/ --state service/",
    "equipoise serve --root tables/ --state service/ --new-steward Grace",
    "equipoise serve --root tables/ --state service/ --sources sources.toml",
    "equipoise serve --root tables/ --state service/ --database postgresql://me@db.example/equipoise --secure",
)

PANEL = "Limits"


def serve(
    root: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where tables and schemas are. No file outside it is ever read.")
    ],
    state: Annotated[
        Path, typer.Option(metavar="FOLDER", help="What the server writes: releases and, by default, its database.")
    ],
    database: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="EQUIPOISE_DATABASE",
            help="PostgreSQL, or another SQLite file than the state folder's. Passwords: ~/.pgpass, not here.",
        ),
    ] = None,
    sources: Annotated[
        Path | None, typer.Option(metavar="FILE", help="TOML: databases and http files it may read, each by a name.")
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for any that is free.")] = 8642,
    new_steward: Annotated[
        str | None, typer.Option(metavar="NAME", help="Make a token for another steward, and print it once.")
    ] = None,
    secure: Annotated[
        bool, typer.Option("--secure", help="Cookies for https only: behind a proxy that ends TLS.")
    ] = False,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Releases made at once.", rich_help_panel=PANEL)] = 1,
    rate: Annotated[
        float, typer.Option(min=0.1, help="Requests a second that one token may make.", rich_help_panel=PANEL)
    ] = 50.0,
    seconds: Annotated[float, typer.Option(min=1, help="How long a request may take.", rich_help_panel=PANEL)] = 30.0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Serve tables to analysts: an HTTP interface and a web console.

    A steward registers tables under the root folder, sets budgets and invites analysts, who ask one query at a time or
    hand in batches. The first start prints a steward's token, once. Stop it with Ctrl-C or SIGTERM; what was begun goes
    on at the next start, and nothing is paid for twice.
    """
    try:
        from equipoise.service import serve as service
        from equipoise.service.settings import Settings
    except ModuleNotFoundError as error:
        raise SettingError("the service needs the extra: pip install 'equipoise[service]'") from error
    speaker = Speaker(json=json, quiet=quiet)

    def say(address: str, token: str | None) -> None:
        facts = [("console", f"{address}/console/"), ("interface", f"{address}/v1/openapi.json")]
        if token is not None:
            facts.append(("steward's token", f"{token}  (shown only now)"))
        speaker.result({"address": address, "steward_token": token}, [pairs(facts)])

    settings = Settings(
        root,
        state,
        database,
        sources,
        rate=rate,
        burst=max(1, round(4 * rate)),
        seconds=seconds,
        secure=secure,
        workers=workers,
    )
    service.run(settings, host=host, port=port, steward=new_steward, say=say)
