"""The private table: streamed, encoded, never held as a whole.

A `Table` is a source and a schema. Its rows leave it only as codes, in batches; that is all the counting engine needs.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.core import Codes, IntArray, Progress, code_type, silent
from equipoise.data.baskets import open_baskets
from equipoise.data.bounding import LIST_BYTES, Bounding, Lists, count_bounded
from equipoise.data.items import ITEMS
from equipoise.data.schema import Schema, from_domain, load
from equipoise.data.sources import Distributed, Divisible, Source, hint_at, open_source
from equipoise.errors import DataError, SchemaError, SettingError

__all__ = ["Table", "read"]

BATCH_ROWS = 2**16
"""Rows of a batch: large enough to forget Arrow's overhead, small enough for the cache of one core."""

UNIT_BYTES = 2**30
"""Memory for choosing the rows of privacy units, unless told: 5 million rows of 40 columns in one pass."""

MOST_DENSE = 1024
"""Items up to which a row is read as codes, one for each item, and any workload and method will do."""

NO_CODES = (
    f"a table of more than {MOST_DENSE:,} items takes a workload of conjunctions, such as --workload 'random 3-way x"
    " 1000', and a method that models no column: --method dual_query"
)


@dataclass(frozen=True)
class Table:
    """A table to be protected, and its public schema.

    Attributes:
        schema: What is public about it.
        unit_seed: Chooses the rows of each privacy unit that are used; None means all rows (see `bounded`).
        memory: Bytes that choosing them may take at once.
    """

    schema: Schema
    source: Source = field(repr=False)
    unit_seed: int | None = field(default=None, repr=False, compare=False)
    memory: int = field(default=UNIT_BYTES, repr=False, compare=False)
    # What passes over the source have found, for all tables made of this one.
    _found: dict[tuple[str, int], int] = field(default_factory=dict, repr=False, compare=False)

    def __repr__(self) -> str:
        """In a line, without looking at a row."""
        names = self.schema.domain.columns
        shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        return f"<Table {self.schema.name}: {len(names):,} columns ({shown})>"

    @cached_property
    def num_rows(self) -> int:
        """Number of rows used. For a CSV file this takes a pass over it, once."""
        bounding = self.bounding
        rows = self.source.num_rows if bounding is None else self._num_bounded_rows(bounding)
        if rows == 0:
            raise DataError("the table has no rows")
        return rows

    def _num_bounded_rows(self, bounding: Bounding) -> int:
        key = (bounding.unit, bounding.rows_per_unit)
        if key not in self._found:
            if isinstance(self.source, Distributed):
                self._found[key] = self.source.count_bounded(bounding)
            else:
                source = self.source
                self._found[key] = count_bounded(
                    lambda: (batch.column(0) for batch in source.batches([bounding.unit], BATCH_ROWS)), bounding
                )
        return self._found[key]

    @property
    def num_bytes(self) -> int | None:
        """Bytes of its files; None when it is not in files."""
        return self.source.num_bytes if isinstance(self.source, Divisible | Distributed) else None

    def close(self) -> None:
        """Let go of what reading holds on to, such as a database's transaction; reading again is allowed."""
        close = getattr(self.source, "close", None)
        if close is not None:
            close()

    def select(self, columns: Iterable[str]) -> Table:
        """The table with only these columns, in the order given; the others are not read.

        Raises:
            SettingError: A name is unknown or repeated.
        """
        return replace(self, schema=self.schema.select(columns))

    def bounded(self, seed: int, *, memory: int = 4 * UNIT_BYTES) -> Table:
        """The table with at most `rows_per_unit` rows of each privacy unit, chosen at random by the seed.

        The table itself when the schema names no unit. See `units.choose_rows` for the guarantee. A row without a unit
        is refused when the rows are counted or read.

        Args:
            seed: Chooses the rows.
            memory: Bytes that the process may take, a quarter of them for the choice; less means more passes.
        """
        if self.schema.unit is None or self.unit_seed is not None:
            return self
        return replace(self, unit_seed=seed, memory=memory // 4)

    @property
    def bounding(self) -> Bounding | None:
        """How rows of a privacy unit are chosen; None when all rows are used."""
        if self.schema.unit is None or self.unit_seed is None:
            return None
        columns = self.schema.columns
        return Bounding.within(
            self.memory,
            num_rows=self.source.num_rows,
            row_bytes=LIST_BYTES if self.schema.items is not None else len(columns) * self.code_type.itemsize,
            unit=self.schema.unit,
            rows_per_unit=self.schema.rows_per_unit,
            seed=self.unit_seed,
        )

    @property
    def code_type(self) -> np.dtype[Any]:
        """The type of all codes: the one that the largest column needs."""
        return np.dtype(code_type(max(self.schema.domain.sizes)))

    def _raw(self, batch_rows: int) -> Iterator[Any]:
        """Arrow batches before encoding, those with rows; the unit's column is the last one where rows are bounded."""
        names = self.schema.source_columns
        if (bounding := self.bounding) is not None:
            names = (*names, bounding.unit)
        return (batch for batch in self.source.batches(names, batch_rows) if batch.num_rows)

    def batches(self, *, batch_rows: int = BATCH_ROWS, progress: Progress = silent) -> Iterator[Codes]:
        """Encoded rows, at most `batch_rows` at a time; only these columns are read.

        Args:
            batch_rows: Most rows in one batch; memory is bounded by it (and by a row group's pages or a CSV block).
            progress: Told the number of rows after each batch.

        Yields:
            Codes of shape (num_columns, rows of the batch), all of the type that the largest column needs.

        Raises:
            DataError: A cell does not fit the schema, or the file cannot be read to its end.
        """
        if self.schema.items is not None:
            if self.schema.items.number > MOST_DENSE:
                raise SettingError(NO_CODES)
            yield from (
                self.schema.items.dense(*rows) for rows in self.baskets(batch_rows=batch_rows, progress=progress)
            )
            return
        encoded = (self.encode(batch) for batch in self._raw(batch_rows))
        if (bounding := self.bounding) is not None:
            whole = bounding.codes(lambda: ((b.column(-1), self.encode(b)) for b in self._raw(batch_rows)))
            encoded = (c[:, i : i + batch_rows] for c in whole for i in range(0, c.shape[1], batch_rows))
        total, done = 0 if progress is silent else self.num_rows, 0
        for codes in encoded:
            yield codes
            done += codes.shape[1]
            progress(done, total)

    def encode(self, batch: Any) -> Codes:
        """The codes of a record batch whose first columns are the schema's.

        Raises:
            DataError: A cell does not fit the schema.
        """
        columns = self.schema.columns
        codes = np.empty((len(columns), batch.num_rows), dtype=self.code_type)
        for row, column in enumerate(columns):
            codes[row] = column.encode(batch.column(row))
        return codes

    def baskets(self, *, batch_rows: int = BATCH_ROWS, progress: Progress = silent) -> Iterator[Lists]:
        """The rows of a table of items, at most `batch_rows` at a time: see `Items.encode`.

        Raises:
            DataError: An item is not declared, or the file cannot be read to its end.
        """
        items = self.schema.items
        assert items is not None
        lists = (items.encode(batch.column(0)) for batch in self._raw(batch_rows))
        if (bounding := self.bounding) is not None:
            whole = bounding.lists(
                lambda: ((batch.column(-1), items.encode(batch.column(0))) for batch in self._raw(batch_rows))
            )
            lists = (part for found in whole for part in _cut(*found, batch_rows))
        total, done = 0 if progress is silent else self.num_rows, 0
        for starts, places in lists:
            yield starts, places
            done += len(starts) - 1
            progress(done, total)


def _cut(starts: IntArray, items: NDArray[np.int32], num_rows: int) -> Iterator[Lists]:
    for first in range(0, len(starts) - 1, num_rows):
        edges = starts[first : first + num_rows + 1]
        yield edges - edges[0], items[edges[0] : edges[-1]]


def read(
    source: Any,
    *,
    schema: str | Path | Schema,
    table: str | None = None,
    query: str | None = None,
    engine: Any = None,
) -> Table:
    """Open a table; rows are read later, when they are counted.

    Args:
        source: Path of a CSV, CSV.gz, Parquet or Arrow/Feather file, of a folder of such files, or a pattern such as
            `sales/*.parquet`; a database's URL (`postgresql://`, `sqlite://`, `duckdb://`); a pandas, polars or Spark
            data frame; an Arrow table, or anything else with `__arrow_c_stream__`. For a table of items also a libsvm
            file, a file with one list a line, a scipy sparse matrix (in memory or saved as .npz), or a 0/1 array.
        schema: Path of a schema file (TOML) or of a domain file (JSON), or a `Schema`.
        table: Which table of the database.
        query: Or which query to it; it is only read.
        engine: Where its files are counted: None for this machine, or Spark: a session, or a master such as `local[4]`
            or `spark://host:7077`. A Spark data frame is counted where it lives.

    Raises:
        SchemaError: The schema cannot be read.
        DataError: The table cannot be read, lacks a column, repeats a column name, or has no rows.

    Example:
        >>> import pyarrow as pa
        >>> from equipoise.data.whole import Integer
        >>> people = pa.table({"age": [31, 47, 35], "note": ["a", "b", "c"]})
        >>> table = read(people, schema=Schema("people", (Integer(name="age", min=0, max=99, bins=10),)))
        >>> table.num_rows, [codes.tolist() for codes in table.batches()]
        (3, [[[3, 4, 3]]])
    """
    public = schema if isinstance(schema, Schema) else _read_schema(Path(schema))
    if public.items is None or table is not None or query is not None:
        opened = open_source(source, table=table, query=query)
    else:
        opened = open_baskets(source, public.items)
    if engine is not None and engine != "local":
        from equipoise.data.spark import distribute

        opened = distribute(opened, engine)
    _check_names(opened.names, public)
    if not isinstance(opened, Distributed) and not _has_rows(opened, public.source_columns[:1]):
        raise DataError("the table has no rows")
    return Table(public, opened)


def _has_rows(source: Source, columns: Sequence[str]) -> bool:
    batches = source.batches(columns, BATCH_ROWS)
    try:
        return any(batch.num_rows for batch in batches)
    finally:
        if isinstance(batches, Generator):
            batches.close()  # now, not when it is forgotten: a database may wait for it


def _read_schema(path: Path) -> Schema:
    if path.suffix.lower() == ".toml":
        return load(path)
    if path.suffix.lower() == ".json":
        return from_domain(path)
    raise SchemaError(f"{path.name}: a schema file ends in .toml, a domain file in .json")


def _check_names(names: tuple[str, ...], schema: Schema) -> None:
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"column {name!r}: the table has more than one column of that name; rename them")
    wanted = schema.source_columns if schema.unit is None else (*schema.source_columns, schema.unit)
    for name in wanted:
        if name not in names and schema.items is not None and schema.items.column is None and name == ITEMS:
            raise DataError(f"the table has no column {name!r}: name the one of the lists as `column` in [items]")
        if name not in names:
            raise DataError(
                f"column {name!r}: the schema names it but the table has no such column{hint_at(names, name)}"
            )
