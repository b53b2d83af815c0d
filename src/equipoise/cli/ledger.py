"""`equipoise ledger`: what was spent on a table, on what, and what is left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli.console import Json, Quiet, Speaker, counted, pairs, table_of
from equipoise.errors import LedgerError, SettingError

if TYPE_CHECKING:
    from equipoise.budget import Budget
    from equipoise.data.schema import Schema
    from equipoise.privacy.accountant import Cost
    from equipoise.privacy.ledger import Account

__all__ = ["EXAMPLES", "Location", "SchemaFile", "is_ledger", "ledger", "place_of"]

SchemaFile = Annotated[Path, typer.Argument(metavar="SCHEMA", help="The table's schema (TOML) or domain (JSON) file.")]
Location = Annotated[str | None, typer.Option("--ledger", metavar="PATH|URL", help="Another ledger than the schema's.")]

EXAMPLES = (
    "equipoise ledger people.toml",
    "equipoise ledger verify people.toml",
    "equipoise ledger backup people.toml people.ledger.copy",
    "equipoise ledger people.toml --close 3f2a91",
)

DECLARE = "give analyst_total when a session or round is opened"


def ledger(
    schema: SchemaFile,
    location: Location = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Recompute the chain of entries and every release's spending.")
    ] = False,
    change_total: Annotated[
        bool,
        typer.Option("--change-total", help="Record the schema's total as the new one: kept in the chain for ever."),
    ] = False,
    close: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="Give up an unfinished release: what it did not spend is free again."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show what was spent on a table, on what, and what is left. Never makes a ledger."""
    from equipoise.budget import find_account, look, look_at
    from equipoise.privacy.analyst_opening import analysts_name

    speaker = Speaker(json=json, quiet=quiet)
    public, where = place_of(schema, location)
    analysts = analysts_name(public.name)
    account, second = find_account(where, public.name), find_account(where, analysts)
    entries = None
    if account is None:
        if verify or change_total or close is not None:
            raise LedgerError(
                f"no ledger has an entry for the table {public.name}: nothing was released yet, or its ledger is gone"
            )
    else:
        if change_total:
            account.change_total(epsilon=public.epsilon, delta=public.delta)
        if close is not None:
            _close(account, second, close)
        entries = account.verify() if verify else None
    budget = look(where, public)
    runs = [] if account is None else [_run(row) for row in account.runs()]
    body = {"table": public.name, "budget": budget.to_json(), "runs": runs, "verified_entries": entries}
    told = _shown(public.name, budget, runs, entries)
    if second is not None:
        spent = look_at(where, second)
        rows = [_run(row) for row in second.runs()]
        counted_entries = second.verify() if verify else None
        body["analysts"] = {"budget": spent.to_json(), "runs": rows, "verified_entries": counted_entries}
        told += [
            "",
            "What protects analysts from each other:",
            *_shown(analysts, spent, rows, counted_entries, DECLARE),
        ]
    speaker.result(body, told)


def place_of(schema: Path, location: str | None) -> tuple[Schema, str | Path]:
    """The schema, and where its ledger is.

    Raises:
        SettingError: a ledger was given in the schema's place.
    """
    if is_ledger(schema):
        raise SettingError(
            f"{schema} is a ledger, not a schema. Name the table's schema, and pass --ledger {schema} where that has"
            f" another; `equipoise ledger verify {schema}` does without a schema"
        )
    public = _schema(schema)
    return public, location or _location(public)


def is_ledger(path: Path) -> bool:
    """Whether a file is a SQLite database, as ledgers are and schemas are not."""
    try:
        with open(path, "rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def _schema(path: Path) -> Schema:
    from equipoise.data.schema import from_domain, load

    return from_domain(path) if path.suffix.lower() == ".json" else load(path)


def _location(schema: Schema) -> str | Path:
    from equipoise.pipeline import ledger_location

    location = ledger_location(schema)
    if location is None:
        raise SettingError("this table's ledger is beside its release folder; pass --ledger OUT.ledger.sqlite")
    return location


def _close(account: Account, analysts: Account | None, prefix: str) -> None:
    from equipoise.privacy.analyst_opening import close_session

    names = [row["run"] for row in account.runs() if row["run"].startswith(prefix)]
    if len(names) != 1:
        word = "no release begins" if not names else "several releases begin"
        raise SettingError(f"--close: {word} with {prefix!r}; `equipoise ledger SCHEMA` lists them")
    close_session(account, analysts, names[0])


def _run(row: dict[str, Any]) -> dict[str, Any]:
    plan = row["plan"]
    return {
        "run": row["run"],
        "status": row["status"],
        "created": row["created"],
        "method": plan.get("plan", {}).get("method"),
        "num_rounds": plan.get("plan", {}).get("num_rounds"),
        "epsilon": plan.get("epsilon"),
        "delta": plan.get("delta"),
        "accepted_inferred": plan.get("accepted_inferred", []),
        "spent": _in_rho(row["spent"], plan),
        "reserved": _in_rho(row["reserved"], plan),
    }


def _in_rho(cost: Cost, plan: dict[str, Any]) -> dict[str, Any]:
    """A cost in rho; that of a tuned release, which has no rho of its own, at the epsilon and delta asked for."""
    from equipoise.privacy.accountant import rho_at

    rho = rho_at(cost, epsilon=plan["epsilon"], delta=plan["delta"]) if cost.shift else cost.rho
    apart = {"conditional_rho": str(cost.conditional_rho)} if cost.conditional_rho else {}
    return {"rho": float(rho), "rho_exact": str(rho), **apart}


def _shown(name: str, budget: Budget, runs: list[dict[str, Any]], entries: int | None, *declare: str) -> list[Any]:
    told: list[Any] = [pairs([("table", name), ("ledger", budget.location), *budget.words(*declare)])]
    if not budget.exists:
        return [*told, "There is no ledger yet: nothing was released."]
    rows = [
        (
            run["run"][:12],
            run["created"],
            f"{run['status']}{', inferred bounds accepted' if run['accepted_inferred'] else ''}",
            f"{run['method']}, {counted(run['num_rounds'] or 0, 'round')}",
            f"{run['epsilon']:g}",
            f"{run['delta']:.3g}",
            f"{run['spent']['rho']:.6g}{' (conditional)' if 'conditional_rho' in run['spent'] else ''}",
            f"{run['reserved']['rho']:.6g}" if run["status"] == "open" else "",
        )
        for run in runs
    ]
    titles = ("release", "when", "status", "method", "epsilon", "delta", "spent (rho)", "reserved (rho)")
    told.append(table_of(titles, rows, right=(4, 5, 6, 7)) if rows else "No release has begun.")
    if any(run["status"] == "open" for run in runs):
        told.append("Unfinished (open) releases hold their reservation: repeat their command, or --close them.")
    if any("conditional_rho" in run["spent"] for run in runs):
        told.append("(conditional): part of it holds only if a solver's certificates do; statement.json says which.")
    if entries is not None:
        told.append(f"Verified: {entries} entries, the chain is whole and every release adds up to its events.")
    return told
