"""A session in the ledger: two runs, one for the people in the table and one for the analysts, and its pages.

A page is one write transaction. What it debits, the answers it pays for and the keys they are kept under are committed
together or not at all, and the chain has a digest of what is kept; nobody sees an answer before. So an answer is paid
once, a paid answer with a key is never lost nor changed unseen, and a crash costs nothing but queries that were set
aside (`Page.lease`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import sqlalchemy as sa

from equipoise.errors import BudgetError
from equipoise.privacy import analyst_tables as tables
from equipoise.privacy import store
from equipoise.privacy.accountant import Cost, cost
from equipoise.privacy.chain import append, sealed_digest, write
from equipoise.privacy.cost import cost_from_text
from equipoise.privacy.events import Event, Group, Simple
from equipoise.privacy.gate import within
from equipoise.privacy.keyed_noise import KeyedNoise
from equipoise.privacy.run import Run

__all__ = ["Page", "SessionBook", "State", "Update", "charge"]


class State(NamedTuple):
    """Where a session stands. Secret but for the version and whether it halted."""

    version: int
    num_paid: int
    waiting: int
    threshold: int
    halted: bool


class Update(NamedTuple):
    """A query on which the hypothesis was off. Secret: it is an analyst's."""

    version: int
    query: str
    sign: int


class Page:
    """One write transaction of a session.

    Guarantees:
        Precondition: what is released is released after the block of `SessionBook.page` has ended. Statement: a debit
        and what it pays for are both in the ledger or neither is. Proof: one transaction of the database.
    """

    def __init__(self, book: SessionBook, connection: sa.Connection) -> None:
        self._book, self._connection = book, connection
        self._run = book.run.key
        book.run.open_row(connection)
        row = connection.execute(sa.select(tables.sessions).where(tables.sessions.c.run == self._run)).one()
        self.state = State(row.version, row.num_paid, row.waiting, row.threshold, row.halted)

    def lease(self, analyst: str, least: int, most: int, *, limit: int, num_places: int) -> tuple[int, int]:
        """Set aside some of an analyst's queries; returns how many were before, and are now. A new name takes a place.

        A process counts queries in memory and comes here once in a while; what it had left when it crashed is lost to
        the analyst. So the number of queries that were answered never exceeds what is counted.

        Raises:
            BudgetError: all queries are used, or all places taken.
        """
        table = tables.places
        here = sa.and_(table.c.run == self._run, table.c.analyst == analyst)
        before = self._connection.execute(sa.select(table.c.leased).where(here)).scalar()
        if before is None:
            taken = self._connection.execute(
                sa.select(sa.func.count()).select_from(table).where(table.c.run == self._run)
            ).scalar_one()
            if taken >= num_places:
                raise BudgetError("all places of this session are taken; the steward can open another one")
            self._connection.execute(sa.insert(table).values(run=self._run, analyst=analyst, leased=0, paid=0))
            before = 0
        if before + least > limit:
            raise BudgetError(f"this asks for more queries than you have left: {limit - before} of {limit}")
        after = min(before + most, limit)
        self._connection.execute(sa.update(table).where(here).values(leased=after))
        return int(before), after

    def kept(self, analyst: str, key: str) -> tuple[str, str] | None:
        """The queries and the answers that are kept under an analyst's key."""
        return self._book.find(self._connection, analyst, key)

    def keep(self, analyst: str, key: str, asked: str, body: str) -> None:
        """Keep answers under a key."""
        values = {"run": self._run, "analyst": analyst, "key": key, "asked": asked, "body": body}
        self._connection.execute(sa.insert(tables.answers).values(**values))
        self._tell({"what": "kept", "answer": sealed_digest(analyst, key, asked, body)})

    def debit(self, event: Event, *, number: int = 0) -> None:
        """Charge the people's run for an event.

        Raises:
            BudgetError: the session did not reserve this much; nothing was looked at.
        """
        charge(self._connection, self._book.run, [event], number)

    def paid(self, analyst: str, update: Update | None) -> None:
        """Write down that an analyst got a paid answer, and on which query the hypothesis is to be improved."""
        number = self.state.num_paid
        table = tables.places
        here = sa.and_(table.c.run == self._run, table.c.analyst == analyst)
        self._connection.execute(sa.update(table).where(here).values(paid=table.c.paid + 1))
        if update is not None:
            values = {"run": self._run, "number": number, "analyst": analyst, **update._asdict()}
            self._connection.execute(sa.insert(tables.updates).values(**values))
        self._tell({"what": "paid", "number": number, "analyst": analyst})
        waiting = self.state.waiting + (update is not None)
        self.move(self.state._replace(num_paid=number + 1, waiting=waiting))

    def move(self, state: State, hypothesis: bytes | None = None) -> None:
        """Change the state; with a hypothesis, it is that of the new version."""
        here = tables.sessions.c.run == self._run
        self._connection.execute(sa.update(tables.sessions).where(here).values(**state._asdict()))
        if hypothesis is not None:
            values = {"run": self._run, "version": state.version, "body": hypothesis}
            self._connection.execute(sa.insert(tables.hypotheses).values(**values))
            told = sealed_digest(str(state.version), hypothesis.hex())
            self._tell({"what": "hypothesis", "version": state.version, "answer": told})
        self.state = state

    def _tell(self, body: dict[str, Any]) -> None:
        """Write an entry of the session to the chain."""
        append(self._connection, self._book.run.account, self._run, {**body, "run": self._run})

    def updates(self, since: int) -> list[tuple[int, Update]]:
        """Updates from a number on, as of this transaction."""
        return self._book.read_updates(self._connection, since)


class SessionBook:
    """An open session of a ledger."""

    def __init__(self, run: Run, analysts: Run) -> None:
        self.run, self.analysts = run, analysts
        with store.read(run.engine) as connection:
            secret = connection.execute(
                sa.select(tables.sessions.c.secret).where(tables.sessions.c.run == run.key)
            ).scalar_one()
        self.noise = KeyedNoise(bytes.fromhex(secret))
        # SQLite tidies up its journal whenever the last connection closes: with one that stays open, only now and then.
        self._idle = run.engine.raw_connection() if run.engine.dialect.name == "sqlite" else None

    def release(self) -> None:
        """Close what was kept open."""
        if self._idle is not None:
            self._idle.close()
            self._idle = None

    @contextmanager
    def page(self) -> Iterator[Page]:
        """Begin a transaction; committed at the end of the block, undone by an error."""
        with write(self.run.engine, self.run.account) as connection:
            yield Page(self, connection)

    def state(self) -> State:
        """Where the session stands.

        Raises:
            LedgerError: it was closed.
        """
        with store.read(self.run.engine) as connection:
            self.run.open_row(connection)
            row = connection.execute(sa.select(tables.sessions).where(tables.sessions.c.run == self.run.key)).one()
        return State(row.version, row.num_paid, row.waiting, row.threshold, row.halted)

    def updates(self, since: int) -> list[tuple[int, Update]]:
        """Committed updates from a number on."""
        with store.read(self.run.engine) as connection:
            return self.read_updates(connection, since)

    def read_updates(self, connection: sa.Connection, since: int) -> list[tuple[int, Update]]:
        """Updates from a number on, by an open connection."""
        table = tables.updates
        rows = connection.execute(
            sa.select(table).where(table.c.run == self.run.key, table.c.number >= since).order_by(table.c.number)
        ).all()
        return [(row.number, Update(row.version, row.query, row.sign)) for row in rows]

    def hypothesis(self, version: int) -> bytes | None:
        """A stored hypothesis; None for one that is not stored, such as the first."""
        table = tables.hypotheses
        with store.read(self.run.engine) as connection:
            return connection.execute(
                sa.select(table.c.body).where(table.c.run == self.run.key, table.c.version == version)
            ).scalar()

    def kept(self, analyst: str, key: str) -> tuple[str, str] | None:
        """The queries and the answers that are kept under an analyst's key, read without waiting for anybody."""
        with store.read(self.run.engine) as connection:
            return self.find(connection, analyst, key)

    def find(self, connection: sa.Connection, analyst: str, key: str) -> tuple[str, str] | None:
        """What is kept under an analyst's key, by an open connection."""
        table = tables.answers
        row = connection.execute(
            sa.select(table.c.asked, table.c.body).where(
                table.c.run == self.run.key, table.c.analyst == analyst, table.c.key == key
            )
        ).one_or_none()
        return None if row is None else (row.asked, row.body)

    def places(self) -> dict[str, tuple[int, int]]:
        """For each analyst the number of queries set aside and of paid answers."""
        table = tables.places
        with store.read(self.run.engine) as connection:
            rows = connection.execute(sa.select(table).where(table.c.run == self.run.key)).all()
        return {row.analyst: (row.leased, row.paid) for row in rows}


def charge(connection: sa.Connection, run: Run, charged: Sequence[Event], number: int) -> None:
    """Charge a run for events, each times the rows of a unit.

    Guarantees:
        Precondition: the events' sensitivities hold for one record. Statement: if it returns, the run's charges, these
        included, are within its reservation, in exact fractions; else nothing is charged and nothing was looked at.
        Proof: `gate.within` on the sum; the group of a unit's rows as `accountant.cost` prices it.

    Raises:
        BudgetError: it did not reserve this much; nothing was looked at.
    """
    before = cost_from_text(run.open_row(connection).spent)
    size = run.rows_per_unit
    each: list[tuple[Event, Cost]] = []
    for event in charged:
        seen: Event = event
        if size > 1 and isinstance(event, Simple):
            seen = Group(event, size)
        each.append((seen, cost(seen)))
    after = sum((price for _, price in each), before)
    if not within(after, run.reserved):
        raise BudgetError("the session asked for more than it reserved; nothing further was released")
    run.charge(connection, number, before, each)
