"""Counting encoded rows into marginals: the compiled loops, and the tally that drives them.

A few thousand rows at a time: the cell of each row is computed into a scratch row (a vectorised loop), then four
marginals are incremented in one loop. Four independent chains of increments hide the wait for a count that was just
written, so a table in which one cell dominates costs little more than any other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from equipoise.core import Codes, FloatArray, IntArray
from equipoise.errors import DataError
from equipoise.queries.cover import Block, Columns, cover, sum_out

__all__ = ["Tally", "count", "weigh"]

BLOCK_ROWS = 4096
"""Rows whose cells are held at a time: four scratch rows of 16 KB, and the codes they come from, stay in the nearest
caches."""

MAX_ROWS = 2**32 - 1
"""Rows that 32-bit counts can take before they must be moved to 64 bits."""


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _first(cells: Any, codes: Any, stride: Any) -> None:
    for r in range(len(cells)):
        cells[r] = np.uint32(np.uint32(codes[r]) * stride)


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _next(cells: Any, codes: Any, stride: Any) -> None:
    for r in range(len(cells)):
        cells[r] += np.uint32(np.uint32(codes[r]) * stride)


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _next_two(cells: Any, codes: Any, stride: Any, more_codes: Any, more_stride: Any) -> None:
    for r in range(len(cells)):
        cells[r] = (
            cells[r] + np.uint32(np.uint32(codes[r]) * stride) + np.uint32(np.uint32(more_codes[r]) * more_stride)
        )


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _locate(cells: Any, codes: Any, columns: Any, strides: Any, start: int) -> None:
    """The cell of each of the rows from `start` on. Two columns a pass: fewer trips over the scratch row."""
    end = start + len(cells)
    _first(cells, codes[columns[0], start:end], np.uint32(strides[0]))
    i = 1
    while i + 1 < len(columns):
        _next_two(
            cells,
            codes[columns[i], start:end],
            np.uint32(strides[i]),
            codes[columns[i + 1], start:end],
            np.uint32(strides[i + 1]),
        )
        i += 2
    if i < len(columns):
        _next(cells, codes[columns[i], start:end], np.uint32(strides[i]))


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _increment(counts: Any, cells: Any) -> None:
    one = np.uint32(1)
    for r in range(len(cells)):
        counts[cells[r]] += one


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _increment_four(counts0: Any, counts1: Any, counts2: Any, counts3: Any, cells: Any) -> None:
    one = np.uint32(1)
    cells0, cells1, cells2, cells3 = cells[0], cells[1], cells[2], cells[3]
    for r in range(cells.shape[1]):
        counts0[cells0[r]] += one
        counts1[cells1[r]] += one
        counts2[cells2[r]] += one
        counts3[cells3[r]] += one


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _count(
    counts: Any, codes: Any, columns: Any, strides: Any, bounds: Any, offsets: Any, scratch: Any, first: int, last: int
) -> None:
    """Counts all rows into blocks `first` to `last` - 1; bounds, offsets: where a block's columns and cells are."""
    num_rows = codes.shape[1]
    block = first
    while block < last:
        together = min(4, last - block)
        for start in range(0, num_rows, scratch.shape[1]):
            length = min(scratch.shape[1], num_rows - start)
            for i in range(together):
                low, high = bounds[block + i], bounds[block + i + 1]
                _locate(scratch[i, :length], codes, columns[low:high], strides[low:high], start)
            if together == 4:
                _increment_four(
                    counts[offsets[block] : offsets[block + 1]],
                    counts[offsets[block + 1] : offsets[block + 2]],
                    counts[offsets[block + 2] : offsets[block + 3]],
                    counts[offsets[block + 3] : offsets[block + 4]],
                    scratch[:, :length],
                )
            else:
                for i in range(together):
                    _increment(counts[offsets[block + i] : offsets[block + i + 1]], scratch[i, :length])
        block += together


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _weigh(totals: Any, codes: Any, columns: Any, strides: Any, weights: Any, scratch: Any) -> None:
    for start in range(0, codes.shape[1], len(scratch)):
        cells = scratch[: min(len(scratch), codes.shape[1] - start)]
        _locate(cells, codes, columns, strides, start)
        for r in range(len(cells)):
            totals[cells[r]] += weights[start + r]


class Tally:
    """Running counts of a cover's blocks over batches of rows.

    Memory: four bytes a cell of the blocks.
    """

    def __init__(self, blocks: Sequence[Block], sizes: Sequence[int]) -> None:
        self.blocks = tuple(blocks)
        self.sizes = tuple(sizes)
        shapes = [tuple(self.sizes[c] for c in block.columns) for block in self.blocks]
        self._columns = np.array([c for block in self.blocks for c in block.columns], dtype=np.int64)
        self._strides = np.array([stride for shape in shapes for stride in _strides(shape)], dtype=np.int64)
        self._bounds = np.cumsum([0, *(len(shape) for shape in shapes)])
        self._offsets = np.cumsum([0, *(math.prod(shape) for shape in shapes)])
        self._counts = np.zeros(self._offsets[-1], dtype=np.uint32)
        self._large: IntArray | None = None
        self._num_rows = 0

    @property
    def num_cells(self) -> int:
        """Cells of all blocks."""
        return len(self._counts)

    def add(self, codes: Codes, *, pool: Executor | None = None, num_shares: int = 1) -> None:
        """Counts rows into all blocks.

        Args:
            codes: Encoded rows, of all columns.
            pool: Threads that count different blocks at once.
            num_shares: How many of them.
        """
        codes = _checked(codes, self.sizes)
        self._make_room(codes.shape[1])
        if pool is None:
            self._count(codes, 0, len(self.blocks))
            return
        ends = np.linspace(0, len(self.blocks), num_shares + 1).astype(int).tolist()
        for done in [pool.submit(self._count, codes, *share) for share in pairwise(ends)]:
            done.result()

    def _count(self, codes: Codes, first: int, last: int) -> None:
        scratch = np.empty((4, BLOCK_ROWS), dtype=np.uint32)
        _count(self._counts, codes, self._columns, self._strides, self._bounds, self._offsets, scratch, first, last)

    def _make_room(self, num_rows: int) -> None:
        self._num_rows += num_rows
        if self._num_rows > MAX_ROWS:
            self._large = self._counts.astype(np.int64) + (0 if self._large is None else self._large)
            self._counts[:] = 0
            self._num_rows = num_rows

    def marginals(self, others: Sequence[Tally] = ()) -> Iterator[tuple[Columns, IntArray]]:
        """Each wanted marginal with its counts, those of other tallies of the same blocks included."""
        for i, block in enumerate(self.blocks):
            tensor = self._tensor(i)
            for other in others:
                tensor += other._tensor(i)
            yield from sum_out(block, tensor.reshape([self.sizes[c] for c in block.columns]))

    def _tensor(self, block: int) -> IntArray:
        part = slice(self._offsets[block], self._offsets[block + 1])
        tensor = self._counts[part].astype(np.int64)
        return tensor if self._large is None else tensor + self._large[part]


def count(codes: Codes, column_sets: Sequence[Columns], sizes: Sequence[int]) -> Iterator[tuple[Columns, IntArray]]:
    """The number of rows in each cell of each marginal, in some order of the marginals.

    Example:
        >>> codes = np.array([[0, 1, 1], [2, 0, 2]], dtype=np.uint8)
        >>> [(columns, tensor.tolist()) for columns, tensor in count(codes, [(1,)], (2, 3))]
        [((1,), [1, 0, 2])]
    """
    tally = Tally(cover(column_sets, sizes, codes.shape[1]), sizes)
    tally.add(codes)
    return tally.marginals()


def weigh(codes: Codes, columns: Columns, sizes: Sequence[int], weights: FloatArray) -> FloatArray:
    """The total weight of the rows in each cell of a marginal.

    Example:
        >>> weigh(np.array([[0, 1, 1]], dtype=np.uint8), (0,), (2,), np.array([0.5, 0.25, 0.25]))
        array([0.5, 0.5])
    """
    shape = tuple(sizes[c] for c in columns)
    totals = np.zeros(math.prod(shape))
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    if weights.shape != (codes.shape[1],):
        raise DataError("there must be one weight for each row")
    strides = np.array(_strides(shape), dtype=np.int64)
    scratch = np.empty(BLOCK_ROWS, dtype=np.uint32)
    _weigh(totals, _checked(codes, sizes), np.array(columns, dtype=np.int64), strides, weights, scratch)
    return totals.reshape(shape)


def _strides(shape: Sequence[int]) -> list[int]:
    return [math.prod(shape[i + 1 :]) for i in range(len(shape))]


def _checked(codes: Codes, sizes: Sequence[int]) -> NDArray[Any]:
    """Codes as the compiled loops need them; those do not check bounds, so a stray code would write anywhere."""
    if codes.ndim != 2 or codes.shape[0] != len(sizes):
        raise DataError(f"codes must have one row for each of the {len(sizes)} columns")
    if codes.shape[1]:
        signed = not np.issubdtype(codes.dtype, np.unsignedinteger)
        for column, size in enumerate(sizes):
            if codes[column].max() >= size or (signed and codes[column].min() < 0):
                raise DataError(
                    f"column number {column}: a code is outside 0 to {size - 1}; encode the table with its schema"
                )
    if codes.dtype not in (np.uint8, np.uint16, np.uint32):
        codes = codes.astype(np.uint32)
    return np.ascontiguousarray(codes)
