"""Everything in a ledger that must agree, computed again: `equipoise ledger verify`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import sqlalchemy as sa

from equipoise.errors import LedgerError
from equipoise.privacy import accountant, store
from equipoise.privacy import analyst_tables as tables
from equipoise.privacy.anchor import Head
from equipoise.privacy.chain import canonical, digest_after, require_anchored, sealed_digest
from equipoise.privacy.cost import Cost, cost_from_text
from equipoise.privacy.gate import within
from equipoise.privacy.stored_events import from_json

__all__ = ["inspect"]

DECLARED = ("name", "epsilon", "delta", "rows_per_unit")


@dataclass
class _Told:
    """What the entries say."""

    declared: dict[str, Any] = field(default_factory=dict)
    reserved: dict[str, Cost] = field(default_factory=dict)
    spent: dict[str, Cost] = field(default_factory=dict)
    status: dict[str, str] = field(default_factory=dict)
    plans: dict[str, str] = field(default_factory=dict)
    answers: dict[tuple[str, int], str] = field(default_factory=dict)
    seeds: dict[str, str] = field(default_factory=dict)
    kept: set[tuple[str, str, str]] = field(default_factory=set)

    def hear(self, body: dict[str, Any]) -> None:
        run = body.get("run")
        match body["what"]:
            case "account" | "total":
                self.declared |= {name: body[name] for name in DECLARED if name in body}
            case "reserve":
                self.plans[run] = canonical(body["plan"])  # type: ignore[index]
                if "unit_seed" in body:  # entries of earlier versions say nothing of seeds, nor of what sessions keep
                    self.seeds[run] = body["unit_seed"]  # type: ignore[index]
                self.reserved[run], self.spent[run], self.status[run] = cost_from_text(body["cost"]), Cost(), "open"  # type: ignore[index]
            case "event":
                told, price = cost_from_text(body["cost"]), accountant.cost(from_json(body["event"]))
                if told != (price if told.gaussian else replace(price, gaussian=None)):  # earlier versions tell none
                    raise LedgerError(f"the ledger charged release {str(run)[:12]} another price than its event has")
                self.spent[run] += told  # type: ignore[index]
                if "answer" in body:
                    self.answers[run, body["move"]] = body["answer"]  # type: ignore[index]
            case "free":
                self.answers[run, body["move"]] = body["answer"]  # type: ignore[index]
            case "session":
                self.kept.add((run, "session", body["secret"]))  # type: ignore[arg-type]
            case "kept" | "hypothesis":
                self.kept.add((run, body["what"], body["answer"]))  # type: ignore[arg-type]
            case "chosen":  # a tuned release's moves are told together, at its end
                self.answers |= {(run, number): told for number, told in enumerate(body.get("answers", ()))}  # type: ignore[misc]
            case "lost":  # a copy was put back: what it did not know of is charged (`backup.restore`)
                self.reserved[run] = self.spent[run] = cost_from_text(body["cost"])  # type: ignore[index]
                self.status[run] = "closed"  # type: ignore[index]
            case "done" | "closed":
                self.status[run] = body["what"]  # type: ignore[index]
                if "written_off" in body:
                    self.spent[run] = cost_from_text(body["written_off"])  # type: ignore[index]


def inspect(connection: sa.Connection, account: int, known: Mapping[str, tuple[Head, Head]]) -> int:
    """Compare an account's tables with its chain of entries; returns the number of entries.

    Args:
        connection: A transaction.
        account: The account.
        known: What the anchor knew (`chain.anchored`) before the transaction saw the ledger.

    Raises:
        LedgerError: it says what is broken.
    """
    rows = connection.execute(
        sa.select(store.entries).where(store.entries.c.account == account).order_by(store.entries.c.id)
    ).all()
    try:
        told = _told(rows)
        _compare_account(connection, account, told)
        _compare_runs(connection, account, told)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise LedgerError("the ledger holds an entry that cannot be read: it is damaged") from error
    require_anchored(connection, account, known)
    return len(rows)


def _told(rows: Iterable[Any]) -> _Told:
    told, digest = _Told(), ""
    for number, row in enumerate(rows, 1):
        digest = digest_after(digest, row.body)
        if digest != row.digest:
            raise LedgerError(f"the ledger's chain is broken at entry {number}: an entry was changed or removed")
        told.hear(json.loads(row.body))
    return told


def _compare_account(connection: sa.Connection, account: int, told: _Told) -> None:
    row = connection.execute(sa.select(store.accounts).where(store.accounts.c.id == account)).one()
    stored = {name: getattr(row, name) for name in DECLARED}
    if stored != told.declared:
        raise LedgerError("the ledger's table, total or rows a unit are not those that its entries declare")


def _compare_runs(connection: sa.Connection, account: int, told: _Told) -> None:
    runs = connection.execute(sa.select(store.runs).where(store.runs.c.account == account)).all()
    if {row.id for row in runs} != set(told.status):
        raise LedgerError("the ledger's releases are not those that its entries tell of")
    for row in runs:
        name = f"release {row.id[:12]}"
        if row.status != told.status[row.id]:
            raise LedgerError(f"the ledger's {name} is marked {row.status}, and its entries say {told.status[row.id]}")
        if row.plan != told.plans.get(row.id, row.plan):  # what a restored copy had lost has none
            raise LedgerError(f"the ledger's {name} has another plan than it was opened with")
        if row.id in told.seeds and sealed_digest(row.id, row.unit_seed) != told.seeds[row.id]:
            raise LedgerError(f"the ledger's {name} has another seed for its units' rows than it was opened with")
        if cost_from_text(row.spent) != told.spent[row.id]:
            raise LedgerError(f"the ledger's {name} does not add up to its events")
        if cost_from_text(row.reserved) != told.reserved[row.id]:
            raise LedgerError(f"the ledger's {name} holds another reservation than it made")
        if not within(told.spent[row.id], told.reserved[row.id]):
            raise LedgerError(f"the ledger's {name} has spent more than it reserved")
        _compare_moves(connection, row.id, told)
        _compare_session(connection, row.id, told)


def _compare_moves(connection: sa.Connection, run: str, told: _Told) -> None:
    table = store.moves
    found = connection.execute(sa.select(table.c.number, table.c.body).where(table.c.run == run)).all()
    bodies = {row.number: row.body for row in found}
    for (owner, number), answer in told.answers.items():
        if owner == run and hashlib.sha256(bodies.get(number, b"")).hexdigest() != answer:
            raise LedgerError(f"the ledger's release {run[:12]} has lost or changed answer {number} that was paid for")


def _compare_session(connection: sa.Connection, run: str, told: _Told) -> None:
    """What a session keeps for analysts: its noise's key, the answers under their keys, its hypotheses."""
    found = (
        {(run, "session", sealed_digest(run, row.secret)) for row in _rows_of(connection, tables.sessions, run)}
        | {
            (run, "kept", sealed_digest(row.analyst, row.key, row.asked, row.body))
            for row in _rows_of(connection, tables.answers, run)
        }
        | {
            (run, "hypothesis", sealed_digest(str(row.version), row.body.hex()))
            for row in _rows_of(connection, tables.hypotheses, run)
        }
    )
    expected = {entry for entry in told.kept if entry[0] == run}
    if run not in told.seeds:  # it was opened by a version that wrote nothing of the sort: what came later is there
        found &= expected
    if found != expected:
        what = {"session": "the key of its noise", "kept": "an answer under a key", "hypothesis": "a hypothesis"}
        kind = min((kind for _, kind, _ in found ^ expected), key=list(what).index)
        raise LedgerError(f"the ledger's session {run[:12]} has lost, changed or added {what[kind]}")


def _rows_of(connection: sa.Connection, table: sa.Table, run: str) -> Iterable[Any]:
    return connection.execute(sa.select(table).where(table.c.run == run)).all()
