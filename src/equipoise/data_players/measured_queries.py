"""Answers of measured queries on products of columns, and their derivatives.

Values are held as one matrix, a row for each value of each column and a column for each of B products: row (c, v) is
the probability that column c has value v. A query's answer is the mean, over the products, of the product of one row
a column (liu2021iterative, Definition 4, arXiv v2); queries with masks use sums of rows, which are added below as rows
of their own. Whole marginals are matrix products instead.

Plain numpy: what is measured changes every round, and a compiler would have to look at every new shape, for longer
than the shortest fits take. So the first result comes as soon for a thousand marginals as for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from equipoise.core import FloatArray, IntArray
from equipoise.queries.workload import Workload

__all__ = ["MeasuredQueries", "Values"]

Values: TypeAlias = NDArray[np.float32]
"""Shape (number of values of all columns, number of products)."""

CHUNK = 128
"""Single queries that are looked at together: their products stay in cache."""


@dataclass(frozen=True)
class _Marginal:
    """A whole marginal: the rows of its columns, largest column last, and where its cells are in the answers."""

    columns: tuple[slice, ...]
    positions: IntArray  # one axis a column

    def prefixes(self, rows: Values) -> list[Values]:
        """The first columns multiplied out, for one column, two, ... but not the last; each (cells, products)."""
        products = [rows[self.columns[0]]]
        for column in self.columns[1:-1]:
            products.append((products[-1][:, None, :] * rows[column][None, :, :]).reshape(-1, rows.shape[1]))
        return products

    def answers(self, rows: Values) -> Values:
        if len(self.columns) == 1:
            return np.asarray(rows[self.columns[0]].mean(axis=1))
        found = self.prefixes(rows)[-1] @ rows[self.columns[-1]].T
        return (found / np.float32(rows.shape[1])).reshape(self.positions.shape)

    def pull(self, rows: Values, cotangent: Values, total: Values) -> None:
        """Add to `total` the derivative of the sum of cotangent · answers, from the last column to the first."""
        scaled = cotangent / np.float32(rows.shape[1])
        if len(self.columns) == 1:
            total[self.columns[0]] += scaled[:, None]
            return
        matrix, prefixes = scaled.reshape(-1, scaled.shape[-1]), self.prefixes(rows)
        total[self.columns[-1]] += matrix.T @ prefixes[-1]
        pulled = matrix @ rows[self.columns[-1]]
        for depth in range(len(prefixes) - 1, 0, -1):
            column, shorter = self.columns[depth], prefixes[depth - 1]
            pulled = pulled.reshape(len(shorter), -1, rows.shape[1])
            total[column] += np.einsum("pcb,pb->cb", pulled, shorter)
            pulled = np.einsum("pcb,cb->pb", pulled, rows[column])
        total[self.columns[0]] += pulled


@dataclass
class MeasuredQueries:
    """The queries measured so far, in the order in which they came. `include` changes it in place.

    Attributes:
        workload: What query ids refer to.
        num_products: B.
    """

    workload: Workload
    num_products: int
    num_queries: int = 0
    _marginals: list[_Marginal] = field(default_factory=list)
    _literals: list[IntArray] = field(default_factory=list)
    _positions: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._starts = np.concatenate([[0], np.cumsum(self.workload.domain.sizes)]).astype(np.int64)
        self._ones = int(self._starts[-1])
        self._width = max(len(group.columns) for group in self.workload.groups)
        rows: dict[tuple[int, bytes], int] = {}
        stacked: list[FloatArray] = []
        for group in self.workload.groups:
            for column, masks in zip(group.columns, group.masks or (), strict=group.masks is not None):
                for mask in masks:
                    if rows.setdefault((column, mask.tobytes()), len(stacked)) == len(stacked):
                        row = np.zeros(self._ones)
                        row[self._starts[column] : self._starts[column + 1]] = mask
                        stacked.append(row)
        self._mask_rows = {key: self._ones + 1 + row for key, row in rows.items()}
        self._masks = np.array(stacked, dtype=np.float32).reshape(-1, self._ones)

    def include(self, ids: Sequence[int]) -> None:
        """Add queries; all cells of a marginal that come together are answered together."""
        found = np.asarray(ids, dtype=np.int64)
        owners = self.workload.group_of(found)
        for owner in dict.fromkeys(owners.tolist()):
            group, places = self.workload.groups[owner], np.flatnonzero(owners == owner)
            inside = found[places] - self.workload.starts[owner]
            if group.masks is None and len(places) == group.num_queries > 1:
                positions = np.empty(group.num_queries, dtype=np.int64)
                positions[inside] = self.num_queries + places
                self._marginals.append(self._whole(group.columns, positions.reshape(group.shape)))
            else:
                self._literals += [self._rows_of(owner, int(i)) for i in inside]
                self._positions += (self.num_queries + places).tolist()
        self.num_queries += len(found)

    def answers(self, values: Values) -> FloatArray:
        """The answers of all queries."""
        rows, result = self._rows(values), np.empty(self.num_queries)
        for positions, literals in self._chunks(np.arange(len(self._positions))):
            result[positions] = rows[literals].prod(axis=0).mean(axis=1)
        for marginal in self._marginals:
            result[marginal.positions] = marginal.answers(rows)
        return result

    def gradient(self, values: Values, cotangent: FloatArray) -> Values:
        """The derivative by `values` of the sum of cotangent · answers; queries of cotangent 0 cost nothing."""
        rows = self._rows(values)
        total = np.zeros_like(rows)
        weights = (cotangent / self.num_products).astype(np.float32)
        singles = np.flatnonzero(weights[self._positions]) if self._positions else np.zeros(0, dtype=np.int64)
        for positions, literals in self._chunks(singles):
            total += _pull_products(rows, literals, weights[positions])
        for marginal in self._marginals:
            cells = cotangent[marginal.positions]
            if cells.any():
                marginal.pull(rows, cells.astype(np.float32), total)
        return total[: self._ones] + self._masks.T @ total[self._ones + 1 :]

    def _rows(self, values: Values) -> Values:
        """The rows that queries refer to: values, then a row of ones, then sums by mask."""
        held = np.asarray(values, dtype=np.float32)
        ones = np.ones((1, held.shape[1]), dtype=np.float32)
        return np.concatenate([held, ones, self._masks @ held], axis=0)

    def _chunks(self, which: IntArray) -> list[tuple[IntArray, IntArray]]:
        """Places in the answers and literals (num_columns, queries) of some of the single queries, chunk by chunk."""
        parts = [which[begin : begin + CHUNK] for begin in range(0, len(which), CHUNK)]
        return [
            (np.array([self._positions[i] for i in part]), np.array([self._literals[i] for i in part]).T)
            for part in parts
        ]

    def _whole(self, columns: tuple[int, ...], positions: IntArray) -> _Marginal:
        # The largest column is in the matrix product, so that what is multiplied out before is small.
        order = np.argsort(positions.shape, kind="stable")
        slices = tuple(slice(self._starts[columns[i]], self._starts[columns[i] + 1]) for i in order)
        return _Marginal(slices, positions.transpose(order))

    def _rows_of(self, owner: int, position: int) -> IntArray:
        """The rows whose product a query is, filled up with the row of ones."""
        group = self.workload.groups[owner]
        if group.masks is None:
            codes = np.unravel_index(position, group.shape)
            found = [int(self._starts[c] + code) for c, code in zip(group.columns, codes, strict=True)]
        else:
            pairs = zip(group.columns, group.masks, strict=True)
            found = [self._mask_rows[column, masks[position].tobytes()] for column, masks in pairs]
        return np.array(found + [self._ones] * (self._width - len(found)), dtype=np.int64)


def _pull_products(rows: Values, literals: IntArray, weights: Values) -> Values:
    """The derivative by rows of the sum over queries of weight · Σ over products of the product of its rows."""
    factors = rows[literals]
    others = np.empty_like(factors)
    for place in range(len(factors)):
        others[place] = np.delete(factors, place, axis=0).prod(axis=0) * weights[:, None]
    # Several queries may share a row: a sparse matrix of zeros and ones adds them up.
    entries = literals.reshape(-1)
    gather = sparse.csr_array(
        (np.ones(len(entries), dtype=np.float32), (entries, np.arange(len(entries)))), shape=(len(rows), len(entries))
    )
    pulled: Values = gather @ others.reshape(len(entries), -1)
    return pulled
