"""Tables of items as matrices of rows and items: sparse, in memory or saved by SciPy, and dense ones of 0 and 1.

Column i of a matrix is the i-th declared item, whatever the items are called.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from equipoise.core import IntArray
from equipoise.data.items import ITEMS, Items
from equipoise.errors import DataError

__all__ = ["BitColumns", "SparseMatrix", "load_matrix"]


@dataclass(frozen=True)
class _Matrix:
    items: Items = field(repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The only column: lists of items."""
        return (self.items.column or ITEMS,)

    def _batch(self, offsets: NDArray[Any], places: NDArray[Any]) -> Any:
        lists = pa.LargeListArray.from_arrays(pa.array(offsets.astype(np.int64)), self.items.cells(places))
        return pa.RecordBatch.from_arrays([lists], names=self.names)


@dataclass(frozen=True)
class SparseMatrix(_Matrix):
    """A SciPy matrix: an entry that is not 0 is an item."""

    matrix: Any = field(repr=False)

    @classmethod
    def of(cls, matrix: Any, items: Items) -> SparseMatrix:
        """From a matrix of shape (rows, items), in any of SciPy's formats.

        Raises:
            DataError: It has more columns than there are items, and items that are not declared are to be refused.
        """
        if matrix.ndim != 2 or (matrix.shape[1] > items.number and items.unknown == "refuse"):
            raise DataError("a sparse table of items may have no more columns than there are declared items")
        return cls(items, matrix.tocsr()[:, : items.number])

    @property
    def num_rows(self) -> int:
        """Rows of the matrix."""
        return int(self.matrix.shape[0])

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        """The rows as lists."""
        for start in range(0, self.num_rows, batch_rows):
            part = self.matrix[start : start + batch_rows].copy()
            part.eliminate_zeros()
            yield self._batch(part.indptr, part.indices)


def load_matrix(path: Path) -> Any:
    """What `scipy.sparse.save_npz` wrote.

    Raises:
        DataError: It is something else, or damaged.
    """
    from scipy import sparse

    try:
        with path.open("rb") as stream:  # a path that is damaged would be left open
            found = sparse.load_npz(stream).tocsr()
        found.check_format(full_check=True)  # else a damaged file would be read beyond its end
        return found
    except MemoryError:
        raise
    except Exception:  # zip files, NumPy and SciPy each have errors of their own
        raise DataError(f"{path.name} cannot be read as a sparse matrix: write it with scipy.sparse.save_npz") from None


@dataclass(frozen=True)
class BitColumns(_Matrix):
    """A dense 0/1 table in memory, an eighth of a byte a cell. A `BitSource`."""

    packed: NDArray[np.uint64] = field(repr=False)
    num_rows: int

    @classmethod
    def of(cls, matrix: NDArray[Any], items: Items) -> BitColumns:
        """From an array of shape (rows, items).

        Raises:
            DataError: It has another shape, or holds something else than 0 and 1.
        """
        if matrix.ndim != 2 or matrix.shape[1] != items.number:
            raise DataError("a dense table of items needs one column for each declared item")
        if not ((matrix == 0) | (matrix == 1)).all():
            raise DataError("a dense table of items holds 0 and 1, and nothing else")
        padded = np.zeros((matrix.shape[1], -(-matrix.shape[0] // 64) * 8), dtype=np.uint8)
        packed = np.packbits(matrix.T.astype(np.bool_), axis=1, bitorder="little")
        padded[:, : packed.shape[1]] = packed
        return cls(items, padded.view("<u8"), int(matrix.shape[0]))

    def bits(self, columns: IntArray, first_row: int, num_rows: int) -> NDArray[np.uint64]:
        """See `baskets.BitSource.bits`."""
        words = slice(first_row // 64, first_row // 64 - (-num_rows // 64))
        return np.ascontiguousarray(self.packed[columns, words])

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        """The rows as lists, for those who want codes."""
        whole, step = np.arange(len(self.packed)), max(1, batch_rows // 64) * 64
        for first in range(0, self.num_rows, step):
            bytes_ = self.bits(whole, first, min(step, self.num_rows - first)).view(np.uint8)
            bits = np.unpackbits(bytes_, axis=1, bitorder="little", count=min(step, self.num_rows - first))
            rows, places = np.nonzero(bits.T)
            yield self._batch(np.searchsorted(rows, np.arange(bits.shape[1] + 1)), places)
