"""The service's tables in its database: SQLite by default, PostgreSQL by URL. Changed only by migrations.

They stand beside the ledger's tables (`privacy/store.py`), which keep what was spent; nothing here is private in the
sense of the table's records, but an analyst's questions are that analyst's secret.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from equipoise.errors import LedgerError
from equipoise.privacy.store import BUSY_SECONDS, make_private, serialised, url_of

__all__ = [
    "batches",
    "clock",
    "collections",
    "connect",
    "jobs",
    "log",
    "metadata",
    "people",
    "questions",
    "read",
    "sessions",
    "tables",
    "write",
]

metadata = sa.MetaData()

tables = sa.Table(
    "service_tables",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("source", sa.Text, nullable=False),  # relative to the root folder
    sa.Column("schema_file", sa.Text, nullable=False),  # relative to the root folder
    sa.Column("schema", sa.Text, nullable=False),  # the public schema as it was when the table was registered
    sa.Column("epsilon", sa.Float, nullable=False),
    sa.Column("delta", sa.Float, nullable=False),
    sa.Column("analyst_epsilon", sa.Float, nullable=False),
    sa.Column("analyst_delta", sa.Float, nullable=False),
    sa.Column("ledger", sa.Text),  # path or URL; NULL: this database
    sa.Column("online", sa.Text),  # JSON: how it answers questions one by one; NULL: it does not
    sa.Column("frozen", sa.Boolean, nullable=False),
    sa.Column("created", sa.Float, nullable=False),
)
people = sa.Table(
    "service_people",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("role", sa.Text, nullable=False),  # steward or analyst
    sa.Column("table", sa.ForeignKey("service_tables.name")),  # an analyst's; NULL for a steward
    sa.Column("digest", sa.Text, nullable=False),  # sha256 of the token's secret
    sa.Column("expires", sa.Float, nullable=False),
    sa.Column("revoked", sa.Boolean, nullable=False),
    sa.Column("created", sa.Float, nullable=False),
)
sessions = sa.Table(
    "service_sessions",  # browsers that are signed in
    metadata,
    sa.Column("digest", sa.Text, primary_key=True),  # sha256 of the cookie
    sa.Column("person", sa.ForeignKey("service_people.id"), nullable=False),
    sa.Column("csrf", sa.Text, nullable=False),
    sa.Column("expires", sa.Float, nullable=False),
)
questions = sa.Table(
    "service_questions",  # an analyst's own history; what was paid for is in the ledger
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("person", sa.ForeignKey("service_people.id"), nullable=False, index=True),
    sa.Column("key", sa.Text),  # idempotency key
    sa.Column("asks", sa.Text, nullable=False),  # JSON: what was asked
    sa.Column("asked", sa.Float, nullable=False),
    sa.Column("answers", sa.Text, nullable=False),  # JSON list
)
collections = sa.Table(
    "service_collections",  # a call for batches, answered all at once
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("table", sa.ForeignKey("service_tables.name"), nullable=False),
    sa.Column("request", sa.Text, nullable=False),  # JSON
    sa.Column("state", sa.Text, nullable=False),  # open, answering, answered, given up
    sa.Column("created", sa.Float, nullable=False),
)
batches = sa.Table(
    "service_batches",
    metadata,
    sa.Column("collection", sa.ForeignKey("service_collections.id"), primary_key=True),
    sa.Column("person", sa.ForeignKey("service_people.id"), primary_key=True),
    sa.Column("queries", sa.Text, nullable=False),  # JSON list of normal forms
    sa.Column("answers", sa.Text),  # JSON list; NULL until they are known
    sa.Column("submitted", sa.Float, nullable=False),
)
jobs = sa.Table(
    "service_jobs",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("table", sa.ForeignKey("service_tables.name"), nullable=False),
    sa.Column(
        "kind", sa.Text, nullable=False
    ),  # release, collection, or questions: what is kept of a session that ended
    sa.Column("key", sa.Text, nullable=False, unique=True),  # idempotency key
    sa.Column("request", sa.Text, nullable=False),  # JSON
    sa.Column("state", sa.Text, nullable=False),  # waiting, working, cancelling, done, failed, cancelled
    sa.Column("step", sa.Text, nullable=False),
    sa.Column("done", sa.Float, nullable=False),  # share of the step
    sa.Column("message", sa.Text, nullable=False),
    sa.Column("starts", sa.Integer, nullable=False),  # how often a worker took it up
    sa.Column("shared", sa.Boolean, nullable=False),  # whether analysts of the table may download it
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("ended", sa.Float),
)
log = sa.Table(
    "service_log",  # what stewards and the server did; append only
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("table", sa.Text),
    sa.Column("detail", sa.Text, nullable=False),
)


def connect(location: str | Path) -> sa.Engine:
    """Open the database and bring its tables up to date.

    Raises:
        LedgerError: it cannot be opened, or its driver is not installed.
    """
    from equipoise.service.migrations import upgrade

    url = url_of(location)
    try:
        engine = _sqlite(url) if url.startswith("sqlite") else sa.create_engine(url, pool_pre_ping=True)
        upgrade(engine)
    except ModuleNotFoundError as error:
        raise LedgerError("a PostgreSQL database needs the extra: pip install 'equipoise[postgres]'") from error
    except (sa.exc.DatabaseError, sa.exc.ArgumentError, OSError) as error:
        raise LedgerError(f"cannot open the service's database: {type(error).__name__}") from error
    return engine


def _sqlite(url: str) -> sa.Engine:
    make_private(Path(url.removeprefix("sqlite:///")))
    # A pool, unlike the ledger's: a server opens it once and is never forked.
    engine = sa.create_engine(url, connect_args={"timeout": BUSY_SECONDS}, pool_size=20, max_overflow=40)
    return serialised(engine)


@contextmanager
def read(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A consistent view that waits for nobody."""
    try:
        with engine.connect().execution_options(equipoise_reading=True) as connection:
            yield connection
    except sa.exc.DBAPIError as error:
        raise _unreachable(error) from error


@contextmanager
def write(engine: sa.Engine) -> Iterator[sa.Connection]:
    """One write transaction. What must not be done twice at once is guarded by a unique constraint besides."""
    try:
        with engine.begin() as connection:
            yield connection
    except sa.exc.IntegrityError:
        raise
    except sa.exc.DBAPIError as error:
        raise _unreachable(error) from error


def _unreachable(error: Exception) -> LedgerError:
    return LedgerError(f"the service's database cannot be reached ({type(error).__name__}); try again in a moment")


def clock() -> float:
    """Seconds since 1970."""
    return time.time()
