"""Single files as streams of Arrow batches: CSV, Parquet, Arrow.

Arrow's messages can quote a row, so a failure to read is told in our own words and without its cause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from equipoise.data.sources import Divisible
from equipoise.errors import DataError

__all__ = ["ENDINGS", "ArrowFile", "CsvFile", "ParquetFile", "ending_of", "open_file", "open_stream", "told"]

ENDINGS = (".csv", ".csv.gz", ".parquet", ".arrow", ".feather")
"""File endings that can be read."""

_CSV_FAULT = (
    "cannot be read as CSV: it must be UTF-8 text with commas between fields, start with a line of column names, and"
    " have as many fields in each row as there are names; lists of items, one a line, need [items] in the schema"
)
_CSV_BLOCK = 2**22  # bytes parsed at a time: larger gains nothing, smaller costs Arrow's overhead a block

Result = TypeVar("Result")


def ending_of(path: Path) -> str | None:
    """Which of `ENDINGS` a file's name has."""
    return next((ending for ending in ENDINGS if path.name.lower().endswith(ending)), None)


def open_file(path: Path) -> CsvFile | ParquetFile | ArrowFile:
    """The source behind a file.

    Raises:
        DataError: Its ending is unknown.
    """
    ending = ending_of(path)
    if ending in (".csv", ".csv.gz"):
        return CsvFile(path)
    if ending == ".parquet":
        return ParquetFile(path)
    if ending is not None:
        return ArrowFile(path)
    raise DataError(f"{path.name}: the file's ending must be one of {', '.join(ENDINGS)}")


@dataclass(frozen=True)
class ParquetFile(Divisible):
    """A Parquet file, or some of its row groups: those from `first` to before `last`."""

    path: Path
    first: int = 0
    last: int | None = None

    @cached_property
    def _metadata(self) -> Any:
        return told(self.path, lambda: pa.parquet.read_metadata(self.path))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return tuple(self._metadata.schema.to_arrow_schema().names)

    @property
    def _row_groups(self) -> range:
        return range(self._metadata.num_row_groups)[self.first : self.last]

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return sum(self._metadata.row_group(i).num_rows for i in self._row_groups)

    @property
    def num_bytes(self) -> int:
        """Bytes of the file."""
        return self.path.stat().st_size

    def parts(self) -> tuple[ParquetFile, ...]:
        """See `Divisible.parts`."""
        return tuple(ParquetFile(self.path, i, i + 1) for i in self._row_groups)

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        """See `Source.batches`."""
        # No threads and no pre-buffering: Arrow would read ahead whole row groups, and memory would not be bounded.
        file = told(self.path, lambda: pa.parquet.ParquetFile(self.path, pre_buffer=False, buffer_size=2**16))
        with file:
            stream = file.iter_batches(
                batch_size=batch_rows, columns=list(columns), row_groups=list(self._row_groups), use_threads=False
            )
            for batch in _each(self.path, stream):
                yield batch.select(list(columns))


@dataclass(frozen=True)
class ArrowFile(Divisible):
    """An Arrow (Feather 2) file."""

    path: Path

    @property
    def num_bytes(self) -> int:
        """Bytes of the file."""
        return self.path.stat().st_size

    def parts(self) -> tuple[ArrowFile, ...]:
        """See `Divisible.parts`."""
        return (self,)

    def _open(self, columns: Sequence[str] | None) -> Any:
        def start() -> Any:
            fields = None if columns is None else [self.names.index(name) for name in columns]
            options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
            return pa.ipc.open_file(pa.memory_map(str(self.path)), options=options)

        return told(self.path, start)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return tuple(self._open(None).schema.names)

    @cached_property
    def num_rows(self) -> int:
        """Number of rows: takes a pass over the file."""
        return sum(batch.num_rows for batch in self._record_batches(self.names[:1]))

    def _record_batches(self, columns: Sequence[str]) -> Iterator[Any]:
        reader = self._open(columns)
        yield from _each(self.path, (reader.get_batch(i) for i in range(reader.num_record_batches)))

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        """See `Source.batches`."""
        for batch in self._record_batches(columns):
            for start in range(0, batch.num_rows, batch_rows):
                yield batch.slice(start, batch_rows).select(list(columns))


@dataclass(frozen=True)
class CsvFile(Divisible):
    """A CSV file in UTF-8 with a header. Every cell is read as text: the column decides what it means."""

    path: Path

    @property
    def num_bytes(self) -> int:
        """Bytes of the file."""
        return self.path.stat().st_size

    def parts(self) -> tuple[CsvFile, ...]:
        """See `Divisible.parts`."""
        return (self,)

    def _open(self, columns: Sequence[str]) -> Any:
        read = pa.csv.ReadOptions(use_threads=False, block_size=_CSV_BLOCK)
        # An empty line of a one-column table is a missing value, of any other table nothing.
        lines = pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=len(self.names) > 1)
        convert = pa.csv.ConvertOptions(
            include_columns=list(columns),
            column_types={name: pa.string() for name in columns},
            null_values=[""],
            strings_can_be_null=True,
        )
        return told(self.path, lambda: pa.csv.open_csv(open_stream(self.path), read, lines, convert), _CSV_FAULT)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        if self.path.is_file() and not self.num_bytes:
            raise DataError(f"{self.path.name} is empty")

        def header() -> tuple[str, ...]:
            # Text of all columns, so that a broken byte in a column nobody wants is not looked at.
            options = pa.csv.ReadOptions(use_threads=False, block_size=2**20)
            lines = pa.csv.ParseOptions(newlines_in_values=True)
            with pa.csv.open_csv(open_stream(self.path), options, lines) as reader:
                return tuple(reader.schema.names)

        return told(self.path, header, _CSV_FAULT)

    @cached_property
    def num_rows(self) -> int:
        """Number of rows: takes a pass over the file."""
        return sum(batch.num_rows for batch in self.batches(self.names[:1], 2**30))

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        """See `Source.batches`."""
        with self._open(columns) as reader:
            for batch in _each(self.path, reader, _CSV_FAULT):
                for start in range(0, batch.num_rows, batch_rows):
                    yield batch.slice(start, batch_rows)


def open_stream(path: Path) -> Any:
    """The bytes of a file, unpacked when it ends in .gz."""
    return pa.input_stream(str(path), compression="gzip" if path.name.lower().endswith(".gz") else None)


def told(
    path: Path,
    action: Callable[[], Result],
    fault: str = "cannot be read: damaged, cut short, or of another kind than its ending says",
) -> Result:
    """The action's result; a DataError without Arrow's words when it fails."""
    try:
        return action()
    except MemoryError:  # Arrow's is an ArrowException too
        raise
    except PermissionError:
        fault = "may not be read by this user; ask for the permission, or run as one who has it"
    except (pa.ArrowException, OSError, UnicodeDecodeError, EOFError, ValueError, KeyError):
        pass
    raise DataError(f"{path.name} {fault}")


def _each(
    path: Path, batches: Iterator[Any], fault: str = "cannot be read to its end: damaged or cut short"
) -> Iterator[Any]:
    iterator = iter(batches)
    end = object()
    while (batch := told(path, lambda: next(iterator, end), fault)) is not end:
        yield batch
