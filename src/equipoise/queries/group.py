"""A group: queries that share their columns, answered together from one marginal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.core import FloatArray, IntArray
from equipoise.errors import CapacityError, QueryError
from equipoise.queries.norms import CHUNK, Norms, norms_of_cells, norms_of_masks
from equipoise.queries.query import Query
from equipoise.queries.sparse import SparseCounts

__all__ = ["MAX_CELLS", "Group"]

MAX_CELLS = 2**31
"""Cells that one marginal may have: its counts alone would take 16 GiB."""
EXACT = 2.0**52
"""If floats add up to less than it, with their rounding, then the sum is below 2^53, and floats hold it exactly."""


@dataclass(frozen=True, eq=False)
class Group:
    """Queries over the same columns: every cell of their marginal, or of one with values merged, or products of masks.

    Attributes:
        columns: Positions of the columns in the domain, increasing.
        shape: Number of values of each of them.
        masks: None for every cell of the marginal in C order; else, for each column, a boolean array of shape
            (num_queries, size).
        weight: Public importance of these queries, a positive integer.
        merged: For each column, the part that each value belongs to, 0 and up: the queries are the cells of the
            marginal of parts, in C order, and `masks` says the same. None: no values are merged.

    Example:
        >>> Group((0, 2), (2, 5)).num_queries
        10
        >>> Group((1,), (3,), masks=(np.array([[1, 0, 0], [1, 1, 0]], dtype=bool),)).answers(np.array([5, 6, 7]))
        array([ 5, 11])
        >>> Group((1,), (3,), merged=(np.array([0, 1, 1]),)).answers(np.array([5, 6, 7]))
        array([ 5, 13])
    """

    columns: tuple[int, ...]
    shape: tuple[int, ...]
    masks: tuple[NDArray[np.bool_], ...] | None = None
    weight: int = 1
    merged: tuple[IntArray, ...] | None = None

    def __post_init__(self) -> None:
        increasing = all(a < b for a, b in zip(self.columns, self.columns[1:], strict=False))
        if not self.columns or not increasing or len(self.shape) != len(self.columns):
            raise QueryError("a group needs at least one column, in increasing order, and a size for each")
        if self.weight < 1:
            raise QueryError("a group's weight is a positive integer")
        if self.num_cells > MAX_CELLS:
            raise CapacityError(
                f"a marginal of {self.num_cells:,} cells is beyond {MAX_CELLS:,}; use fewer columns or coarser bins"
            )
        if self.merged is not None:
            object.__setattr__(self, "masks", _masks_of_parts(self.merged, self.shape))
        if self.masks is not None:
            rows = {mask.shape[0] for mask in self.masks}
            widths = tuple(mask.shape[1] for mask in self.masks)
            if len(rows) != 1 or widths != self.shape:
                raise QueryError("a group's masks have shape (num_queries, size), one for each column")
            object.__setattr__(self, "masks", tuple(_frozen(mask) for mask in self.masks))

    @property
    def num_cells(self) -> int:
        """Cells of the marginal that answers the group."""
        return math.prod(self.shape)

    @property
    def num_queries(self) -> int:
        """How many queries the group has."""
        return self.num_cells if self.masks is None else int(self.masks[0].shape[0])

    def answers(self, marginal: NDArray[Any] | SparseCounts) -> NDArray[Any]:
        """The queries' answers from the marginal's tensor, counts (int64, exact) or probabilities (float64).

        Never holds cells x queries: masks are applied to a slice of the queries, one column at a time.

        Guarantees:
            Integers give exact integers. Proof: masks are 0 or 1, so every number on the way is a sum of some of the
            counts. Where their sizes add up to less than 2^52, each is a whole number that float64 holds exactly, and
            the products may be left to the fast routines for floats; elsewhere they are made of int64.
        """
        if isinstance(marginal, SparseCounts):
            return self._sparse_answers(marginal)
        if self.masks is None:
            return np.ascontiguousarray(marginal).reshape(-1)
        tensor = np.asarray(marginal).reshape(self.shape)
        if self.merged is not None:
            return _merged(tensor, self.merged).reshape(-1)
        whole = np.issubdtype(tensor.dtype, np.integer)
        if not whole or np.abs(tensor).sum(dtype=np.float64) < EXACT:
            tensor = tensor.astype(np.float64, copy=False)
        step = max(1, CHUNK * self.shape[0] // self.num_cells)
        parts = [self._contract(tensor, slice(start, start + step)) for start in range(0, self.num_queries, step)]
        result = np.concatenate(parts) if parts else np.zeros(0)
        return result.astype(np.int64) if whole else result

    def _contract(self, tensor: NDArray[Any], part: slice) -> NDArray[Any]:
        assert self.masks is not None
        first, *others = (mask[part].astype(tensor.dtype) for mask in self.masks)
        result = first @ tensor.reshape(self.shape[0], -1)
        for mask in others:
            queries, size = mask.shape
            result = np.matmul(mask[:, None, :], result.reshape(queries, size, -1))[:, 0, :]
        return np.asarray(result).reshape(-1)

    def _sparse_answers(self, marginal: SparseCounts) -> IntArray:
        result = np.zeros(self.num_queries, dtype=np.int64)
        if self.masks is None:
            result[marginal.cells] = marginal.counts
            return result
        codes = np.unravel_index(marginal.cells, self.shape)
        if self.merged is not None:
            parts = [part[code] for part, code in zip(self.merged, codes, strict=True)]
            np.add.at(result, np.ravel_multi_index(parts, _num_parts(self.merged)), marginal.counts)
            return result
        step = max(1, CHUNK // max(1, len(marginal.cells)))
        for start in range(0, self.num_queries, step):
            part = slice(start, start + step)
            holds = np.ones((len(result[part]), len(marginal.cells)), dtype=np.bool_)
            for mask, code in zip(self.masks, codes, strict=True):
                holds &= mask[part][:, code]
            result[part] = holds @ marginal.counts
        return result

    def on_products(self, factors: Sequence[FloatArray], weights: FloatArray) -> FloatArray:
        """Answers on a mixture of products: `factors[c][k]` is component k's distribution of column c."""
        parts = [factors[column] for column in self.columns]
        if self.merged is not None:
            parts = [_merged(factor, (None, part)) for factor, part in zip(parts, self.merged, strict=True)]
        elif self.masks is not None:
            product = parts[0] @ self.masks[0].T
            for factor, mask in zip(parts[1:], self.masks[1:], strict=True):
                product = product * (factor @ mask.T)
            return np.asarray(weights @ product)
        left = parts[0] * weights[:, None]
        for factor in parts[1:-1]:
            left = (left[:, :, None] * factor[:, None, :]).reshape(len(weights), -1)
        return left.sum(axis=0) if len(parts) == 1 else (left.T @ parts[-1]).reshape(-1)

    def cells(self, positions: IntArray) -> IntArray:
        """The codes of the queries at these positions, one row each.

        Raises:
            QueryError: One of them allows several values of a column.
        """
        if self.masks is None:
            return np.stack(np.unravel_index(positions, self.shape), axis=1).astype(np.int64)
        chosen = [mask[positions] for mask in self.masks]
        if any((mask.sum(axis=1) != 1).any() for mask in chosen):
            raise QueryError("a range or a set of values is not a single cell")
        return np.stack([mask.argmax(axis=1) for mask in chosen], axis=1).astype(np.int64)

    def query(self, position: int) -> Query:
        """The query at a position of the group."""
        if not 0 <= position < self.num_queries:
            raise QueryError(f"the group has queries 0 to {self.num_queries - 1}")
        if self.masks is not None:
            return Query(self.columns, tuple(mask[position] for mask in self.masks))
        cell = np.unravel_index(position, self.shape)
        masks = (np.arange(size) == code for code, size in zip(cell, self.shape, strict=True))
        return Query(self.columns, tuple(masks))

    def norms(self, positions: IntArray | None = None) -> Norms:
        """How much the counts of these queries (default: all) can change when one record is replaced."""
        if self.masks is None or self.merged is not None:  # merged, too, every record is in one cell
            return norms_of_cells(self.num_queries, positions)
        if positions is None:
            return self._all_norms
        if len(positions) == 0:
            return Norms(0, 0, 0)
        return norms_of_masks(tuple(mask[positions] for mask in self.masks))

    @cached_property
    def _all_norms(self) -> Norms:
        assert self.masks is not None
        return norms_of_masks(self.masks)

    def _key(self) -> tuple[object, ...]:
        masks = None if self.masks is None else tuple((mask.shape, mask.tobytes()) for mask in self.masks)
        return (self.columns, self.shape, masks, self.weight)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Group) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def _frozen(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    copy = np.array(mask, dtype=np.bool_)
    copy.setflags(write=False)
    return copy


def _num_parts(merged: Sequence[IntArray]) -> tuple[int, ...]:
    return tuple(int(part.max()) + 1 for part in merged)


def _masks_of_parts(merged: Sequence[IntArray], shape: tuple[int, ...]) -> tuple[NDArray[np.bool_], ...]:
    """For each column, which of its values the cells of the marginal of parts have."""
    if tuple(len(part) for part in merged) != shape or any(part.min() < 0 for part in merged):
        raise QueryError("merged values need a part, 0 or more, for each value of each column")
    numbers = np.indices(_num_parts(merged)).reshape(len(merged), -1)
    return tuple(number[:, None] == part for number, part in zip(numbers, merged, strict=True))


def _merged(tensor: NDArray[Any], merged: Sequence[IntArray | None]) -> NDArray[Any]:
    """The sums over the parts along each axis; of integers exact. None: an axis that stays."""
    for axis, part in enumerate(merged):
        if part is not None:
            summed = np.zeros((int(part.max()) + 1, *np.delete(tensor.shape, axis)), dtype=tensor.dtype)
            np.add.at(summed, part, np.moveaxis(tensor, axis, 0))
            tensor = np.moveaxis(summed, 0, axis)
    return tensor
