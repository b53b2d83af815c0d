"""`equipoise ledger verify`, `backup` and `restore`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli.console import Json, Quiet, Speaker
from equipoise.cli.ledger import Location, SchemaFile, is_ledger, place_of
from equipoise.errors import LedgerError

__all__ = ["backup", "restore", "verify"]


def verify(
    schema: Annotated[
        Path, typer.Argument(metavar="SCHEMA|LEDGER", help="The table's schema; or a ledger's file: all its tables.")
    ],
    location: Location = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compute the chain, every release's spending and reservation, the answers' hashes and the totals again.

    Exit code 8, and what is broken, when something does not add up, or when the ledger is older than its anchor.
    """
    from equipoise.budget import find_account

    speaker = Speaker(json=json, quiet=quiet)
    if is_ledger(schema) and location is None:
        _verify_all(schema, speaker)
        return
    public, where = place_of(schema, location)
    account = find_account(where, public.name)
    if account is None:
        raise LedgerError(
            f"no ledger has an entry for the table {public.name}: nothing was released yet, or its ledger is gone"
        )
    entries = account.verify()
    speaker.result({"table": public.name, "verified_entries": entries}, [_words(entries)])


def _words(entries: int) -> str:
    return f"Verified: {entries} entries, the chain is whole and every release adds up to its events."


def _verify_all(path: Path, speaker: Speaker) -> None:
    """Verify every table of a ledger that is there already; another program's database is left as it is."""
    import sqlite3
    from contextlib import closing

    from equipoise.privacy.ledger import Ledger

    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            connection.execute("SELECT count(*) FROM entries").fetchone()
    except sqlite3.DatabaseError as error:
        raise LedgerError(f"{path} is damaged, or a database of another program: {error}") from error
    found = Ledger(path).verify()
    speaker.result({"ledger": str(path), "verified_entries": found}, [f"{n}: {_words(e)}" for n, e in found.items()])


def backup(
    schema: SchemaFile,
    target: Annotated[Path, typer.Argument(metavar="COPY", help="The file to make.")],
    location: Location = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Copy a SQLite ledger, which may be in use. The copy is as secret as the ledger."""
    from equipoise.privacy.backup import backup as copy

    _, where = place_of(schema, location)
    size = copy(where, target)
    Speaker(json=json, quiet=quiet).result({"copy": str(target), "bytes": size}, [f"Copied to {target}."])


def restore(
    schema: SchemaFile,
    copy: Annotated[Path, typer.Argument(metavar="COPY", help="A file that `equipoise ledger backup` made.")],
    location: Location = None,
    assume_all_spent: Annotated[
        bool, typer.Option("--assume-all-spent", help="Without an anchor: leave nothing of any total.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Put a copy back in place of a lost or damaged ledger, and charge what was spent since it was made.

    Unfinished releases of the copy are closed and their reservations written off: their answers may have been seen.
    """
    from equipoise.privacy.backup import restore as put_back

    _, where = place_of(schema, location)
    charged = put_back(copy, where, assume_all_spent=assume_all_spent)
    lines = [f"Charged {name} for what the copy does not know: rho {float(c.rho):.6g}." for name, c in charged.items()]
    body = {"ledger": str(where), "charged": {name: str(cost.rho) for name, cost in charged.items()}}
    Speaker(json=json, quiet=quiet).result(body, ["Put back.", *lines])
