"""Tables of many files: a folder, folders named `column=value`, or a pattern with wildcards.

All files have the same ending; each is read by itself, so a column may be of another type in another file.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from equipoise.data.files import ENDINGS, ArrowFile, CsvFile, ParquetFile, ending_of, open_file
from equipoise.data.sources import Divisible
from equipoise.errors import DataError

__all__ = ["Dataset", "Member", "open_dataset"]

_NULL = "__HIVE_DEFAULT_PARTITION__"
"""How writers of partitioned folders name the folder of missing values."""


def open_dataset(path: Path) -> Dataset:
    """The table whose files lie in a folder, or match a pattern such as `sales/*.parquet` or `sales/**/*.csv`.

    Files and folders whose names begin with `_` or `.` are not read: writers keep their marks there.

    Raises:
        DataError: There are no such files, or they have several endings.
    """
    if path.is_dir():
        root, found = path, sorted(file for file in path.rglob("*") if file.is_file())
    else:
        pattern = str(path)
        fixed = [part for part in path.parts if not glob.has_magic(part)]
        if len(fixed) == len(path.parts):
            raise DataError(f"there is no file {path}")
        root = Path(*path.parts[: next(i for i, part in enumerate(path.parts) if glob.has_magic(part))])
        found = sorted(Path(name) for name in glob.glob(pattern, recursive=True) if Path(name).is_file())
    files = [file for file in found if not _hidden(file.relative_to(root))]
    endings = {ending_of(file) for file in files}
    if not files or None in endings:
        which = "has no files" if not files else "has files of other kinds"
        raise DataError(f"{path} {which}; a table of many files has files that end in one of {', '.join(ENDINGS)}")
    if len(endings) > 1:
        raise DataError(f"{path} has files that end in {' and '.join(sorted(str(e) for e in endings))}; give one kind")
    return Dataset(path, tuple(Member(open_file(file), _keys(file.relative_to(root))) for file in files))


def _hidden(path: Path) -> bool:
    return any(part.startswith(("_", ".")) for part in path.parts)


def _keys(path: Path) -> tuple[tuple[str, str | None], ...]:
    """Columns that folders called `column=value` stand for."""
    pairs = [part.partition("=") for part in path.parts[:-1] if "=" in part]
    return tuple((unquote(name), None if value == _NULL else unquote(value)) for name, _, value in pairs)


@dataclass(frozen=True)
class Member(Divisible):
    """One file of a table of many, or a part of it, with the columns that its folders give."""

    file: CsvFile | ParquetFile | ArrowFile
    keys: tuple[tuple[str, str | None], ...] = ()

    @property
    def path(self) -> Path:
        """The file."""
        return self.file.path

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The file's columns, then the folders'."""
        return (*self.file.names, *(name for name, _ in self.keys))

    @property
    def num_rows(self) -> int:
        """Rows of the file."""
        return self.file.num_rows

    @property
    def num_bytes(self) -> int:
        """Bytes of the file."""
        return self.file.num_bytes

    def parts(self) -> tuple[Member, ...]:
        """Its row groups, for Parquet."""
        return tuple(Member(part, self.keys) for part in self.file.parts())

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        """See `Source.batches`.

        Raises:
            DataError: The file lacks a column, or cannot be read to its end.
        """
        given = dict(self.keys)
        for name in columns:
            if name not in given and name not in self.file.names:
                raise DataError(f"{self.path.name} has no column {name!r}, which other files of the table have")
        own = [name for name in columns if name not in given]
        # A file is read for the number of its rows even when folders give every column.
        for batch in self.file.batches(own or self.file.names[:1], batch_rows):
            arrays = [
                batch.column(own.index(name)) if name in own else _repeated(given[name], batch.num_rows)
                for name in columns
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _repeated(value: str | None, number: int) -> Any:
    return pa.DictionaryArray.from_arrays(
        pa.repeat(pa.scalar(0 if value is not None else None, pa.int32()), number), pa.array([value or ""], pa.string())
    )


@dataclass(frozen=True)
class Dataset(Divisible):
    """A table of many files, read one after the other."""

    path: Path
    members: tuple[Member, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The first file's columns; the other files must have those that are read."""
        return self.members[0].names

    @cached_property
    def num_rows(self) -> int:
        """Rows of all files."""
        return sum(member.num_rows for member in self.members)

    @cached_property
    def num_bytes(self) -> int:
        """Bytes of all files."""
        return sum(member.num_bytes for member in self.members)

    def parts(self) -> tuple[Member, ...]:
        """The parts of all files, in order."""
        return tuple(part for member in self.members for part in member.parts())

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        """See `Source.batches`."""
        for member in self.members:
            yield from member.batches(columns, batch_rows)
