"""One suite for every place that a table can be in: the same whole numbers out, the same refusals.

The expected counts are made here by plain Python, from the rows themselves.
"""

from __future__ import annotations

import datetime
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from equipoise.data.dates import Date
from equipoise.data.listed import Boolean, Categorical
from equipoise.data.real import Real
from equipoise.data.schema import Schema
from equipoise.data.table import Table, read
from equipoise.data.whole import Integer
from equipoise.engines import scan
from equipoise.errors import DataError
from equipoise.privacy.private import reveal
from equipoise.queries.build import build

TOWNS = ("Zürich", "東京", "São Paulo", 'O\'Hare "x"')
SCHEMA = Schema(
    "people",
    (
        Categorical(name="town", values=TOWNS, other="elsewhere", nullable=True),
        Integer(name="age", min=0, max=99, bins=5),
        Real(name="score", min=0, max=1, bins=3, nullable=True),
        Boolean(name="member", nullable=True),
        Date(name="seen day", min=datetime.date(2020, 1, 1), max=datetime.date(2020, 12, 31), bins="month"),
    ),
)
UNITS = Schema("people", SCHEMA.columns, unit="person", rows_per_unit=2)


def people(num_rows: int = 400) -> pa.Table:
    """Nulls, texts of many scripts, values that the schema does not list, people with many rows."""
    rng = np.random.default_rng(8)
    pick = rng.integers
    day = datetime.date(2020, 1, 1)
    return pa.table(
        {
            "person": [f"p{int(number)}é" for number in pick(0, max(num_rows // 4, 1), num_rows)],
            "town": pa.array([(*TOWNS, "Ωmega", None)[pick(6)] for _ in range(num_rows)], pa.string()),
            "age": pa.array(pick(0, 100, num_rows), pa.int64()),
            "score": pa.array([None if pick(5) == 0 else float(rng.random()) for _ in range(num_rows)], pa.float64()),
            "member": pa.array([(True, False, None)[pick(3)] for _ in range(num_rows)], pa.bool_()),
            "seen day": pa.array([day + datetime.timedelta(days=int(pick(366))) for _ in range(num_rows)], pa.date32()),
        }
    )


def encode(rows: pa.Table) -> np.ndarray:
    """The codes of the rows, by hand."""
    codes = []
    for row in rows.to_pylist():
        town = 5 if row["town"] is None else TOWNS.index(row["town"]) if row["town"] in TOWNS else 4
        score = 3 if row["score"] is None else min(int(row["score"] * 3), 2)
        member = 2 if row["member"] is None else int(row["member"])
        codes.append([town, row["age"] // 20, score, member, row["seen day"].month - 1])
    return np.array(codes).T


def expected(rows: pa.Table, workload: Any) -> list[int]:
    codes = encode(rows)
    found = []
    for number in range(workload.num_queries):
        query = workload.query(number)
        holds = np.ones(codes.shape[1], dtype=bool)
        for column, mask in zip(query.columns, query.masks, strict=True):
            holds &= np.asarray(mask)[codes[column]]
        found.append(int(holds.sum()))
    return found


WORKLOADS = {
    "marginals, prefixes, ranges": "1-way,3-way,prefixes,ranges",
    "conditions": ["town = Zürich and age in 20..59", "member = true", ("town", "seen day")],
    "conjunctions": "random 3-way x 200 seed 4",
}


@dataclass(frozen=True)
class Place:
    """Somewhere to keep a table: `put` writes it there and gives back what `read` takes."""

    put: Callable[[pa.Table], dict[str, Any]]
    memory: int | None = None

    def open(self, rows: pa.Table, schema: Schema = SCHEMA) -> Table:
        return read(**self.put(rows), schema=schema)

    def count(self, table: Table, workload: Any) -> list[int]:
        return reveal(scan.count(table, workload, memory=self.memory)).tolist()


def in_csv(folder: Path) -> Place:
    def put(rows: pa.Table) -> dict[str, Any]:
        pa.csv.write_csv(rows, folder / "people.csv")
        return {"source": folder / "people.csv"}

    return Place(put)


def put_parquet(rows: pa.Table, folder: Path) -> Path:
    """Folders by membership, row groups of seven rows, an empty file among them, and marks that are no data."""
    for value in ("true", "false", "__HIVE_DEFAULT_PARTITION__"):
        wanted = {"true": True, "false": False}.get(value)
        chosen = rows.filter(pa.array([row is wanted for row in rows["member"].to_pylist()], pa.bool_()))
        place = folder / f"member={value}"
        place.mkdir(parents=True, exist_ok=True)
        half = chosen.num_rows // 2
        for name, part in (("a", chosen.slice(0, half)), ("b", chosen.slice(half)), ("c", chosen.slice(0, 0))):
            pq.write_table(part.drop_columns(["member"]), place / f"{name}.parquet", row_group_size=7)
    (folder / "_SUCCESS").touch()
    return folder


def in_folder(folder: Path) -> Place:
    return Place(lambda rows: {"source": put_parquet(rows, folder / "parts")})


def in_pattern(folder: Path) -> Place:
    def put(rows: pa.Table) -> dict[str, Any]:
        for number, start in enumerate(range(0, max(rows.num_rows, 1), 150)):
            with pa.ipc.new_file(folder / f"part-{number}.arrow", rows.schema) as writer:
                writer.write_table(rows.slice(start, 150), max_chunksize=40)
        return {"source": str(folder / "part-*.arrow")}

    return Place(put)


def in_sqlite(folder: Path) -> Place:
    def put(rows: pa.Table) -> dict[str, Any]:
        path = folder / "people.db"
        path.unlink(missing_ok=True)
        with sqlite3.connect(path) as database:
            database.execute('CREATE TABLE people (person, town, age, score, member, "seen day")')
            lines = [tuple(str(v) if isinstance(v, datetime.date) else v for v in r.values()) for r in rows.to_pylist()]
            database.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", lines)
        database.close()
        return {"source": f"sqlite:///{path}", "table": "people"}

    return Place(put)


def in_duckdb(folder: Path) -> Place:
    import duckdb

    def put(rows: pa.Table) -> dict[str, Any]:
        path = folder / "people.duckdb"
        path.unlink(missing_ok=True)
        with duckdb.connect(str(path)) as database:
            database.register("given", rows)
            database.execute("CREATE TABLE people AS SELECT * FROM given")
        return {"source": f"duckdb:///{path}", "query": "SELECT * FROM people;"}

    return Place(put)


def in_postgres(request: pytest.FixtureRequest) -> Place:
    import psycopg

    server = request.getfixturevalue("postgres_server")

    def put(rows: pa.Table) -> dict[str, Any]:
        name = f"people_{abs(hash(request.node.name)) % 10**9}"
        with psycopg.connect(server, autocommit=True) as database:
            database.execute(f"DROP TABLE IF EXISTS {name}")
            database.execute(
                f'CREATE TABLE {name} (person text, town text, age int, score float8, member bool, "seen day" date)'
            )
            with database.cursor() as cursor:
                cursor.executemany(
                    f"INSERT INTO {name} VALUES (%s, %s, %s, %s, %s, %s)", [tuple(r.values()) for r in rows.to_pylist()]
                )
        return {"source": server, "table": f"public.{name}"}

    return Place(put)


def in_spark_files(request: pytest.FixtureRequest, folder: Path) -> Place:
    session = request.getfixturevalue("spark_session")
    return Place(lambda rows: {"source": put_parquet(rows, folder / "parts"), "engine": session})


def in_spark_frame(request: pytest.FixtureRequest, folder: Path) -> Place:
    session = request.getfixturevalue("spark_session")

    def put(rows: pa.Table) -> dict[str, Any]:
        pq.write_table(rows, folder / "people.parquet", row_group_size=50)
        # More partitions than there are files: some are empty.
        return {"source": session.read.parquet(str(folder / "people.parquet")).repartition(5)}

    return Place(put)


LOCAL = ("memory", "csv", "folder", "pattern", "sqlite", "duckdb", "postgres")
SPARK = ("spark files", "spark frame")


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    name = request.param
    makers: dict[str, Callable[[], Place]] = {
        "memory": lambda: Place(lambda rows: {"source": rows}, memory=2**34),
        "csv": lambda: in_csv(tmp_path),
        "folder": lambda: in_folder(tmp_path),
        "pattern": lambda: in_pattern(tmp_path),
        "sqlite": lambda: in_sqlite(tmp_path),
        "duckdb": lambda: in_duckdb(tmp_path),
        "postgres": lambda: in_postgres(request),
        "spark files": lambda: in_spark_files(request, tmp_path),
        "spark frame": lambda: in_spark_frame(request, tmp_path),
    }
    return makers[name]()


everywhere = pytest.mark.parametrize("place", [*LOCAL, *SPARK], indirect=True)


@everywhere
@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_same_counts_everywhere(place: Place, workload: str) -> None:
    rows = people()
    table = place.open(rows)
    asked = build(WORKLOADS[workload], SCHEMA)
    assert table.num_rows == rows.num_rows
    assert place.count(table, asked) == expected(rows, asked)
    table.close()


@everywhere
def test_one_row(place: Place) -> None:
    rows = people(1)
    asked = build("2-way", SCHEMA)
    table = place.open(rows)
    assert place.count(table, asked) == expected(rows, asked)
    table.close()


@everywhere
def test_no_rows(place: Place) -> None:
    with pytest.raises(DataError, match="the table has no rows"):
        place.open(people(0)).num_rows  # noqa: B018


@everywhere
def test_the_same_rows_of_each_unit_everywhere(place: Place) -> None:
    rows = people()
    table, asked = place.open(rows, UNITS).bounded(5), build("2-way", UNITS)
    here = read(rows, schema=UNITS).bounded(5)
    _, number = np.unique(rows["person"].to_numpy(zero_copy_only=False), return_counts=True)
    assert number.max() > 2
    assert table.num_rows == np.minimum(number, 2).sum() < rows.num_rows
    assert place.count(table, asked) == reveal(scan.count(here, asked)).tolist()
    table.close()


@everywhere
def test_a_bad_row_stops_the_count_with_the_same_words_everywhere(place: Place) -> None:
    rows = people()
    ages = rows["age"].to_numpy().copy()
    ages[333] = 733_141
    broken = rows.set_column(2, "age", pa.array(ages))
    asked = build("1-way", SCHEMA)
    with pytest.raises(DataError) as here:
        scan.count(read(broken, schema=SCHEMA), asked)
    with pytest.raises(DataError) as caught:
        place.count(place.open(broken), asked)
    assert str(caught.value) == str(here.value)
    assert "733" not in str(caught.value)
    assert caught.value.__cause__ is None


@everywhere
def test_a_row_without_a_unit_is_refused_everywhere(place: Place) -> None:
    rows = people()
    names = rows["person"].to_pylist()
    names[17] = None
    table = place.open(rows.set_column(0, "person", pa.array(names)), UNITS).bounded(5)
    with pytest.raises(DataError, match="column 'person': a row has no privacy unit"):
        table.num_rows  # noqa: B018
