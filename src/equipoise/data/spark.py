"""Tables on a Spark cluster: data frames, and files that the executors read themselves.

Files are read by the same readers on the executors as on this machine, so that a cell means the same in both places.
Rows never come to the driver.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from equipoise.data.bounding import Bounding
from equipoise.data.datasets import Member
from equipoise.data.files import ParquetFile
from equipoise.data.sources import Distributed, Divisible, Source
from equipoise.data.spark_session import map_in_arrow, session_of
from equipoise.data.units import count_kept, hash_units
from equipoise.errors import DataError, EquipoiseError, SettingError

__all__ = [
    "SparkFiles",
    "SparkFrame",
    "collected",
    "distribute",
    "fault_of",
    "frame_of",
]

READ_ROWS = 2**17
"""Rows that an executor reads at a time, as on one machine (`engines.arrow.BATCH_ROWS`)."""

UNITS, TOTAL = "high long, low long, fault string", "number long, fault string"  # Spark schemas

TASKS_PER_CORE = 3
"""So that cores that finish early take a share of what is left; each task sends its counts once."""


def frame_of(engine: Any, *, table: str | None, query: str | None) -> Any:
    """A table of Spark's catalogue, or a query's result, as a frame.

    Raises:
        SettingError: Not one of the two is given.
        DataError: Spark knows no such table, or cannot read the query.
    """
    if (table is None) == (query is None):
        raise SettingError("say what to read from Spark: either a table (--table) or a query (--query)")
    session = session_of(engine)
    return told(lambda: session.table(table) if query is None else session.sql(query))


def distribute(source: Source, engine: Any) -> Distributed:
    """The source with its files read by Spark's executors, which must see the same paths.

    Raises:
        SettingError: The source is not one of files.
    """
    if isinstance(source, Distributed):
        return source
    if not isinstance(source, Divisible):
        raise SettingError(
            "Spark counts tables of CSV, Parquet or Arrow files, and its own data frames; give a path or a data frame,"
            " or leave out the engine to count here"
        )
    return SparkFiles(session_of(engine), source)


class _Remote(Distributed, ABC):
    def count_bounded(self, bounding: Bounding) -> int:
        """See `Distributed.count_bounded`."""
        units = self.map_batches([bounding.unit], _Units(bounding), UNITS)
        together = units.repartition(self.num_tasks, "high", "low")
        return _total(map_in_arrow(together, _Kept(bounding.rows_per_unit), TOTAL))


def _total(frame: Any) -> int:
    rows = collected(frame)
    for row in rows:
        if row["fault"] is not None:
            raise DataError(row["fault"])
    return sum(int(row["number"]) for row in rows)


@dataclass(frozen=True)
class SparkFrame(_Remote):
    """A Spark data frame: a table of its catalogue, a query's result, whatever Spark can read."""

    frame: Any = field(repr=False)

    @property
    def session(self) -> Any:
        """Its session."""
        return self.frame.sparkSession

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return tuple(self.frame.columns)

    @cached_property
    def num_rows(self) -> int:
        """Number of rows: takes a job."""
        return int(told(self.frame.count))

    @property
    def num_tasks(self) -> int:
        """Tasks that read it."""
        return _num_tasks(self.session)

    def map_batches(self, columns: Sequence[str], function: Any, schema: str) -> Any:
        """See `Distributed.map_batches`."""
        chosen = self.frame.select(*("`" + name.replace("`", "``") + "`" for name in columns))
        return map_in_arrow(chosen.coalesce(self.num_tasks), function, schema)


@dataclass(frozen=True)
class SparkFiles(_Remote):
    """Files that executors read, each task some of them, or some of their row groups."""

    session: Any = field(repr=False)
    source: Divisible

    @property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return self.source.names

    @cached_property
    def num_rows(self) -> int:
        """Number of rows: from the files' own counts where they have any, else a job."""
        if all(isinstance(part.file if isinstance(part, Member) else part, ParquetFile) for part in self._parts):
            return self.source.num_rows
        return _total(self.map_batches(self.names[:1], _Lengths(), TOTAL))

    @property
    def num_bytes(self) -> int:
        """Bytes of the files."""
        return self.source.num_bytes

    @cached_property
    def _parts(self) -> tuple[Source, ...]:
        return self.source.parts()

    @property
    def num_tasks(self) -> int:
        """Tasks that read them."""
        return max(1, min(len(self._parts), _num_tasks(self.session)))

    def map_batches(self, columns: Sequence[str], function: Any, schema: str) -> Any:
        """See `Distributed.map_batches`."""
        number = self.num_tasks
        # Task i gets the parts from i/number to (i+1)/number of the list: neighbours, so that a file is opened once.
        edges = [i * len(self._parts) // number for i in range(number + 1)]
        shares = [self._parts[a:b] for a, b in pairwise(edges)]
        tasks = self.session.range(0, number, 1, number)
        return map_in_arrow(tasks, _Reading(tuple(shares), tuple(columns), function), schema)


def _num_tasks(session: Any) -> int:
    cores = session.conf.get("spark.default.parallelism", None)
    if cores is None:
        cores = session.sparkContext.defaultParallelism
    return TASKS_PER_CORE * int(cores)


@dataclass(frozen=True)
class _Reading:
    """On an executor: read the parts of the tasks given, and hand them to a function as one stream."""

    shares: tuple[tuple[Source, ...], ...]
    columns: tuple[str, ...]
    function: Any

    def __call__(self, tasks: Iterator[Any]) -> Iterator[Any]:
        numbers = [number for batch in tasks for number in batch.column(0).to_pylist()]
        parts = (part for number in numbers for part in self.shares[number])
        return iter(self.function(batch for part in parts for batch in part.batches(self.columns, READ_ROWS)))


@dataclass(frozen=True)
class _Units:
    """On an executor: the hash of each row's unit."""

    bounding: Bounding

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        try:
            for batch in batches:
                if batch.num_rows:
                    hashes = hash_units(batch.column(0), self.bounding.unit, self.bounding.seed).view("i8")
                    faults = pa.nulls(len(hashes), pa.string())
                    columns = [pa.array(hashes[:, 0]), pa.array(hashes[:, 1]), faults]
                    yield pa.RecordBatch.from_arrays(columns, names=["high", "low", "fault"])
        except Exception as error:
            columns = [pa.array([0]), pa.array([0]), pa.array([fault_of(error)])]
            yield pa.RecordBatch.from_arrays(columns, names=["high", "low", "fault"])


@dataclass(frozen=True)
class _Kept:
    """On an executor that has all rows of its units: how many remain of them."""

    rows_per_unit: int

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        hashes, faults = [np.zeros((0, 2), dtype=np.uint64)], []
        for batch in batches:
            hashes.append(np.stack([batch.column(i).to_numpy() for i in (0, 1)], axis=1).view(np.uint64))
            faults += batch.column(2).drop_null().to_pylist()
        yield _row(count_kept(np.concatenate(hashes), rows_per_unit=self.rows_per_unit), min(faults, default=None))


@dataclass(frozen=True)
class _Lengths:
    """On an executor: how many rows there are."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        try:
            yield _row(sum(batch.num_rows for batch in batches), None)
        except Exception as error:
            yield _row(0, fault_of(error))


def _row(number: int, fault: str | None) -> Any:
    columns = [pa.array([number], pa.int64()), pa.array([fault], pa.string())]
    return pa.RecordBatch.from_arrays(columns, names=["number", "fault"])


def fault_of(error: Exception) -> str:
    """What may be said of an error on an executor: our own words, else only its kind, as it might quote a value."""
    if isinstance(error, EquipoiseError):
        return str(error)
    return f"an executor failed with {type(error).__name__}, whose message is not shown as it may quote a value"


def told(action: Any) -> Any:
    """The action's result; a DataError without Spark's words, which may quote a value, when it fails."""
    try:
        return action()
    except Exception as error:
        missing = "No module named 'equipoise'" in str(error)
        kind = type(error).__name__
    if missing:
        raise DataError("the executors have no Equipoise: install the same version there, or ship it with the session")
    raise DataError(f"Spark could not finish ({kind}); its own log, on the cluster, says why")


def collected(frame: Any) -> list[Any]:
    """The rows of a small frame of counts."""
    return list(told(frame.collect))
