"""The ledger: what a table's releases have spent, exactly, and what is left.

An account is one table with one declared total. A run reserves its whole plan before any data is touched, so a
release that has begun can always finish and two at once can never overspend; its moves then turn reservation into
spending, and finishing (or closing) it gives the rest back. Entries are chained by hash: `verify` recomputes
everything from the events.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from equipoise.errors import BudgetError, LedgerConflict, LedgerError
from equipoise.privacy import analyst_tables, store
from equipoise.privacy.chain import ROLLED_BACK, anchored, append, canonical, held_by, sealed_digest, write
from equipoise.privacy.cost import Cost, cost_from_text, cost_to_text
from equipoise.privacy.inspection import inspect
from equipoise.privacy.run import Run, now
from equipoise.privacy.totals import fits, refusal

__all__ = ["Account", "Ledger"]


class Ledger:
    """A store of accounts, at a path (SQLite) or a URL (PostgreSQL)."""

    def __init__(self, location: str | Path) -> None:
        self.location = str(location)
        self.engine = store.connect(location)

    @classmethod
    def sharing(cls, account: Account) -> Ledger:
        """The ledger that an account is in, by the same connection."""
        ledger = cls.__new__(cls)
        ledger.location, ledger.engine = str(account._engine.url), account._engine
        return ledger

    def account(self, name: str, *, epsilon: float | None, delta: float | None, rows_per_unit: int = 1) -> Account:
        """The account of a table, made on first use.

        Raises:
            LedgerConflict: the account exists with another total or another number of rows a unit.
        """
        declared = {"epsilon": _text(epsilon), "delta": _text(delta), "rows_per_unit": rows_per_unit}
        for _ in range(2):
            try:
                with write(self.engine) as connection:
                    row = connection.execute(
                        sa.select(store.accounts).where(store.accounts.c.name == name)
                    ).one_or_none()
                    if row is None:
                        values = {"name": name, "created": now(), **declared}
                        key = connection.execute(sa.insert(store.accounts).values(**values)).inserted_primary_key
                        assert key is not None
                        append(connection, key[0], None, {"what": "account", "name": name, **declared})
                        return Account(self.engine, key[0])
                    stored = {"epsilon": row.epsilon, "delta": row.delta, "rows_per_unit": row.rows_per_unit}
                    if stored != declared:
                        raise LedgerConflict(_changed(name, stored, declared))
                    return Account(self.engine, row.id)
            except LedgerError as error:
                if not isinstance(error.__cause__, sa.exc.IntegrityError):
                    raise
        raise LedgerError(f"the account {name} could not be made")

    def existing(self, name: str) -> Account | None:
        """The account of a table if it is there; never makes one.

        Raises:
            LedgerError: it is not there, and the anchor says that it was.
        """
        sure = self._sure()
        with store.read(self.engine) as connection:
            key = connection.execute(sa.select(store.accounts.c.id).where(store.accounts.c.name == name)).scalar()
        if key is None and name in sure:
            raise LedgerError(ROLLED_BACK.format(name=name))
        return None if key is None else Account(self.engine, key)

    def _sure(self) -> tuple[str, ...]:
        """The accounts that the anchor is sure of; one that was only promised may never have been committed."""
        return tuple(name for name, (sure, _) in anchored(self.engine).items() if sure.digest)

    def verify(self) -> dict[str, int]:
        """Verify every account (`Account.verify`); returns the number of entries of each.

        Raises:
            LedgerError: something does not add up, there is no account, or the anchor knows of one that is missing.
        """
        sure = self._sure()
        with store.read(self.engine) as connection:
            keys = {row.name: row.id for row in connection.execute(sa.select(store.accounts)).all()}
        for name in sure:
            if name not in keys:
                raise LedgerError(ROLLED_BACK.format(name=name))
        if not keys:
            raise LedgerError("this ledger has no entry: nothing was released yet")
        return {name: Account(self.engine, key).verify() for name, key in sorted(keys.items())}


def _text(value: float | None) -> str | None:
    return None if value is None else repr(float(value))


def _changed(name: str, stored: dict[str, Any], declared: dict[str, Any]) -> str:
    parts = [f"{key} {stored[key]} (schema: {declared[key]})" for key in stored if stored[key] != declared[key]]
    return (
        f"the ledger knows the table {name} with another {', '.join(parts)}; restore the schema, or record the new"
        " total with `equipoise ledger SCHEMA --change-total`"
    )


class Account:
    """One table's spending.

    Guarantees:
        Precondition: a declared total (epsilon, delta). Statement: all that the account's runs release, together and
        however they are interleaved, is (epsilon, delta)-DP. Proof: a run is opened only if what all runs hold, its
        whole reservation included, fits the total (`totals.fits`), in one transaction; a gate holds it to its
        reservation (`gate.Gate`); so what is spent never exceeds what is held.
    """

    def __init__(self, engine: sa.Engine, key: int) -> None:
        self._engine = engine
        self._key = key

    def _row(self, connection: sa.Connection) -> Any:
        return connection.execute(sa.select(store.accounts).where(store.accounts.c.id == self._key)).one()

    @property
    def declared(self) -> tuple[float | None, float | None, int]:
        """Total epsilon and delta (None: none declared) and rows per unit."""
        with store.read(self._engine) as connection:
            row = self._row(connection)
        return (
            None if row.epsilon is None else float(row.epsilon),
            None if row.delta is None else float(row.delta),
            row.rows_per_unit,
        )

    def held(self) -> Cost:
        """What all runs have spent, and what unfinished ones have reserved."""
        with store.read(self._engine) as connection:
            return held_by(connection, self._key)

    def check(self, asked: Cost) -> None:
        """Raise `BudgetError`, with spent, asked and left, when a plan does not fit; touches nothing."""
        with store.read(self._engine) as connection:
            self._check(connection, asked)

    def _check(self, connection: sa.Connection, asked: Cost) -> None:
        row = self._row(connection)
        if row.epsilon is None:
            return
        epsilon, delta = float(row.epsilon), float(row.delta)
        held = held_by(connection, self._key)
        if fits(held + asked, epsilon=epsilon, delta=delta):
            return
        raise BudgetError(refusal(row.name, epsilon, delta, held, asked))

    def start(self, *, run: str, plan: dict[str, Any], reserve: Cost, unit_seed: int) -> Run:
        """Open a run: check and reserve its whole cost in one transaction.

        Args:
            run: Its id, chosen by the caller so that it can be written down before anything is reserved.
            plan: What it will do; public.
            reserve: The price of all of it.
            unit_seed: Secret: chooses which rows of a unit are kept, the same ones after a restart.
        """
        with write(self._engine, self._key) as connection:
            self._check(connection, reserve)
            values = {
                "id": run,
                "account": self._key,
                "plan": canonical(plan),
                "status": "open",
                "reserved": cost_to_text(reserve),
                "spent": cost_to_text(Cost()),
                "unit_seed": str(unit_seed),
                "created": now(),
            }
            connection.execute(sa.insert(store.runs).values(**values))
            append(
                connection,
                self._key,
                run,
                {
                    **{"what": "reserve", "run": run, "cost": cost_to_text(reserve), "plan": plan},
                    "unit_seed": sealed_digest(run, str(unit_seed)),
                },
            )
        return Run(self._engine, self._key, run)

    def run(self, run: str) -> Run | None:
        """A run of this account, or None."""
        with store.read(self._engine) as connection:
            found = connection.execute(
                sa.select(store.runs.c.id).where(store.runs.c.id == run, store.runs.c.account == self._key)
            ).scalar()
        return None if found is None else Run(self._engine, self._key, run)

    def runs(self) -> list[dict[str, Any]]:
        """Every run: id, status, plan, reserved, spent, created; oldest first."""
        with store.read(self._engine) as connection:
            begun = sa.select(sa.func.min(store.entries.c.id)).where(store.entries.c.run == store.runs.c.id)
            rows = connection.execute(
                sa.select(store.runs).where(store.runs.c.account == self._key).order_by(begun.scalar_subquery())
            ).all()
        return [
            {
                "run": row.id,
                "status": row.status,
                "created": row.created,
                "plan": json.loads(row.plan),
                "reserved": cost_from_text(row.reserved),
                "spent": cost_from_text(row.spent),
            }
            for row in rows
        ]

    def analysts(self) -> dict[str, tuple[int, int]]:
        """For each analyst the queries counted and the answers paid for, in all sessions and rounds of the account."""
        table = analyst_tables.places
        sums = sa.select(table.c.analyst, sa.func.sum(table.c.leased), sa.func.sum(table.c.paid))
        mine = sums.join(store.runs, store.runs.c.id == table.c.run).where(store.runs.c.account == self._key)
        with store.read(self._engine) as connection:
            rows = connection.execute(mine.group_by(table.c.analyst)).all()
        return {analyst: (int(asked), int(paid)) for analyst, asked, paid in rows}

    def change_total(self, *, epsilon: float | None, delta: float | None) -> None:
        """Record another total: the steward's decision, kept in the chain for ever."""
        with write(self._engine, self._key) as connection:
            values = {"epsilon": _text(epsilon), "delta": _text(delta)}
            connection.execute(sa.update(store.accounts).where(store.accounts.c.id == self._key).values(**values))
            append(connection, self._key, None, {"what": "total", **values})

    def verify(self) -> int:
        """Recompute the chain, every run's spending and reservation, and the totals; returns the number of entries.

        Raises:
            LedgerError: something does not add up; the message says what.
        """
        known = anchored(self._engine)
        with store.read(self._engine) as connection:
            return inspect(connection, self._key, known)
