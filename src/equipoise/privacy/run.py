"""One release in the ledger: its reservation, its moves, its events, and the chain of entries they are written to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from equipoise.core import Move
from equipoise.errors import LedgerConflict
from equipoise.privacy import store
from equipoise.privacy.chain import append, canonical, write
from equipoise.privacy.cost import Cost, cost_from_text, cost_to_text
from equipoise.privacy.events import Event
from equipoise.privacy.stored_events import from_json, to_json
from equipoise.privacy.stored_moves import move_from_bytes, move_to_bytes

__all__ = ["Run", "append", "canonical", "cost_from_text", "cost_to_text", "now"]


def now() -> str:
    """The time as text, for people; nothing is decided by it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Run:
    """One release in the ledger: the `Book` a gate writes to.

    Guarantees:
        Precondition: none. Statement: `record` charges and stores a move once: a number that is stored is returned as
        it was, without a draw or a charge. Proof: both are in one transaction, which others wait for.
    """

    def __init__(self, engine: sa.Engine, account: int, key: str) -> None:
        self.engine, self.account, self.key = engine, account, key
        with store.read(engine) as connection:
            row = self._row(connection)
            unit = connection.execute(
                sa.select(store.accounts.c.rows_per_unit).where(store.accounts.c.id == account)
            ).scalar_one()
        self.rows_per_unit: int = unit
        self.reserved = cost_from_text(row.reserved)
        self.plan: dict[str, Any] = json.loads(row.plan)
        self.unit_seed = int(row.unit_seed)

    def _row(self, connection: sa.Connection) -> Any:
        return connection.execute(sa.select(store.runs).where(store.runs.c.id == self.key)).one()

    def open_row(self, connection: sa.Connection) -> Any:
        """The run's row, in a transaction that will change it.

        Raises:
            LedgerConflict: the run has ended.
        """
        row = self._row(connection)
        if row.status != "open":
            raise LedgerConflict("this release is finished or closed; it can make no further move")
        return row

    @property
    def status(self) -> str:
        """open, done or closed."""
        with store.read(self.engine) as connection:
            return str(self._row(connection).status)

    def spent(self) -> Cost:
        """What the run has been charged so far."""
        with store.read(self.engine) as connection:
            return cost_from_text(self._row(connection).spent)

    def moves(self) -> list[Move]:
        """Committed moves, oldest first."""
        table = store.moves
        with store.read(self.engine) as connection:
            bodies = (
                connection.execute(sa.select(table.c.body).where(table.c.run == self.key).order_by(table.c.number))
                .scalars()
                .all()
            )
        return [move_from_bytes(body) for body in bodies]

    def events(self) -> list[Event]:
        """Every event charged, oldest first."""
        return [from_json(body["event"]) for body in self.entries() if body["what"] == "event"]

    def entries(self) -> list[dict[str, Any]]:
        """The run's entries in the chain, oldest first."""
        table = store.entries
        with store.read(self.engine) as connection:
            bodies = (
                connection.execute(sa.select(table.c.body).where(table.c.run == self.key).order_by(table.c.id))
                .scalars()
                .all()
            )
        return [json.loads(body) for body in bodies]

    def record(self, number: int, draw: Callable[[Callable[[Event, Cost], None], Cost], Move]) -> Move:
        """Debit, draw and store in one transaction (see `gate.Book`)."""
        with write(self.engine, self.account) as connection:
            table = store.moves
            stored = connection.execute(
                sa.select(table.c.body).where(table.c.run == self.key, table.c.number == number)
            ).scalar()
            if stored is not None:
                return move_from_bytes(stored)
            row = self.open_row(connection)
            charged: list[tuple[Event, Cost]] = []
            before = cost_from_text(row.spent)
            move = draw(lambda event, price: charged.append((event, price)), before)
            body = move_to_bytes(move)
            self.charge(connection, number, before, charged, hashlib.sha256(body).hexdigest())
            connection.execute(sa.insert(table).values(run=self.key, number=number, body=body))
        return move

    def charge(
        self,
        connection: sa.Connection,
        number: int,
        before: Cost,
        charged: Sequence[tuple[Event, Cost]],
        answer: str | None = None,
    ) -> None:
        """Write the events of a move to the chain and add their prices to what was spent before.

        `answer` is the hash of the move that they paid for, so that nobody can change it unseen. A move that costs
        nothing, or was paid for by one before it, has an entry for its hash.
        """
        after = before
        if answer is not None and not charged:
            append(
                connection,
                self.account,
                self.key,
                {"what": "free", "run": self.key, "move": number, "answer": answer},
            )
        for event, price in charged:
            after = after + price
            body = {
                "what": "event",
                "run": self.key,
                "move": number,
                "event": to_json(event),
                "cost": cost_to_text(price),
                **({} if answer is None else {"answer": answer}),
            }
            append(connection, self.account, self.key, body)
        connection.execute(sa.update(store.runs).where(store.runs.c.id == self.key).values(spent=cost_to_text(after)))

    def finish(self) -> None:
        """Mark the run done; what it reserved and did not spend is free again."""
        self._end("done")

    def close(self) -> None:
        """Give up an unfinished run: what it spent stays spent, the rest of its reservation is free again."""
        self._end("closed")

    def _end(self, status: str) -> None:
        with write(self.engine, self.account) as connection:
            row = self._row(connection)
            if row.status == status:
                return
            if row.status != "open":
                raise LedgerConflict(f"this release is already {row.status}")
            connection.execute(sa.delete(store.sealed).where(store.sealed.c.run == self.key))
            connection.execute(sa.update(store.runs).where(store.runs.c.id == self.key).values(status=status))
            append(connection, self.account, self.key, {"what": status, "run": self.key, "spent": row.spent})
