"""Tables in databases, streamed as Arrow batches: PostgreSQL and SQLite through ADBC, DuckDB through its own Arrow.

A connection may only read, and all its passes over a table see the same snapshot: the database's own, of one
transaction. A driver's message about a query can quote a value, so it is not passed on; one about a connection cannot.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from equipoise.errors import DataError, SettingError

__all__ = ["Database", "open_database"]

BATCH_BYTES = 2**22  # of rows that PostgreSQL's driver gathers at a time, as much as a CSV block
DUCKDB_MEMORY = "1GB"

Result = TypeVar("Result")


def open_database(url: str, *, table: str | None, query: str | None) -> Database:
    """The table, or the result of a query, of a database.

    Args:
        url: `postgresql://user@host/name`, `sqlite:///file.db` or `duckdb:///file.duckdb`; four slashes begin an
            absolute path.
        table: Its name, with the schema's before it if need be, `public.people`.
        query: Or a query, such as `select age, sex from people where year = 2020`.

    Raises:
        DataError: The database cannot be reached, or has no such table.
        SettingError: The URL is of another kind, or not one of table and query is given.
    """
    try:
        place = make_url(url)
    except ArgumentError:
        place = None
    if place is None or place.drivername not in _DIALECTS:
        raise SettingError("the URL of a database begins with postgresql://, sqlite:/// or duckdb:///")
    if (table is None) == (query is None):
        raise SettingError("say what to read of the database: either a table (--table) or a query (--query)")
    if table is not None:
        query = f"SELECT * FROM {'.'.join(_quoted(part) for part in table.split('.'))}"
    assert query is not None
    return Database(_DIALECTS[place.drivername](place), query.strip().rstrip(";"))


def _quoted(name: str) -> str:
    return '"' + name.strip().strip('"').replace('"', '""') + '"'


class _Postgres:
    """PostgreSQL: one read-only transaction that sees what was committed when it began."""

    def __init__(self, url: URL) -> None:
        self.name = url.render_as_string(hide_password=True)
        self._uri = url.render_as_string(hide_password=False)

    def connect(self) -> Any:
        from adbc_driver_postgresql import dbapi

        connection = dbapi.connect(self._uri)
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        return connection

    def column(self, name: str) -> str:
        return _quoted(name)

    @contextlib.contextmanager
    def reader(self, connection: Any, sql: str, batch_rows: int) -> Iterator[Any]:
        from adbc_driver_postgresql import StatementOptions

        with connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**{StatementOptions.BATCH_SIZE_HINT_BYTES.value: str(BATCH_BYTES)})
            cursor.execute(sql)
            yield cursor.fetch_record_batch()


class _Sqlite:
    """SQLite: the file opened to read only, in one transaction. Its cells have types of their own, so all are texts."""

    def __init__(self, url: URL) -> None:
        self.name = url.render_as_string()
        self._path = Path(url.database or "")

    def connect(self) -> Any:
        from adbc_driver_sqlite import dbapi

        _require_file(self._path, self.name)
        return dbapi.connect(f"file:{quote(str(self._path.resolve()))}?mode=ro")

    def column(self, name: str) -> str:
        # A cast would cut a number to 15 digits; 17 are needed to tell every two numbers apart.
        cell = _quoted(name)
        return f"CASE typeof({cell}) WHEN 'real' THEN printf('%!.17g', {cell}) ELSE CAST({cell} AS TEXT) END AS {cell}"

    @contextlib.contextmanager
    def reader(self, connection: Any, sql: str, batch_rows: int) -> Iterator[Any]:
        from adbc_driver_sqlite import StatementOptions

        with connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**{StatementOptions.BATCH_ROWS.value: str(batch_rows)})
            cursor.execute(sql)
            yield cursor.fetch_record_batch()


class _DuckDb:
    """DuckDB: the file opened to read only, in one transaction."""

    def __init__(self, url: URL) -> None:
        self.name = url.render_as_string()
        self._path = Path(url.database or "")

    def connect(self) -> Any:
        import duckdb

        _require_file(self._path, self.name)
        connection = duckdb.connect(str(self._path), read_only=True, config={"memory_limit": DUCKDB_MEMORY})
        connection.execute("BEGIN TRANSACTION READ ONLY")
        return connection

    def column(self, name: str) -> str:
        return _quoted(name)

    @contextlib.contextmanager
    def reader(self, connection: Any, sql: str, batch_rows: int) -> Iterator[Any]:
        yield connection.sql(sql).to_arrow_reader(batch_rows)


_DIALECTS: dict[str, Callable[[URL], Any]] = {
    "postgresql": _Postgres,
    "postgres": _Postgres,
    "sqlite": _Sqlite,
    "duckdb": _DuckDb,
}


def _require_file(path: Path, name: str) -> None:
    if not path.is_file():
        raise DataError(f"there is no database file behind {name}; an absolute path is written with four slashes")


class Database:
    """A query's result as a `Source`; connects when it is first asked, and again after `close`."""

    def __init__(self, dialect: Any, query: str) -> None:
        self._dialect = dialect
        self._query = query
        self._connection: Any = None
        self._open = contextlib.ExitStack()  # the stream that is being read: a connection has one at a time
        self._names: tuple[str, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the result, in order."""
        if self._names is None:
            sql = f"SELECT * FROM ({self._query}) AS asked LIMIT 0"
            with self._reader(sql, 1) as reader:
                self._names = tuple(reader.schema.names)
        return self._names

    @property
    def num_rows(self) -> int:
        """Rows of the result, counted by the database."""
        with self._reader(f"SELECT count(*) FROM ({self._query}) AS asked", 1) as reader:
            return int(self._told(reader.read_all).column(0)[0].as_py())

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        """See `Source.batches`."""
        asked = ", ".join(self._dialect.column(name) for name in columns)
        with self._reader(f"SELECT {asked} FROM ({self._query}) AS asked", batch_rows) as reader:
            while (batch := self._told(lambda: next(reader, None))) is not None:
                for start in range(0, batch.num_rows, batch_rows):
                    yield batch.slice(start, batch_rows)

    def close(self) -> None:
        """End the transaction. The next pass begins another, and may see another table."""
        self._open.close()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # the program may be ending, with parts of the driver gone
            self.close()

    @contextlib.contextmanager
    def _reader(self, sql: str, batch_rows: int) -> Iterator[Any]:
        self._open.close()
        self._connect()
        with contextlib.ExitStack() as self._open:
            reader = self._dialect.reader(self._connection, sql, batch_rows)
            yield self._told(lambda: self._open.enter_context(reader))

    def _connect(self) -> None:
        if self._connection is not None:
            return
        try:
            self._connection = self._dialect.connect()
        except ImportError:
            missing = 'install equipoise with its drivers: pip install "equipoise[databases]"'
        except DataError:
            raise
        except Exception as error:  # each driver has errors of its own; none here has seen a row
            missing = str(error).strip().splitlines()[0]
        else:
            return
        raise DataError(f"cannot connect to {self._dialect.name}: {missing}")

    def _told(self, action: Callable[[], Result]) -> Result:
        """The action's result; a DataError without the driver's words, which may quote a value, when it fails."""
        try:
            return action()
        except Exception as error:
            state = getattr(error, "sqlstate", None)
        hint = f" (SQLSTATE {state})" if isinstance(state, str) and state.isalnum() else ""
        raise DataError(
            f"{self._dialect.name}: the query failed{hint}; run it in the database's own client, which shows why"
        )
