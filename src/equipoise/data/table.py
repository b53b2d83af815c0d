"""The private table: streamed, encoded, never held as a whole.

A `Table` is a source and a schema. Its rows leave it only as codes, in batches; that is all the counting engine needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from equipoise.core import Codes, IntArray, Progress, code_type, silent
from equipoise.data.baskets import open_baskets
from equipoise.data.conversion import BoolArray
from equipoise.data.schema import Schema, from_domain, load
from equipoise.data.sources import Source, open_source
from equipoise.data.units import keep_rows
from equipoise.errors import DataError, SchemaError, SettingError

__all__ = ["Table", "read"]

BATCH_ROWS = 2**16
"""Rows of a batch: large enough to forget Arrow's overhead, small enough for the cache of one core."""

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
        kept: Which rows of the source are used; None means all (see `bounded`).
    """

    schema: Schema
    source: Source = field(repr=False)
    kept: BoolArray | None = field(default=None, repr=False, compare=False)

    @cached_property
    def num_rows(self) -> int:
        """Number of rows used. For a CSV file this takes a pass over it, once."""
        rows = self.source.num_rows if self.kept is None else int(np.count_nonzero(self.kept))
        if rows == 0:
            raise DataError("the table has no rows")
        return rows

    def select(self, columns: Iterable[str]) -> Table:
        """The table with only these columns, in the order given; the others are not read.

        Raises:
            SettingError: A name is unknown or repeated.
        """
        return replace(self, schema=self.schema.select(columns))

    def bounded(self, seed: int) -> Table:
        """The table with at most `rows_per_unit` rows of each privacy unit, chosen at random by the seed.

        The table itself when the schema names no unit. See `units.keep_rows` for the guarantee.

        Raises:
            DataError: A row has no unit.
        """
        unit = self.schema.unit
        if unit is None or self.kept is not None:
            return self
        chunks = [batch.column(0) for batch in self.source.batches([unit], BATCH_ROWS)]
        kept = keep_rows(chunks, unit, rows_per_unit=self.schema.rows_per_unit, seed=seed)
        return replace(self, kept=kept)

    def raw_batches(self, *, batch_rows: int = BATCH_ROWS) -> Iterator[Any]:
        """Arrow record batches of the rows used, before encoding: private, for the encoder and the steward only."""
        start = 0
        for batch in self.source.batches(self.schema.source_columns, batch_rows):
            end = start + batch.num_rows
            yield batch if self.kept is None else batch.filter(pa.array(self.kept[start:end]))
            start = end

    def batches(self, *, batch_rows: int = BATCH_ROWS, progress: Progress = silent) -> Iterator[Codes]:
        """Encoded rows, in order, at most `batch_rows` at a time; only these columns are read.

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
        columns = self.schema.columns
        dtype = code_type(max(column.size for column in columns))
        total = 0 if progress is silent else self.num_rows
        done = 0
        for batch in self.raw_batches(batch_rows=batch_rows):
            if batch.num_rows == 0:
                continue
            codes = np.empty((len(columns), batch.num_rows), dtype=dtype)
            for row, column in enumerate(columns):
                codes[row] = column.encode(batch.column(row))
            yield codes
            done += batch.num_rows
            progress(done, total)

    def baskets(
        self, *, batch_rows: int = BATCH_ROWS, progress: Progress = silent
    ) -> Iterator[tuple[IntArray, NDArray[np.int32]]]:
        """The rows of a table of items, at most `batch_rows` at a time: see `Items.encode`.

        Raises:
            DataError: An item is not declared, or the file cannot be read to its end.
        """
        items = self.schema.items
        assert items is not None
        total, done = 0 if progress is silent else self.num_rows, 0
        for batch in self.raw_batches(batch_rows=batch_rows):
            if batch.num_rows:
                yield items.encode(batch.column(0))
                done += batch.num_rows
                progress(done, total)


def read(source: Any, *, schema: str | Path | Schema) -> Table:
    """Open a table; rows are read later, when they are counted.

    Args:
        source: Path of a CSV, CSV.gz, Parquet or Arrow/Feather file; a pandas or polars data frame; an Arrow table, or
            anything else with `__arrow_c_stream__`. For a table of items also a libsvm file, a file with one list a
            line, a scipy sparse matrix, or a 0/1 array.
        schema: Path of a schema file (TOML) or of a domain file (JSON), or a `Schema`.

    Raises:
        SchemaError: The schema cannot be read.
        DataError: The table cannot be read, lacks a column, repeats a column name, or has no rows.

    Example:
        >>> from equipoise.data.whole import Integer
        >>> people = pa.table({"age": [31, 47, 35], "note": ["a", "b", "c"]})
        >>> table = read(people, schema=Schema("people", (Integer(name="age", min=0, max=99, bins=10),)))
        >>> table.num_rows, [codes.tolist() for codes in table.batches()]
        (3, [[[3, 4, 3]]])
    """
    public = schema if isinstance(schema, Schema) else _read_schema(Path(schema))
    table = Table(public, open_source(source) if public.items is None else open_baskets(source, public.items))
    _check_names(table.source.names, public)
    if next(table.source.batches(public.source_columns[:1], BATCH_ROWS), None) is None:
        raise DataError("the table has no rows")
    return table


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
        if name not in names:
            raise DataError(f"column {name!r}: the schema names it but the table has no such column")
