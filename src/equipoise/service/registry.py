"""The tables that a steward has registered: where they are, what is public of them, and their budgets."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from equipoise.budget import Budget, find_account, look
from equipoise.data.schema import Schema, from_domain, load
from equipoise.data.table import Table, read
from equipoise.errors import LedgerConflict, SchemaError, SettingError
from equipoise.pipeline import ledger_location
from equipoise.privacy.analyst_opening import analysts_name
from equipoise.privacy.ledger import Ledger
from equipoise.service import database as db
from equipoise.service import files, journal, sources
from equipoise.service.people import Person
from equipoise.service.problems import Absent, Conflict
from equipoise.service.settings import Settings

__all__ = ["Registered", "Registry"]


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Registered:
    """A registered table.

    Attributes:
        name: Its name, in paths and in the ledger.
        source: The file, relative to the root folder; or a listed source's name, `source:census`.
        schema_file: The schema file, relative to the root folder.
        schema: What is public about it, with its total budget and its ledger.
        analyst_total: Total (epsilon, delta) that protects analysts from each other.
        online: How it answers questions one by one; None: it does not.
        frozen: Whether nothing more may be spent or asked.
        created: When it was registered.
    """

    name: str
    source: str
    schema_file: str
    schema: Schema
    analyst_total: tuple[float, float]
    online: dict[str, Any] | None
    frozen: bool
    created: float

    @property
    def ledger(self) -> str:
        """Path or URL of the ledger."""
        return str(self.schema.ledger)

    @property
    def asked(self) -> Schema:
        """What may be asked about one by one: the schema, or the columns of it that were opened."""
        columns = None if self.online is None else self.online["columns"]
        return self.schema if columns is None else self.schema.select(columns)

    @property
    def answers(self) -> bool:
        """Whether it is open for questions one by one."""
        return self.online is not None and self.online["plan"] is not None

    def require_open(self) -> None:
        """Refuse what a frozen table must not do.

        Raises:
            Conflict: the table is frozen.
        """
        if self.frozen:
            raise Conflict(
                "the table is frozen: nothing more is asked or released from it; the steward can unfreeze it"
            )


class Registry:
    """The registered tables. Safe to use from several threads."""

    def __init__(self, engine: sa.Engine, settings: Settings) -> None:
        self._engine, self._settings = engine, settings
        self._places = sources.load(settings.sources)
        self._opened: dict[str, Table] = {}
        self._num_rows: dict[str, int] = {}
        self._known: dict[str, Registered] = {}  # no other process changes them: one server a state folder
        self._lock = threading.Lock()

    def register(
        self,
        by: Person,
        *,
        source: str,
        schema_file: str,
        epsilon: float,
        delta: float,
        analyst_epsilon: float,
        analyst_delta: float,
    ) -> Registered:
        """Register a table and open its account in the ledger; reads the header, no row's content.

        Raises:
            EquipoiseError: a file cannot be read, the schema is not confirmed, or the ledger knows another total.
        """
        root = self._settings.root
        place = sources.named(self._places, source)
        kept = f"{sources.PREFIX}{place}" if place is not None else _relative(root, files.allowed(root, source))
        schema_path = files.allowed(root, schema_file)
        declared = from_domain(schema_path) if schema_path.suffix.lower() == ".json" else load(schema_path)
        _require_agreement(declared, epsilon, delta)
        ledger = self._ledger(declared)
        schema = replace(declared, epsilon=epsilon, delta=delta, ledger=ledger, path=None)
        self._read(kept, schema).close()
        Ledger(ledger or self._settings.location).account(
            schema.name, epsilon=epsilon, delta=delta, rows_per_unit=schema.rows_per_unit
        )
        values = {
            "name": schema.name,
            "source": kept,
            "schema_file": _relative(root, schema_path),
            "schema": schema.to_json(),
            "epsilon": epsilon,
            "delta": delta,
            "analyst_epsilon": analyst_epsilon,
            "analyst_delta": analyst_delta,
            "ledger": ledger,
            "online": None,
            "frozen": False,
            "created": db.clock(),
        }
        try:
            with db.write(self._engine) as connection:
                connection.execute(sa.insert(db.tables).values(**values))
                journal.note(connection, by.id, "register", table=schema.name, detail=kept)
        except sa.exc.IntegrityError:
            raise Conflict(f"a table {schema.name} is registered already; the name is in its schema file") from None
        return self.get(schema.name)

    def _ledger(self, schema: Schema) -> str | None:
        """The schema's own ledger, which the command line shares; else None: the service's database."""
        if schema.ledger is not None:
            return str(Path(schema.ledger).resolve()) if "://" not in schema.ledger else schema.ledger
        beside = ledger_location(schema)
        if beside is not None and find_account(beside, schema.name) is not None:
            raise LedgerConflict(
                f"{Path(beside).name} already records spending of this table: name it as `ledger` under [privacy] in"
                " the schema, so that it is shared"
            )
        return None

    def get(self, name: str) -> Registered:
        """A registered table.

        Raises:
            Absent: there is none of that name.
        """
        found = self._known.get(name)
        if found is None:
            with db.read(self._engine) as connection:
                row = connection.execute(sa.select(db.tables).where(db.tables.c.name == name)).one_or_none()
            if row is None:
                raise Absent("there is no such table")
            found = self._known[name] = self._registered(row)
        return found

    def all(self) -> list[Registered]:
        """Every table, by name."""
        with db.read(self._engine) as connection:
            rows = connection.execute(sa.select(db.tables).order_by(db.tables.c.name)).all()
        return [self._registered(row) for row in rows]

    def change(self, by: Person, name: str, action: str, **values: Any) -> Registered:
        """Change what may change of a table, and write it to the log."""
        with db.write(self._engine) as connection:
            connection.execute(sa.update(db.tables).where(db.tables.c.name == name).values(**values))
            journal.note(connection, by.id, action, table=name)
        self._known.pop(name, None)
        return self.get(name)

    def listed(self) -> tuple[list[str], list[str]]:
        """What could be registered: tables under the root folder and elsewhere, and schemas."""
        tables, schemas = files.listed(self._settings.root)
        return [*tables, *(sources.PREFIX + name for name in sorted(self._places))], schemas

    def _read(self, source: str, schema: Schema) -> Table:
        place = sources.named(self._places, source)
        if place is None:
            return read(files.allowed(self._settings.root, source), schema=schema)
        return read(self._places[place].open(place, self._settings.fetched), schema=schema)

    @contextmanager
    def opened(self, registered: Registered) -> Iterator[Table]:
        """The table itself, to be counted or released. What a connection or a copy takes is let go of at the end."""
        if registered.source.startswith(sources.PREFIX):
            table = self._read(registered.source, registered.schema)
            try:
                yield table
            finally:
                table.close()
            return
        with self._lock:  # a file is kept, as counting its rows may take a pass
            if registered.name not in self._opened:
                self._opened[registered.name] = self._read(registered.source, registered.schema)
        yield self._opened[registered.name]

    def num_rows(self, registered: Registered) -> int:
        """The table's number of rows, with each unit's share bounded; counted once."""
        if registered.name not in self._num_rows:
            with self.opened(registered) as table:
                self._num_rows[registered.name] = table.bounded(0).num_rows
        return self._num_rows[registered.name]

    def budget(self, registered: Registered) -> Budget:
        """What is spent and left of a table's data budget."""
        return look(registered.ledger, registered.schema)

    def analyst_budget(self, registered: Registered) -> Budget | None:
        """The same of the budget that protects analysts from each other; None before anything was spent of it."""
        epsilon, delta = registered.analyst_total
        account = find_account(registered.ledger, analysts_name(registered.name))
        return None if account is None else Budget("", True, epsilon, delta, account.held())

    def used(self, registered: Registered) -> dict[str, tuple[int, int]]:
        """For each analyst of a table the questions counted and the answers paid for, ever."""
        account = Ledger(registered.ledger).existing(registered.name)
        return {} if account is None else account.analysts()

    def _registered(self, row: Any) -> Registered:
        return Registered(
            row.name,
            row.source,
            row.schema_file,
            replace(Schema.from_json(row.schema), ledger=row.ledger or self._settings.location),
            (row.analyst_epsilon, row.analyst_delta),
            None if row.online is None else json.loads(row.online),
            bool(row.frozen),
            row.created,
        )


def _relative(root: Path, path: Path) -> str:
    return str(path.relative_to(root.resolve()))


def _require_agreement(schema: Schema, epsilon: float, delta: float) -> None:
    if not _NAME.fullmatch(schema.name):
        raise SchemaError("a registered table's name has letters, digits, dots, dashes and underscores, at most 64")
    if schema.unconfirmed:
        raise SchemaError(
            f"the schema of {', '.join(schema.unconfirmed)} was read from the data and is not confirmed. Check the"
            " values and bounds in the schema file and set `confirmed = true`"
        )
    if schema.epsilon is not None and (schema.epsilon, schema.delta) != (epsilon, delta):
        raise SettingError(
            f"the schema declares a total of epsilon {schema.epsilon:g} at delta {schema.delta:g}; register the table"
            " with the same, or change the schema"
        )
