"""Databases: read only, one snapshot for all passes, and no value in a message."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from equipoise.data.databases import Database, open_database
from equipoise.errors import DataError, SettingError


@pytest.fixture
def people(request: pytest.FixtureRequest, postgres_server: str) -> Iterator[tuple[Any, str]]:
    """A connection that may write, and the name of a table of three rows."""
    import psycopg

    name = f"t_{abs(hash(request.node.name)) % 10**9}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {name} (age int, note text)")
        connection.execute(f"INSERT INTO {name} VALUES (1, 'canary-5512'), (2, 'b'), (3, NULL)")
        yield connection, name
        connection.execute(f"DROP TABLE {name}")


def ages(source: Database) -> list[int]:
    return sorted(age for batch in source.batches(["age"], 2) for age in batch.column(0).to_pylist())


def test_all_passes_see_one_snapshot_until_the_table_is_closed(people: tuple[Any, str], postgres_server: str) -> None:
    connection, name = people
    source = open_database(postgres_server, table=f"public.{name}", query=None)
    assert source.names == ("age", "note")
    assert ages(source) == [1, 2, 3]
    connection.execute(f"DELETE FROM {name} WHERE age = 1")
    connection.execute(f"INSERT INTO {name} VALUES (7, 'x'), (8, 'x')")
    assert ages(source) == [1, 2, 3]
    assert source.num_rows == 3
    source.close()
    assert ages(source) == [2, 3, 7, 8]
    source.close()


def test_nothing_can_be_written(people: tuple[Any, str], postgres_server: str) -> None:
    connection, name = people
    connection.execute(
        f"CREATE OR REPLACE FUNCTION wipe_{name}() RETURNS int LANGUAGE sql AS $$ DELETE FROM {name}; SELECT 1 $$"
    )
    source = open_database(postgres_server, table=None, query=f"SELECT wipe_{name}() AS age")
    with pytest.raises(DataError, match="the query failed"):
        ages(source)
    source.close()
    connection.execute(f"DROP FUNCTION wipe_{name}")
    assert connection.execute(f"SELECT count(*) FROM {name}").fetchone() == (3,)


def test_a_failing_query_quotes_no_value(people: tuple[Any, str], postgres_server: str) -> None:
    source = open_database(postgres_server, table=None, query=f"SELECT note::int AS age FROM {people[1]}")
    with pytest.raises(DataError, match="the query failed") as caught:
        ages(source)
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is None
    source.close()


def test_a_password_is_not_shown() -> None:
    source = open_database("postgresql://steward:sesame@127.0.0.1:1/people", table="people", query=None)
    with pytest.raises(DataError, match=r"cannot connect to postgresql://steward:\*\*\*@127") as caught:
        source.names  # noqa: B018
    assert "sesame" not in str(caught.value)


def test_sqlite_keeps_numbers_and_mixed_cells_exact(tmp_path: Path) -> None:
    path = tmp_path / "a b%.db"
    with sqlite3.connect(path) as connection:
        connection.execute('CREATE TABLE "odd ""name" (v)')
        connection.executemany(
            'INSERT INTO "odd ""name" VALUES (?)', [(0.1 + 0.2,), (2**60 + 1,), ("x",), (None,), (1e300,)]
        )
    connection.close()
    source = open_database(f"sqlite:///{str(path).replace('%', '%25')}", table='odd "name', query=None)
    (cells,) = (batch.column(0).to_pylist() for batch in source.batches(["v"], 10))
    assert [cells[0], cells[1], cells[2], cells[3]] == ["0.30000000000000004", str(2**60 + 1), "x", None]
    assert float(cells[4]) == 1e300
    source.close()


def test_files_that_are_absent_or_not_databases(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("not a database, but long enough to be one" * 100)
    for url in (f"sqlite:///{tmp_path}/absent.db", f"duckdb:///{tmp_path}/absent.db"):
        with pytest.raises(DataError, match="there is no database file"):
            open_database(url, table="t", query=None).names  # noqa: B018
    for url in (f"sqlite:///{tmp_path}/text.db", f"duckdb:///{tmp_path}/text.db"):
        with pytest.raises(DataError, match=r"cannot connect|the query failed"):
            open_database(url, table="t", query=None).names  # noqa: B018


def test_either_a_table_or_a_query() -> None:
    for given in ({"table": None, "query": None}, {"table": "t", "query": "select 1"}):
        with pytest.raises(SettingError, match="either a table"):
            open_database("sqlite:///x.db", **given)
