"""How much the counts of some queries can change when one record is replaced: public, exact integers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.core import FloatArray, IntArray

__all__ = ["Norms", "norms_of_cells", "norms_of_masks"]

PAIRS_LIMIT = 2**28
"""Multiply-adds spent on comparing all pairs of cells; about a tenth of a second."""

CELLS_LIMIT = 2**28
"""Multiply-adds spent on counting the queries that hold in each cell."""

CHUNK = 2**22
"""Array elements (32 MB of float64) that one contraction holds at a time."""


@dataclass(frozen=True)
class Norms:
    """Largest change of a vector of counts between two tables that differ in one record.

    Every query is 0/1, so replacing a record moves each count by -1, 0 or 1: `l1` and `l2_squared` are both the
    number of counts that move, and are kept apart because other vectors may not have that property.

    Attributes:
        linf: Largest change of one count.
        l1: Largest sum of absolute changes.
        l2_squared: Largest sum of squared changes.
    """

    linf: int
    l1: int
    l2_squared: int

    def joined(self, other: Norms) -> Norms:
        """Norms of two vectors of counts put end to end.

        Guarantees:
            An upper bound whenever both are: max(a + b) <= max a + max b over pairs of records. It is attained when
            one pair of records attains both, as for whole marginals, where any two that differ in every column do.

        Example:
            >>> Norms(1, 2, 2).joined(Norms(1, 1, 1))
            Norms(linf=1, l1=3, l2_squared=3)
        """
        return Norms(max(self.linf, other.linf), self.l1 + other.l1, self.l2_squared + other.l2_squared)


def _of_moves(num_moves: int) -> Norms:
    return Norms(min(num_moves, 1), num_moves, num_moves)


def norms_of_cells(num_cells: int, cells: IntArray | None = None) -> Norms:
    """Norms of counts of cells of one marginal: all of its cells, or those listed (repeats allowed).

    Guarantees:
        Exact. A replaced record leaves one cell and enters another, so the counts that move are the entries of two
        distinct cells: the two largest numbers of entries that a cell has. A marginal of one cell never moves.

    Example:
        >>> norms_of_cells(12), norms_of_cells(12, np.array([5])).l1, norms_of_cells(1).l1
        (Norms(linf=1, l1=2, l2_squared=2), 1, 0)
    """
    if num_cells == 1 or (cells is not None and len(cells) == 0):
        return _of_moves(0)
    if cells is None:
        return _of_moves(2)
    if len(cells) == 1:
        return _of_moves(1)
    repeats = np.sort(np.unique(cells, return_counts=True)[1])
    return _of_moves(int(repeats[-2:].sum()))


def norms_of_masks(masks: tuple[NDArray[np.bool_], ...]) -> Norms:
    """Norms of counts of products of masks over the same columns; `masks[l]` has shape (num_queries, size of column l).

    Guarantees:
        With a(x) the 0/1 vector of the queries that hold at cell x, replacing x by y moves ‖a(x) - a(y)‖² counts. The
        largest over all pairs is exact when it is cheap to compare all pairs (every one-column group of moderate
        size, so prefixes and ranges). Otherwise ‖a(x)‖² + ‖a(y)‖² for the two largest bounds it: the cross term
        -2⟨a(x), a(y)⟩ is never positive, because the entries are not negative. The number of queries that are not
        constant bounds it too; the smaller is used.

    Example:
        >>> prefixes = np.tri(4, 5, dtype=bool)  # value <= 0, <= 1, <= 2, <= 3 of a column with 5 values
        >>> norms_of_masks((prefixes,))
        Norms(linf=1, l1=4, l2_squared=4)
    """
    holds_somewhere = np.logical_and.reduce([mask.any(axis=1) for mask in masks])
    holds_everywhere = np.logical_and.reduce([mask.all(axis=1) for mask in masks])
    moving = holds_somewhere & ~holds_everywhere
    kept = tuple(mask[moving] for mask in masks)
    num_queries = int(moving.sum())
    num_cells = math.prod(mask.shape[1] for mask in masks)
    if num_queries <= 1 or num_cells * num_queries > CELLS_LIMIT:
        return _of_moves(num_queries)
    if num_cells**2 * num_queries <= PAIRS_LIMIT:
        return _of_moves(_farthest_pair(_vectors(kept)))
    largest = np.sort(_num_holding(kept))[-2:]
    return _of_moves(min(num_queries, int(largest.sum())))


def _vectors(masks: tuple[NDArray[np.bool_], ...]) -> FloatArray:
    """a(x) for every cell x: an array of cells by queries."""
    product = masks[0].T
    for mask in masks[1:]:
        product = (product[:, None, :] & mask.T[None, :, :]).reshape(-1, mask.shape[0])
    return product.astype(np.float64)


def _farthest_pair(vectors: FloatArray) -> int:
    squares = vectors.sum(axis=1)
    # Whole numbers far below 2**53, so float64 products are exact.
    distances = squares[:, None] + squares[None, :] - 2.0 * (vectors @ vectors.T)
    return int(np.rint(distances.max()))


def _num_holding(masks: tuple[NDArray[np.bool_], ...]) -> FloatArray:
    """‖a(x)‖² for every cell x, a slice of the queries at a time."""
    num_queries = masks[0].shape[0]
    num_cells = math.prod(mask.shape[1] for mask in masks)
    total = np.zeros(num_cells)
    step = max(1, CHUNK // num_cells)
    for start in range(0, num_queries, step):
        total += _vectors(tuple(mask[start : start + step] for mask in masks)).sum(axis=1)
    return total
