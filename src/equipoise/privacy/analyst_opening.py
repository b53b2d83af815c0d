"""Beginning and giving up a session: its two runs, of the table's account and of the analysts', are one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from equipoise.errors import BudgetError, LedgerConflict, LedgerError
from equipoise.privacy import analyst_tables as tables
from equipoise.privacy import store
from equipoise.privacy.accountant import Cost
from equipoise.privacy.analyst_book import SessionBook, State, charge
from equipoise.privacy.chain import append, sealed_digest, write
from equipoise.privacy.events import Event
from equipoise.privacy.keyed_noise import new_secret
from equipoise.privacy.ledger import Account
from equipoise.privacy.run import Run

__all__ = ["analysts_name", "close_session", "give_up", "open_book", "second_id"]


def analysts_name(table: str) -> str:
    """The name of the account that protects a table's analysts.

    Example:
        >>> analysts_name("people")
        'people (analysts)'
    """
    return f"{table} (analysts)"


def open_book(
    account: Account,
    analysts: Account,
    *,
    run: str,
    plans: tuple[dict[str, Any], dict[str, Any]],
    reserve: tuple[Cost, Cost],
    due: tuple[Sequence[Event], Sequence[Event]],
    first: State,
    unit_seed: int,
) -> SessionBook:
    """Begin a session in both accounts and charge what is due at its start, or find the one that is there.

    Three steps, each done once: a second start after a crash between them takes up where the first one stopped.

    Args:
        account: Of the table.
        analysts: Of its analysts.
        run: The session's id.
        plans: What it does, as each account records it; public. A session that is found must have the same.
        reserve: The price of all of it, for people and for analysts.
        due: What is charged at once, for people and for analysts.
        first: Its state at first.
        unit_seed: See `Account.start`.

    Raises:
        BudgetError: an account does not cover it; nothing was spent.
        LedgerConflict: the id belongs to something else.
    """
    account_run, analysts_run = account.run(run), analysts.run(second_id(run))
    if account_run is None:
        analysts_run = analysts_run or _start(analysts, second_id(run), plans[1], reserve[1], unit_seed)
        try:
            account_run = _start(account, run, plans[0], reserve[0], unit_seed)
        except BudgetError:
            analysts_run.close()
            raise
    if analysts_run is None:
        raise LedgerConflict(f"the ledger has something else than a session under the id {run!r}; choose another id")
    stored, asked = account_run.plan, json.loads(json.dumps(plans[0]))
    if differing := [key for key in asked if asked[key] != stored.get(key)]:
        raise LedgerConflict(
            f"the session {run!r} has another {', '.join(differing)}; open it as it was, or another id"
        )
    with write(account_run.engine, account_run.account) as connection:
        begun = connection.execute(sa.select(tables.sessions.c.run).where(tables.sessions.c.run == run)).scalar()
        if begun is None:
            account_run.open_row(connection)
            locked = sa.select(store.accounts.c.id).where(store.accounts.c.id == analysts_run.account)
            connection.execute(locked.with_for_update())
            charge(connection, account_run, due[0], 0)
            charge(connection, analysts_run, due[1], 0)
            secret = new_secret().hex()
            connection.execute(sa.insert(tables.sessions).values(run=run, secret=secret, **first._asdict()))
            body = {"what": "session", "run": run, "secret": sealed_digest(run, secret)}
            append(connection, account_run.account, run, body)
    return SessionBook(account_run, analysts_run)


def close_session(account: Account, analysts: Account | None, run: str) -> None:
    """Give up a run of a table's account, and the analysts' run where it is a session's.

    A crash can leave one of them open and the other ended: then the open one is closed.

    Raises:
        LedgerError: both have ended.
    """
    people = account.run(run)
    assert people is not None
    second = None if analysts is None else analysts.run(second_id(run))
    left = second is not None and second.status == "open"
    if second is not None and left:
        second.close()
    if not left or people.status == "open":
        people.close()


def give_up(account: Account, analysts: Account | None, run: str) -> None:
    """Free what a run, or a session's two runs, reserved and did not spend; where nothing is open, nothing changes."""
    second = None if analysts is None else analysts.run(second_id(run))
    for found in (second, account.run(run)):
        if found is not None and found.status == "open":
            found.close()


def second_id(run: str) -> str:
    """The id of a session's run in the analysts' account."""
    return f"{run}.analysts"


def _start(account: Account, run: str, plan: dict[str, Any], reserve: Cost, unit_seed: int) -> Run:
    try:
        return account.start(run=run, plan=plan, reserve=reserve, unit_seed=unit_seed)
    except LedgerError as error:
        found = account.run(run) if isinstance(error.__cause__, sa.exc.IntegrityError) else None
        if found is None:
            raise
        return found  # another process began it at the same moment
