"""Where rows come from: files, folders of files, databases and tables in memory, each as a stream of Arrow batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from equipoise.errors import DataError, SettingError

if TYPE_CHECKING:
    from equipoise.data.bounding import Bounding

__all__ = ["Distributed", "Divisible", "Given", "Source", "hint_at", "open_source"]


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


class _Rows(ABC):
    """A `Source` to be derived from: what every kind of it says of its rows."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """See `Source.names`."""

    @property
    @abstractmethod
    def num_rows(self) -> int:
        """See `Source.num_rows`."""

    @abstractmethod
    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        """See `Source.batches`."""


class Divisible(_Rows, ABC):
    """A source in files, whose parts can be read apart, by other processes too."""

    @property
    @abstractmethod
    def num_bytes(self) -> int:
        """Bytes of the files."""

    @abstractmethod
    def parts(self) -> tuple[Source, ...]:
        """Parts that together have every row once, in order."""


class Given(_Rows, ABC):
    """A source of a program's own, which `read` takes as it is."""


class Distributed(_Rows, ABC):
    """A source whose rows stay on the machines of a cluster; `engines.spark` counts it there."""

    @property
    @abstractmethod
    def num_tasks(self) -> int:
        """Tasks that read it, at most."""

    @property
    def num_bytes(self) -> int | None:
        """Bytes of its files, where they are known."""
        return None

    @abstractmethod
    def map_batches(self, columns: Sequence[str], function: Any, schema: str) -> Any:
        """A Spark frame of what `function` makes, on the executors, of each partition's stream of record batches."""

    @abstractmethod
    def count_bounded(self, bounding: Bounding) -> int:
        """How many rows remain when each privacy unit keeps its share."""

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        """Refused.

        Raises:
            SettingError: Always.
        """
        raise SettingError(
            "this reads the table's rows one by one, and those of a Spark table stay on its executors; give the table"
            " as files or as a database, without an engine"
        )


def hint_at(names: Sequence[str], wanted: str | None = None) -> str:
    """Why a wanted column may be missing, or any that can be used; empty when nothing is known.

    A name that the file has is never said: where the line of names was forgotten, it is a cell of somebody's row.

    Example:
        >>> hint_at(["sex;age"], "sex")
        "; its first line has ';' and no comma: write the file with commas between fields"
        >>> hint_at([" Age"], "age")
        '; it has one that differs in capitals or spaces only'
    """
    if len(names) == 1:
        for sign, said in ((";", "';'"), ("\t", "tabs"), ("|", "'|'")):
            if sign in names[0]:
                return f"; its first line has {said} and no comma: write the file with commas between fields"
    if wanted is not None and wanted.strip().casefold() in (name.strip().casefold() for name in names):
        return "; it has one that differs in capitals or spaces only"
    return ""


def open_source(source: Any, *, table: str | None = None, query: str | None = None) -> Source:
    """The source behind a path, a folder, a pattern, a database's URL, a data frame, or an Arrow table.

    Args:
        source: What to read.
        table: A database's table, for a URL.
        query: Or a query to it.

    Raises:
        DataError: The file is missing or of an unknown kind, or the object is not a table.
    """
    if isinstance(source, str) and "://" in source:
        from equipoise.data.databases import open_database

        return open_database(source, table=table, query=query)
    if table is not None or query is not None:
        raise DataError("a table's name or a query goes with the URL of a database, such as postgresql://host/name")
    if isinstance(source, (str, Path)):
        path = Path(source)
        from equipoise.data.datasets import open_dataset
        from equipoise.data.files import open_file

        return open_file(path) if path.is_file() else open_dataset(path)
    if isinstance(source, pa.Table):
        return _Memory(source)
    if isinstance(source, Given):
        return source
    module = type(source).__module__.partition(".")[0]
    if module == "pandas":
        return _Memory(_from_pandas(source))
    if module == "pyspark":
        from equipoise.data.spark import SparkFrame

        return SparkFrame(source)
    if hasattr(source, "__arrow_c_stream__"):
        return _Memory(pa.table(source))
    raise DataError(
        f"cannot read a table from a {type(source).__name__}; give a path, a pandas, polars or Spark data frame,"
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
