"""The ledger's tables and transactions: SQLite by default, PostgreSQL by URL, one schema.

Every write transaction first locks what it will check: SQLite with BEGIN IMMEDIATE, PostgreSQL by locking the
account's row. SQLite runs in WAL mode with synchronous=FULL, so a committed transaction survives a power cut.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from equipoise.errors import LedgerError

__all__ = [
    "IN_MEMORY",
    "accounts",
    "connect",
    "entries",
    "location_of",
    "make_private",
    "moves",
    "read",
    "runs",
    "sealed",
    "serialised",
    "url_of",
    "write",
]

BUSY_SECONDS = 120
"""How long a writer waits for another before giving up: far above any one transaction (well under a second)."""

IN_MEMORY = "sqlite://"
"""A ledger that ends with the process."""

_DAMAGED = (sa.exc.DatabaseError, sa.exc.NoResultFound, UnicodeDecodeError)
"""What a database with damaged pages makes the driver raise."""

FORGETS = "secure_delete=ON"
"""What is deleted from a ledger is overwritten."""

metadata = sa.MetaData()

accounts = sa.Table(
    "accounts",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("epsilon", sa.Text),  # the declared total as exact text; NULL: no total declared
    sa.Column("delta", sa.Text),
    sa.Column("rows_per_unit", sa.Integer, nullable=False),
    sa.Column("created", sa.Text, nullable=False),
)
runs = sa.Table(
    "runs",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("account", sa.ForeignKey("accounts.id"), nullable=False),
    sa.Column("plan", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),  # open: holds its reservation; done, closed: holds what it spent
    sa.Column("reserved", sa.Text, nullable=False),
    sa.Column("spent", sa.Text, nullable=False),
    sa.Column("unit_seed", sa.Text, nullable=False),  # secret: which rows of a unit are kept
    sa.Column("created", sa.Text, nullable=False),
)
moves = sa.Table(
    "moves",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("body", sa.LargeBinary, nullable=False),
)
sealed = sa.Table(
    "sealed",  # secret: what a tuned release has drawn so far; gone when it ends
    metadata,
    sa.Column("run", sa.ForeignKey("runs.id"), primary_key=True),
    sa.Column("part", sa.Integer, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("spent", sa.Text, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
)
entries = sa.Table(
    "entries",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("account", sa.ForeignKey("accounts.id"), nullable=False),
    sa.Column("run", sa.ForeignKey("runs.id")),
    sa.Column("body", sa.Text, nullable=False),  # canonical JSON: what happened
    sa.Column("digest", sa.Text, nullable=False),  # sha256 of the previous digest and this body
)


def url_of(location: str | Path) -> str:
    """A database URL from a URL or a file path.

    Example:
        >>> url_of("people.ledger.sqlite"), url_of("postgresql://me@127.0.0.1/equipoise")
        ('sqlite:///people.ledger.sqlite', 'postgresql+psycopg://me@127.0.0.1/equipoise')
        >>> url_of("postgres://me@127.0.0.1/equipoise"), url_of("sqlite:///here.sqlite")
        ('postgresql+psycopg://me@127.0.0.1/equipoise', 'sqlite:///here.sqlite')
    """
    text = str(location)
    if text.startswith(("postgresql://", "postgres://")):
        return "postgresql+psycopg://" + text.split("://", 1)[1]
    return text if "://" in text else f"sqlite:///{text}"


def connect(location: str | Path) -> sa.Engine:
    """Open the store, creating its tables when they are not there.

    Raises:
        LedgerError: it cannot be opened, is not a ledger, or its driver is not installed.
    """
    url = url_of(location)
    try:
        if url == IN_MEMORY:
            engine = serialised(sa.create_engine(url, poolclass=sa.pool.StaticPool), FORGETS)
        elif url.startswith("sqlite:///"):
            engine = _sqlite(Path(url.removeprefix("sqlite:///")))
        else:
            engine = sa.create_engine(url, isolation_level="READ COMMITTED", poolclass=sa.pool.NullPool)
        _create_tables(engine)
    except ModuleNotFoundError as error:
        raise LedgerError("a PostgreSQL ledger needs the extra: pip install 'equipoise[postgres]'") from error
    except (*_DAMAGED, sa.exc.ArgumentError, OSError) as error:
        raise LedgerError(f"cannot open the ledger at {_shown(url)}: {_reason(error)}") from error
    return engine


def _sqlite(path: Path) -> sa.Engine:
    if not path.parent.is_dir():
        raise LedgerError(f"the folder of the ledger {path} does not exist")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise LedgerError(f"the ledger {path} cannot be written; pass --ledger with a path that can be")
    make_private(path)
    # No pool: a connection a transaction costs a millisecond, leaves nothing open behind and survives a fork.
    engine = sa.create_engine(f"sqlite:///{path}", connect_args={"timeout": BUSY_SECONDS}, poolclass=sa.pool.NullPool)
    return serialised(engine, FORGETS)


def make_private(path: Path) -> None:
    """Make an empty file that its owner alone may read and write; one that is there keeps the mode it was given.

    SQLite gives the files that it makes beside a database the database's own mode.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def serialised(engine: sa.Engine, *pragmas: str) -> sa.Engine:
    """The SQLite engine with durable commits and writers that wait for each other at their start."""

    @sa.event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # the driver must not begin transactions by itself
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", *pragmas):
            connection.execute(f"PRAGMA {pragma}")

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        reading = connection.get_execution_options().get("equipoise_reading", False)
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

    return engine


def _create_tables(engine: sa.Engine) -> None:
    for attempt in range(5):
        try:
            with engine.begin() as connection:
                metadata.create_all(connection)
            return
        except (
            sa.exc.IntegrityError,
            sa.exc.ProgrammingError,
        ):  # another process created them at the same moment
            if attempt == 4:
                raise
            time.sleep(0.1 * (attempt + 1))


def location_of(engine: sa.Engine) -> str:
    """The URL that an engine was made for, without the password."""
    return engine.url.render_as_string(hide_password=True)


@contextmanager
def read(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A consistent view that waits for nobody: every statement sees the store as the first one did."""
    options: dict[str, Any] = {"equipoise_reading": True}
    if engine.dialect.name == "postgresql":
        options["isolation_level"] = "REPEATABLE READ"  # SQLite's BEGIN gives the same by itself
    try:
        with engine.connect().execution_options(**options) as connection:
            yield connection
    except _DAMAGED as error:
        raise LedgerError(f"the ledger could not be read: {_reason(error)}") from error


@contextmanager
def write(engine: sa.Engine, account: int | None = None) -> Iterator[sa.Connection]:
    """One serialised write transaction; with an account, its row is locked first."""
    try:
        with engine.begin() as connection:
            if account is not None:
                connection.execute(sa.select(accounts.c.id).where(accounts.c.id == account).with_for_update())
            yield connection
    except _DAMAGED as error:
        raise LedgerError(f"the ledger could not be written: {_reason(error)}; {_spent(error)}") from error


def _spent(error: Exception) -> str:
    """What is known of a transaction that failed: a connection that is lost takes the answer to the commit with it."""
    if getattr(error, "connection_invalidated", False):
        return (
            "if it was lost after the last move, that is paid for and kept: repeat the command, nothing is paid twice"
        )
    return (
        "nothing was spent. Look whether disk or memory are full, or the disk may only be read; then repeat the command"
    )


def _reason(error: Exception) -> str:
    return str(getattr(error, "orig", None) or error).splitlines()[0]


def _shown(url: str) -> str:
    try:
        return sa.engine.make_url(url).render_as_string(hide_password=True)
    except sa.exc.ArgumentError:
        return "that address"
