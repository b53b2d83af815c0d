"""Where rows come from: CSV, Parquet and Arrow files, and tables in memory, each as a stream of Arrow batches.

Arrow's messages can quote a row, so a failure to read is told in our own words and without its cause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from equipoise.errors import DataError

__all__ = ["ENDINGS", "Source", "open_source", "open_stream"]

ENDINGS = (".csv", ".csv.gz", ".parquet", ".arrow", ".feather")
"""File endings that can be read."""

_CSV_FAULT = (
    "cannot be read as CSV: it must be UTF-8, start with a header line, and have as many fields in each row as there"
)
_CSV_BLOCK = 2**22  # bytes parsed at a time: larger gains nothing, smaller costs Arrow's overhead a block

Result = TypeVar("Result")


class Source(Protocol):
    """A table before it is encoded."""

    @property
    def names(self) -> tuple[str, ...]:
        """The column names, in order; duplicates as they are."""
        ...

    @property
    def num_rows(self) -> int:
        """Number of rows; may take a pass over the file, remembered."""
        ...

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        """Record batches of at most `batch_rows` rows holding these columns, in this order."""
        ...


def open_source(source: Any) -> Source:
    """The source behind a path, a data frame, or an Arrow table.

    Raises:
        DataError: The file is missing or of an unknown kind, or the object is not a table.
    """
    if isinstance(source, (str, Path)):
        path = Path(source)
        if not path.is_file():
            raise DataError(f"there is no file {path}")
        if path.name.lower().endswith((".csv", ".csv.gz")):
            return _CsvFile(path)
        if path.suffix.lower() == ".parquet":
            return _ParquetFile(path)
        if path.suffix.lower() in (".arrow", ".feather"):
            return _ArrowFile(path)
        raise DataError(f"{path.name}: the file's ending must be one of {', '.join(ENDINGS)}")
    if isinstance(source, pa.Table):
        return _Memory(source)
    if type(source).__module__.partition(".")[0] == "pandas":
        return _Memory(_from_pandas(source))
    if hasattr(source, "__arrow_c_stream__"):
        return _Memory(pa.table(source))
    raise DataError(
        f"cannot read a table from a {type(source).__name__}; give a path, a pandas or polars data frame,"
        " or an Arrow table"
    )


@dataclass(frozen=True)
class _Memory:
    """A table that is already in memory."""

    table: Any

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.table.column_names)

    @property
    def num_rows(self) -> int:
        return int(self.table.num_rows)

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        yield from self.table.select(list(columns)).to_batches(max_chunksize=batch_rows)


def _from_pandas(frame: Any) -> Any:
    names = [str(name) for name in frame.columns]
    arrays = []
    for position, name in enumerate(names):
        try:
            array = pa.array(frame.iloc[:, position], from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            array = None
        if array is None:
            raise DataError(f"column {name!r}: it mixes types that Arrow cannot hold together; give it one type")
        arrays.append(array)
    return pa.Table.from_arrays([pa.chunked_array(array) for array in map(_chunks, arrays)], names=names)


def _chunks(array: Any) -> list[Any]:
    return list(array.chunks) if isinstance(array, pa.ChunkedArray) and array.num_chunks else [array]


@dataclass(frozen=True)
class _ParquetFile:
    path: Path

    @cached_property
    def _metadata(self) -> Any:
        return _told(self.path, lambda: pa.parquet.read_metadata(self.path))

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self._metadata.schema.to_arrow_schema().names)

    @property
    def num_rows(self) -> int:
        return int(self._metadata.num_rows)

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        # No threads and no pre-buffering: Arrow would read ahead whole row groups, and memory would not be bounded.
        file = _told(self.path, lambda: pa.parquet.ParquetFile(self.path, pre_buffer=False, buffer_size=2**16))
        with file:
            stream = file.iter_batches(batch_size=batch_rows, columns=list(columns), use_threads=False)
            for batch in _each(self.path, stream):
                yield batch.select(list(columns))


@dataclass(frozen=True)
class _ArrowFile:
    path: Path

    def _open(self, columns: Sequence[str] | None) -> Any:
        def start() -> Any:
            fields = None if columns is None else [self.names.index(name) for name in columns]
            options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
            return pa.ipc.open_file(pa.memory_map(str(self.path)), options=options)

        return _told(self.path, start)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self._open(None).schema.names)

    @cached_property
    def num_rows(self) -> int:
        return sum(batch.num_rows for batch in self._record_batches(self.names[:1]))

    def _record_batches(self, columns: Sequence[str]) -> Iterator[Any]:
        reader = self._open(columns)
        yield from _each(self.path, (reader.get_batch(i) for i in range(reader.num_record_batches)))

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        for batch in self._record_batches(columns):
            for start in range(0, batch.num_rows, batch_rows):
                yield batch.slice(start, batch_rows).select(list(columns))


@dataclass(frozen=True)
class _CsvFile:
    """A CSV file in UTF-8 with a header. Every cell is read as text: the column decides what it means."""

    path: Path

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
        return _told(self.path, lambda: pa.csv.open_csv(open_stream(self.path), read, lines, convert), _CSV_FAULT)

    @cached_property
    def names(self) -> tuple[str, ...]:
        def header() -> tuple[str, ...]:
            # Text of all columns, so that a broken byte in a column nobody wants is not looked at.
            options = pa.csv.ReadOptions(use_threads=False, block_size=2**20)
            lines = pa.csv.ParseOptions(newlines_in_values=True)
            with pa.csv.open_csv(open_stream(self.path), options, lines) as reader:
                return tuple(reader.schema.names)

        return _told(self.path, header, _CSV_FAULT)

    @cached_property
    def num_rows(self) -> int:
        return sum(batch.num_rows for batch in self.batches(self.names[:1], 2**30))

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        with self._open(columns) as reader:
            for batch in _each(self.path, reader, _CSV_FAULT):
                for start in range(0, batch.num_rows, batch_rows):
                    yield batch.slice(start, batch_rows)


def open_stream(path: Path) -> Any:
    """The bytes of a file, unpacked when it ends in .gz."""
    return pa.input_stream(str(path), compression="gzip" if path.name.lower().endswith(".gz") else None)


def _told(
    path: Path,
    action: Callable[[], Result],
    fault: str = "cannot be read: damaged, cut short, or of another kind than its ending says",
) -> Result:
    """The action's result; a DataError without Arrow's words when it fails."""
    try:
        return action()
    except (pa.ArrowException, OSError, UnicodeDecodeError, EOFError, ValueError, KeyError):
        pass
    raise DataError(f"{path.name} {fault}")


def _each(
    path: Path, batches: Iterator[Any], fault: str = "cannot be read to its end: damaged or cut short"
) -> Iterator[Any]:
    iterator = iter(batches)
    end = object()
    while (batch := _told(path, lambda: next(iterator, end), fault)) is not end:
        yield batch
