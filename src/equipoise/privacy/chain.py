"""The chain of entries: each digest covers the one before, and the anchor remembers the last that matters to a budget.

Everything that reserves, spends or gives back goes through `append`, so a ledger that is older than its anchor is
refused there, in the transaction that would have spent.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from equipoise.errors import LedgerError
from equipoise.privacy import store
from equipoise.privacy.anchor import Head, anchor_of
from equipoise.privacy.cost import Cost, cost_from_text, cost_to_text

__all__ = [
    "ROLLED_BACK",
    "anchored",
    "append",
    "canonical",
    "digest_after",
    "head_of",
    "held_by",
    "require_anchored",
    "sealed_digest",
    "write",
]

ROLLED_BACK = (
    "the ledger is older than its anchor says: entries of the table {name} are missing, as after putting back a copy."
    " What was spent since then is not in it, so nothing further is released. Put back the newest copy with `equipoise"
    " ledger restore`, which charges what is missing"
)
_PENDING = "equipoise_pending"
_COMMITTED = "equipoise_committed"
"""For each account the last digest before this transaction: what the anchor may be sure of."""
_KEEPING = ("event", "free", "chosen", "session", "paid", "hypothesis")
"""Entries that leave what an account holds as it is: an open run holds its reservation, whatever it spent of it."""
_UNANCHORED = "kept"
"""An answer that is kept costs nothing: the anchor hears of it with the next entry that does, which spares two writes.
One that was paid for is kept in the transaction that paid, so at once."""
_EMPTY = Head("", cost_to_text(Cost()), None, None, 1)
"""The head of an account that has no entry."""


@dataclass
class _Pending:
    """An account that this transaction writes to: its head before, and whether what it holds changes."""

    before: Head
    changes: bool = False


def canonical(body: dict[str, Any]) -> str:
    """JSON in one fixed form, so that equal bodies have equal digests."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"))


def digest_after(previous: str, text: str) -> str:
    """The digest of an entry that follows another; the first follows the empty text.

    Guarantees:
        Precondition: none. Statement: two chains with the same last digest have the same entries, in the same order,
        unless someone finds two texts with one SHA-256. Proof: by induction over the entries; every digest but the
        first begins with one of fixed length.
    """
    return hashlib.sha256((previous + text).encode()).hexdigest()


def sealed_digest(*parts: str) -> str:
    """What the chain says of secrets and answers that are kept elsewhere in the ledger: enough to see a change.

    Guarantees:
        Precondition: none. Statement: other parts have another digest, unless someone finds two texts with one SHA-256.
        Proof: JSON tells lists of texts apart.
    """
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@contextmanager
def write(engine: sa.Engine, account: int | None = None) -> Iterator[sa.Connection]:
    """One write transaction (`store.write`) after which the anchor knows the new heads."""
    anchor = anchor_of(store.location_of(engine))
    kept: list[tuple[str, Head]] = []
    with store.write(engine, account) as connection:
        pending: dict[int, _Pending] = {}
        connection.info[_PENDING], connection.info[_COMMITTED] = pending, {}
        yield connection
        del connection.info[_PENDING], connection.info[_COMMITTED]
        for changed, found in pending.items():
            name, head = head_of(connection, changed, None if found.changes else found.before.held)
            kept.append((name, head))
            if anchor is not None:
                anchor.promise(name, found.before, head)
    for name, head in kept:
        if anchor is not None:
            anchor.keep(name, head)


def append(connection: sa.Connection, account: int, run: str | None, body: dict[str, Any]) -> None:
    """Add an entry to an account's chain, in a transaction of `write`.

    Raises:
        LedgerError: the ledger is older than its anchor.
    """
    last = _last(connection, account)
    pending: dict[int, _Pending] = connection.info[_PENDING]
    committed = connection.info[_COMMITTED].setdefault(account, last)
    if body["what"] != _UNANCHORED:
        if account not in pending:
            known = anchored(connection.engine)
            pending[account] = _Pending(require_anchored(connection, account, known, committed))
        pending[account].changes |= body["what"] not in _KEEPING
    text = canonical(body)
    values = {"account": account, "run": run, "body": text, "digest": digest_after(last, text)}
    connection.execute(sa.insert(store.entries).values(**values))


def _last(connection: sa.Connection, account: int) -> str:
    table = store.entries
    found = connection.execute(
        sa.select(table.c.digest).where(table.c.account == account).order_by(table.c.id.desc()).limit(1)
    ).scalar()
    return found or ""


def anchored(engine: sa.Engine) -> dict[str, tuple[Head, Head]]:
    """What the ledger's anchor knows (`Anchor.all_heads`); nothing where there is none."""
    anchor = anchor_of(store.location_of(engine))
    return {} if anchor is None else anchor.all_heads()


def require_anchored(
    connection: sa.Connection, account: int, known: Mapping[str, tuple[Head, Head]], last: str | None = None
) -> Head:
    """The account's head; the chain up to it must contain the head that the anchor is sure of.

    Args:
        connection: A transaction.
        account: The account.
        known: What was `anchored` before the transaction saw the ledger, or while it keeps other writers out.
        last: The digest of the account's last entry, if it is known; within a transaction, of the last before it.

    Raises:
        LedgerError: it does not: the ledger is older.
    """
    last = _last(connection, account) if last is None else last
    name = connection.execute(sa.select(store.accounts.c.name).where(store.accounts.c.id == account)).scalar_one()
    heads = known.get(name)
    for head in heads or ():
        if head.digest == last:
            return head
    table = store.entries
    if heads is not None and heads[0].digest:
        found = sa.select(table.c.id).where(table.c.account == account, table.c.digest == heads[0].digest)
        if connection.execute(found).first() is None:
            raise LedgerError(ROLLED_BACK.format(name=name))
    return replace(head_of(connection, account)[1], digest=last) if last else _EMPTY


def held_by(connection: sa.Connection, account: int) -> Cost:
    """What an account's runs have spent, and what unfinished ones have reserved.

    Guarantees:
        Precondition: the account's rows are whole (`inspection.inspect`). Statement: no run can spend more than is
        counted here. Proof: an open run counts with all that it reserved, an ended one with what it was charged.
    """
    table = store.runs
    rows = connection.execute(
        sa.select(table.c.status, table.c.reserved, table.c.spent).where(table.c.account == account)
    )
    return sum((cost_from_text(row.reserved if row.status == "open" else row.spent) for row in rows), Cost())


def head_of(connection: sa.Connection, account: int, held: str | None = None) -> tuple[str, Head]:
    """An account's name, and its head as the anchor keeps it; what it holds is added up unless it is known."""
    row = connection.execute(sa.select(store.accounts).where(store.accounts.c.id == account)).one()
    held = cost_to_text(held_by(connection, account)) if held is None else held
    return str(row.name), Head(_last(connection, account), held, row.epsilon, row.delta, row.rows_per_unit)
