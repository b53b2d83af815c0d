"""Where lists of items come from, besides columns of lists or texts in a table.

libsvm files, lines of separated items, matrices (`data.matrices`): each is a `Source` with one column of lists, or of
texts to be split. A table too dense for lists gives its columns as bits instead.

A failure to read is told without quoting the line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray

from equipoise.core import IntArray
from equipoise.data.files import open_stream
from equipoise.data.items import ITEMS, Items
from equipoise.data.matrices import BitColumns, SparseMatrix, load_matrix
from equipoise.data.sources import Source, open_source
from equipoise.errors import DataError

__all__ = ["BitSource", "open_baskets"]

LIBSVM = (".libsvm", ".svm", ".svmlight")
LINES = (".csv", ".txt", ".basket", ".dat")
MATRIX = ".npz"
_BLOCK = 2**22  # bytes parsed at a time


@runtime_checkable
class BitSource(Source, Protocol):
    """A source that can give columns as bits: for tables too dense to be lists."""

    def bits(self, columns: IntArray, first_row: int, num_rows: int) -> NDArray[np.uint64]:
        """Bit r of word w of each column: row first_row + 64 w + r; first_row is a multiple of 64, pads are 0."""
        ...


def open_baskets(source: Any, items: Items) -> Source:
    """The source behind a path, a sparse or dense 0/1 matrix, or anything `open_source` takes.

    Raises:
        DataError: It cannot be read.
    """
    if isinstance(source, (str, Path)):
        path = Path(source)
        ending = path.name.lower().removesuffix(".gz")
        if path.is_file() and ending.endswith(LIBSVM):
            return _LibsvmFile(path, items.column or ITEMS)
        if path.is_file() and ending.endswith(LINES) and items.column is None:
            return _LineFile(path)
        if path.is_file() and ending.endswith(MATRIX):
            return SparseMatrix.of(load_matrix(path), items)
        if path.is_file() and not ending.endswith((".csv", ".parquet", ".arrow", ".feather")):
            known = (*LIBSVM, *LINES, MATRIX, ".parquet", ".arrow", ".feather")
            raise DataError(f"{path.name}: a file of items ends in one of {', '.join(known)}")
    if hasattr(source, "tocsr"):
        return SparseMatrix.of(source, items)
    if isinstance(source, np.ndarray):
        return BitColumns.of(source, items)
    return source if isinstance(source, BitSource) else open_source(source)


def _batch(lists: Any) -> Any:
    return pa.RecordBatch.from_arrays([lists], names=[ITEMS])


@dataclass(frozen=True)
class _TextFile:
    path: Path

    def _blocks(self) -> Iterator[bytes]:
        """The file's bytes, whole lines at a time, the last one ended by a newline if it has any character."""
        rest = b""
        try:
            with open_stream(self.path) as stream:
                while block := stream.read(_BLOCK):
                    block = rest + block
                    cut = block.rfind(b"\n") + 1
                    rest = block[cut:]
                    if cut:
                        yield block[:cut]
        except MemoryError:  # Arrow's is an ArrowException too
            raise
        except (OSError, pa.ArrowException, EOFError):
            raise DataError(f"{self.path.name} cannot be read to its end: damaged or cut short") from None
        if rest:
            yield rest + b"\n"


@dataclass(frozen=True)
class _LineFile(_TextFile):
    """One row a line, its items separated; an empty line is a row without items."""

    names: tuple[str, ...] = (ITEMS,)

    @cached_property
    def num_rows(self) -> int:
        return sum(block.count(b"\n") for block in self._blocks())

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        for block in self._blocks():
            try:
                lines = block.decode("utf-8").replace("\r\n", "\n").split("\n")[:-1]
            except UnicodeDecodeError:
                lines = None
            if lines is None:
                raise DataError(f"{self.path.name} is not UTF-8 text")
            for start in range(0, len(lines), batch_rows):
                yield _batch(pa.array(lines[start : start + batch_rows], pa.string()))


@dataclass(frozen=True)
class _LibsvmFile(_TextFile):
    """Lines `label item:value item:value # comment`; labels are not read, a value of 0 is no item."""

    column: str = ITEMS

    @property
    def names(self) -> tuple[str, ...]:
        return (self.column,)

    @cached_property
    def num_rows(self) -> int:
        return sum(len(starts) - 1 for starts, _ in self._parsed())

    def _parsed(self) -> Iterator[tuple[IntArray, IntArray]]:
        for block in self._blocks():
            text = np.frombuffer(block, dtype=np.uint8)
            starts = np.zeros(block.count(b"\n") + 1, dtype=np.int64)
            found = np.empty(block.count(b":"), dtype=np.int64)
            num_rows = _parse(text, starts, found)
            if num_rows < 0:
                raise DataError(
                    f"{self.path.name} cannot be read as libsvm: each line must be `label item:value item:value ...`"
                )
            yield starts[: num_rows + 1], found[: starts[num_rows]]

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        for starts, found in self._parsed():
            for first in range(0, len(starts) - 1, batch_rows):
                edges = starts[first : first + batch_rows + 1]
                values = pa.array(found[edges[0] : edges[-1]])
                lists = pa.LargeListArray.from_arrays(pa.array(edges - edges[0]), values)
                yield pa.RecordBatch.from_arrays([lists], names=[self.column])


@njit(cache=True)  # type: ignore[untyped-decorator]
def _parse(text: Any, starts: Any, found: Any) -> int:
    """Rows of a block of whole lines, or -1 when a line is not libsvm; `found` gets the items, `starts` the rows."""
    num_rows, num_found, i = 0, 0, 0
    while i < len(text):
        field_, comment = 0, False
        while text[i] != 10:
            c = text[i]
            if comment or c == 32 or c == 9 or c == 13:
                i += 1
                continue
            if c == 35:  # '#'
                comment = True
                continue
            field_ += 1
            if field_ == 1:  # the label
                while text[i] != 10 and text[i] != 32 and text[i] != 9 and text[i] != 13:
                    if text[i] == 58:
                        return -1
                    i += 1
                continue
            item, digits = 0, 0
            while 48 <= text[i] <= 57:
                item, digits, i = 10 * item + (text[i] - 48), digits + 1, i + 1
            if digits == 0 or digits > 18 or text[i] != 58:
                return -1
            i += 1
            size, positive, mantissa = 0, False, True
            while text[i] != 10 and text[i] != 32 and text[i] != 9 and text[i] != 13:
                c = text[i]
                if c == 101 or c == 69:  # e, E
                    mantissa = False
                elif not (48 <= c <= 57 or c == 43 or c == 45 or c == 46):
                    return -1
                elif mantissa and 49 <= c <= 57:
                    positive = True
                size, i = size + 1, i + 1
            if size == 0:
                return -1
            if positive:
                found[num_found] = item
                num_found += 1
        i += 1
        if field_:
            num_rows += 1
            starts[num_rows] = num_found
    return num_rows
