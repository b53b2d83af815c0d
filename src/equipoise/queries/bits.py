"""Counting conjunctions on bit-packed columns: AND, then count the bits.

Only the literals that occur have a row of bits: bit r of word w says whether row 64 w + r of the batch satisfies the
literal. A column of two values has one row for both of its literals, read inverted for code 0.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from equipoise.core import Codes, FloatArray, IntArray

__all__ = ["Bits", "LiteralRows", "add_counts", "add_weights", "holds", "pack_codes", "set_bits", "zero_bits"]

Bits = NDArray[np.uint64]
"""Shape (number of literals, words of 64 rows); bits beyond the last row are 0."""


@dataclass(frozen=True, eq=False)
class LiteralRows:
    """Which rows of bits a set of conjunctions needs, and where each conjunction finds its literals.

    Attributes:
        columns: The column of each row of bits, increasing.
        codes: The code it stands for; 1 for columns of two values.
        index: For each literal of each conjunction, 2 * (its row of bits) + (1 if it is read inverted).

    Example:
        >>> rows = LiteralRows.of(np.array([[0, 2], [0, 3]]), np.array([[0, 1], [1, 2]]), np.array([2, 2, 2, 3]))
        >>> rows.columns.tolist(), rows.codes.tolist(), rows.index.tolist()
        ([0, 2, 3], [1, 1, 2], [[1, 2], [0, 4]])
    """

    columns: IntArray
    codes: IntArray
    index: NDArray[np.int32]

    @classmethod
    def of(cls, columns: NDArray[Any], codes: NDArray[Any], sizes: NDArray[Any]) -> LiteralRows:
        """The rows for conjunctions of `columns[q, l] = codes[q, l]`."""
        inverted = (sizes[columns] == 2) & (codes == 0)
        largest = int(sizes.max(initial=1))
        keys = columns.astype(np.int64) * largest + np.where(inverted, 1, codes)
        found, index = np.unique(keys, return_inverse=True)
        index = 2 * index.reshape(keys.shape) + inverted
        return cls(found // largest, found % largest, np.ascontiguousarray(index, dtype=np.int32))

    @property
    def num_rows(self) -> int:
        """Rows of bits."""
        return len(self.columns)


def zero_bits(num_literals: int, num_rows: int) -> Bits:
    """Bits that are all 0."""
    return np.zeros((num_literals, -(-num_rows // 64)), dtype=np.uint64)


def pack_codes(codes: Codes, rows: LiteralRows) -> Bits:
    """The bits of encoded rows, shape (num_columns, num_rows).

    Example:
        >>> rows = LiteralRows.of(np.array([[0, 1]]), np.array([[1, 2]]), np.array([2, 3]))
        >>> pack_codes(np.array([[0, 1, 1], [2, 2, 0]], dtype=np.uint8), rows).tolist()
        [[6], [3]]
    """
    bits = zero_bits(rows.num_rows, codes.shape[1])
    _pack(bits, np.ascontiguousarray(codes), rows.columns, rows.codes)
    return bits


def set_bits(bits: Bits, starts: IntArray, items: NDArray[np.int32], places: NDArray[np.int32]) -> None:
    """Set the bits of rows given as lists of the columns that are 1: row r has items[starts[r]:starts[r + 1]].

    Args:
        bits: All zero; one row a wanted column.
        starts: One more than there are rows.
        items: Columns.
        places: For each column, its row of bits, or -1 when it is not wanted.
    """
    _set(bits, starts, items, places)


def add_counts(
    counts: IntArray, bits: Bits, num_rows: int, index: NDArray[np.int32], pool: Executor | None = None, shares: int = 1
) -> None:
    """Add to each conjunction's count the rows of a batch that satisfy it.

    Args:
        counts: One a conjunction.
        bits: The batch.
        num_rows: Its number of rows.
        index: `LiteralRows.index`.
        pool: Threads that share the conjunctions between them.
        shares: How many there are.
    """
    valid = np.full(bits.shape[1], np.iinfo(np.uint64).max, dtype=np.uint64)
    if num_rows % 64:
        valid[-1] = (1 << num_rows % 64) - 1
    edges = np.linspace(0, len(counts), shares + 1).astype(np.int64)
    parts = [(counts[a:b], bits, valid, index[a:b]) for a, b in pairwise(edges)]
    if pool is None:
        for part in parts:
            _count(*part)
    else:
        list(pool.map(lambda part: _count(*part), parts))


def add_weights(totals: FloatArray, bits: Bits, weights: FloatArray, index: NDArray[np.int32]) -> None:
    """Add to each conjunction's total the weights of the rows of a batch that satisfy it."""
    _weigh(totals, bits, np.ascontiguousarray(weights, dtype=np.float64), index)


def holds(record: NDArray[Any], columns: NDArray[Any], values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which conjunctions one record satisfies.

    Example:
        >>> holds(np.array([1, 0]), np.array([[0, 1], [0, 1]]), np.array([[1, 0], [1, 1]]))
        array([ True, False])
    """
    found = record[columns[:, 0]] == values[:, 0]
    for j in range(1, columns.shape[1]):
        found &= record[columns[:, j]] == values[:, j]
    return np.asarray(found)


@intrinsic  # type: ignore[untyped-decorator]
def _num_ones(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _pack(bits: Any, codes: Any, columns: Any, values: Any) -> None:
    num_rows = codes.shape[1]
    for i in range(len(columns)):
        column, value = columns[i], values[i]
        for word in range(bits.shape[1]):
            packed = np.uint64(0)
            for r in range(64 * word, min(64 * word + 64, num_rows)):
                packed |= np.uint64(codes[column, r] == value) << np.uint64(r & 63)
            bits[i, word] = packed


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _set(bits: Any, starts: Any, items: Any, places: Any) -> None:
    for r in range(len(starts) - 1):
        word, bit = r >> 6, np.uint64(1) << np.uint64(r & 63)
        for i in range(starts[r], starts[r + 1]):
            place = places[items[i]]
            if place >= 0:
                bits[place, word] |= bit


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _count(counts: Any, bits: Any, valid: Any, index: Any) -> None:
    num_words, order = bits.shape[1], index.shape[1]
    every = ~np.uint64(0)
    held = np.empty(num_words, dtype=np.uint64)
    for q in range(len(counts)):
        held[:] = valid
        for j in range(order - 1):
            row, flip = bits[index[q, j] >> 1], every if index[q, j] & 1 else np.uint64(0)
            for w in range(num_words):
                held[w] &= row[w] ^ flip
        last = index[q, order - 1]
        row, flip = bits[last >> 1], every if last & 1 else np.uint64(0)
        total = np.uint64(0)
        for w in range(num_words):
            total += _num_ones(held[w] & (row[w] ^ flip))
        counts[q] += np.int64(total)


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _weigh(totals: Any, bits: Any, weights: Any, index: Any) -> None:
    num_words, order = bits.shape[1], index.shape[1]
    every, one = ~np.uint64(0), np.uint64(1)
    for q in range(len(totals)):
        for w in range(num_words):
            held = every
            for j in range(order):
                held &= bits[index[q, j] >> 1, w] ^ (every if index[q, j] & 1 else np.uint64(0))
            for r in range(64 * w, min(64 * w + 64, len(weights))):
                totals[q] += weights[r] * np.float64(held >> np.uint64(r & 63) & one)
