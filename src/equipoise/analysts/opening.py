"""Opening a session or round: what is asked is checked and planned, the table read, both accounts charged, once."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from equipoise.analysts.terms import Terms
from equipoise.data.table import Table
from equipoise.errors import SettingError
from equipoise.pipeline import Request, open_account
from equipoise.privacy import accountant
from equipoise.privacy.accountant import Cost
from equipoise.privacy.analyst_book import SessionBook, State
from equipoise.privacy.analyst_opening import analysts_name, open_book
from equipoise.privacy.events import Event
from equipoise.privacy.ledger import Account, Ledger
from equipoise.privacy.private_rows import PrivateRows
from equipoise.request import ledger_location
from equipoise.statement import coverage, listed_events, outside, versions

__all__ = ["accounts_of", "checked_id", "read_and_open", "statement_of"]

LONGEST_ID = 64
LONGEST_NAME = 200


def checked_id(run: str | None) -> str:
    """The id that was given, or a new one."""
    if run is None:
        return secrets.token_hex(16)
    if not 0 < len(run) <= LONGEST_ID or not run.isprintable():
        raise SettingError(f"an id has 1 to {LONGEST_ID} printable characters")
    return run


def checked_name(what: str, text: str) -> str:
    """An analyst's name or key, as given."""
    if not 0 < len(text) <= LONGEST_NAME or not text.isprintable():
        raise SettingError(f"{what} has 1 to {LONGEST_NAME} printable characters")
    return text


def accounts_of(
    table: Table, *, ledger: str | Path | None, analyst_total: tuple[float, float] | None, run: str | None
) -> tuple[Account, Account]:
    """The accounts of the table and of its analysts, in one ledger.

    Raises:
        SettingError: an id is given and there is no ledger to find it in again.
    """
    schema = table.schema
    if run is not None and ledger is None and ledger_location(schema) is None:
        raise SettingError("an id needs a ledger to be found in again: pass ledger=, or declare one in the schema")
    request = Request(table, epsilon=1.0, ledger=ledger)
    account = open_account(request)
    shared, name = Ledger.sharing(account), analysts_name(schema.name)
    found = shared.existing(name) if analyst_total is None else None
    epsilon, delta = analyst_total or (None, None)
    return account, found or shared.account(name, epsilon=epsilon, delta=delta)


def read_and_open(
    table: Table,
    terms: Terms,
    accounts: tuple[Account, Account],
    *,
    run: str,
    plan: dict[str, Any],
    reserve: Cost,
    events: Sequence[Event],
    analyst_events: Sequence[Event],
    first: State,
) -> tuple[SessionBook, PrivateRows]:
    """Read the table, then open the session or find it: a table that cannot be read costs nothing."""
    account, analysts = accounts
    found = account.run(run)
    unit_seed = secrets.randbits(63) if found is None else found.unit_seed
    due = accountant.total((event, 1) for event in analyst_events)
    if found is None:
        account.check(reserve)
        analysts.check(due)
    rows = PrivateRows(table.bounded(unit_seed).batches(), table.schema.domain.sizes)
    schema = table.schema
    recorded = {
        "plan": plan,
        "epsilon": terms.epsilon,
        "delta": terms.delta,
        "schema": schema.fingerprint,
        "num_rows": terms.num_rows,
        "num_analysts": terms.num_analysts,
        "queries_each": terms.queries_each,
        "accepted_inferred": list(schema.unconfirmed),
    }
    second = recorded | {"epsilon": terms.analyst_epsilon, "delta": terms.total_analyst_delta}
    book = open_book(
        account,
        analysts,
        run=run,
        plans=(recorded, second),
        reserve=(reserve, due.impure),
        due=(events, analyst_events),
        first=first,
        unit_seed=unit_seed,
    )
    return book, rows


def statement_of(table: Table, terms: Terms, book: SessionBook, plan: dict[str, Any], protects: str) -> dict[str, Any]:
    """The guarantee to people and to analysts, from what the two accounts were charged."""
    schema = table.schema
    people, analysts = book.run.events(), book.analysts.events()
    spent = accountant.total((event, 1) for event in people)
    second = accountant.total((event, 1) for event in analysts)
    covered = coverage(spent, schema.unit, terms.rows_per_unit)
    # At a delta below the tests' own failure probability nothing is promised.
    covered["curve"] = {delta: epsilon for delta, epsilon in covered["curve"].items() if math.isfinite(epsilon)}
    return {
        "product": "equipoise",
        "format": 1,
        "table": schema.name,
        "num_rows": terms.num_rows,
        "guarantee": {
            "epsilon": terms.epsilon,
            "delta": terms.delta,
            "rho": float(spent.rho),
            "rho_exact": str(spent.rho),
            "definition": "(epsilon, delta)-differential privacy by zCDP, for all answers to all analysts together",
            **covered,
        },
        "events": listed_events(people, lambda cost: cost.rho),
        "analyst_guarantee": {
            "epsilon": terms.analyst_epsilon if analysts else 0.0,
            "delta": terms.total_analyst_delta if analysts else 0.0,
            "rho": float(second.rho),
            "rho_exact": str(second.rho),
            "protects": protects,
        },
        "analyst_events": listed_events(analysts, lambda cost: cost.rho),
        "method": plan,
        "bounds": {"num_analysts": terms.num_analysts, "queries_each": terms.queries_each},
        "schema_fingerprint": schema.fingerprint,
        "outside_the_guarantee": [
            *outside(schema.unconfirmed),
            "How long an answer takes, and how long it waits for others, is not covered.",
        ],
        "accepted_inferred": list(schema.unconfirmed),
        "citations": ["hsu2013differential"],
        "ledger_run": book.run.key,
        "versions": versions(),
    }
