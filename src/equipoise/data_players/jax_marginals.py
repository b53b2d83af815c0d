"""Answers of measured queries on products of columns, and their derivatives, in JAX.

Values are held as one matrix, a row for each value of each column and a column for each of B products: row (c, v) is
the probability that column c has value v. A query's answer is the mean, over the products, of the product of one row
a column (liu2021iterative, Definition 4, arXiv v2); queries with masks use sums of rows, which are added below as rows
of their own. Whole marginals are matrix products instead.

Every array has a shape that the workload fixes (queries come in chunks, marginals are padded to powers of two), so
each function is compiled once, not once a round. Only the modules named jax_* import JAX, and only data players that
need it import them: a release by another method never pays for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from equipoise.core import FloatArray, IntArray
from equipoise.queries.workload import Workload

__all__ = ["MeasuredQueries", "Values", "split_columns", "stack_columns"]

Values: TypeAlias = jax.Array
"""Shape (number of values of all columns, number of products)."""

CHUNK = 128
"""Single queries that are answered in one call."""


def split_columns(values: Values, sizes: Sequence[int]) -> list[Values]:
    """The rows of each column."""
    ends = np.cumsum(sizes)
    return [values[end - size : end] for end, size in zip(ends, sizes, strict=True)]


def stack_columns(parts: Sequence[Values]) -> Values:
    """The inverse of `split_columns`."""
    return jnp.concatenate(parts, axis=0)


@jax.jit
def _extend(values: Values, masks: jax.Array, padding: jax.Array) -> Values:
    """The rows that queries refer to: values, then a row of ones, then sums by mask; then room for padded slices."""
    ones = jnp.ones((1, values.shape[1]), values.dtype)
    return jnp.concatenate([values, ones, masks @ values, padding], axis=0)


def _products(rows: Values, literals: jax.Array) -> jax.Array:
    product = rows[literals[0]]
    for positions in literals[1:]:
        product = product * rows[positions]
    return product.mean(axis=1)


def _marginal(rows: Values, starts: jax.Array, *, shape: tuple[int, ...]) -> jax.Array:
    """All cells of a (padded) marginal: all columns but the last as one factor, then one matrix product."""
    factors = [jax.lax.dynamic_slice_in_dim(rows, start, size) for start, size in zip(starts, shape, strict=True)]
    left = factors[0]
    for factor in factors[1:-1]:
        left = (left[:, None, :] * factor[None, :, :]).reshape(-1, rows.shape[1])
    if len(factors) == 1:
        return left.mean(axis=1)
    return ((left @ factors[-1].T) / rows.shape[1]).reshape(shape)


def _pull_products(rows: Values, literals: jax.Array, cotangent: jax.Array) -> Values:
    pulled: Values = jax.vjp(lambda r: _products(r, literals), rows)[1](cotangent)[0]
    return pulled


def _pull_marginal(rows: Values, starts: jax.Array, cotangent: jax.Array, *, shape: tuple[int, ...]) -> Values:
    pulled: Values = jax.vjp(lambda r: _marginal(r, starts, shape=shape), rows)[1](cotangent)[0]
    return pulled


_answer_products = jax.jit(_products)
_answer_marginal = partial(jax.jit, static_argnames="shape")(_marginal)
_add_products = jax.jit(lambda total, *given: total + _pull_products(*given), donate_argnums=0)
_add_marginal = partial(jax.jit, static_argnames="shape", donate_argnums=0)(
    lambda total, *given, shape: total + _pull_marginal(*given, shape=shape)
)


@jax.jit
def _contract(gradient: Values, masks: jax.Array) -> Values:
    """The derivative by values from the derivative by extended rows: the transpose of `_extend`."""
    size = masks.shape[1]
    return gradient[:size] + masks.T @ gradient[size + 1 : size + 1 + masks.shape[0]]


@dataclass(frozen=True)
class _Marginal:
    """A whole marginal: where its columns' rows start, largest column last, and where its cells are in the answers."""

    starts: IntArray
    padded: tuple[int, ...]
    shape: tuple[int, ...]
    positions: IntArray  # shape `shape`

    def cells(self, padded: FloatArray) -> FloatArray:
        return padded[tuple(slice(size) for size in self.shape)]

    def pad(self, cells: FloatArray) -> FloatArray:
        return np.pad(cells, [(0, p - s) for p, s in zip(self.padded, self.shape, strict=True)])


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
        sizes = self.workload.domain.sizes
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
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
        self._masks = jnp.asarray(np.array(stacked).reshape(-1, self._ones), jnp.float32)
        # A padded slice of the last column reads beyond its rows: zeros, whose cells nobody looks at.
        self._padding = jnp.zeros((_power_of_two(max(sizes)), self.num_products), jnp.float32)

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
        rows = _extend(values, self._masks, self._padding)
        result = np.empty(self.num_queries)
        for positions, literals in self._chunks(np.arange(len(self._positions))):
            result[positions] = np.asarray(_answer_products(rows, literals))[: len(positions)]
        for marginal in self._marginals:
            padded = np.asarray(_answer_marginal(rows, marginal.starts, shape=marginal.padded))
            result[marginal.positions] = marginal.cells(padded)
        return result

    def gradient(self, values: Values, cotangent: FloatArray) -> Values:
        """The derivative by `values` of the sum of cotangent · answers; queries of cotangent 0 cost nothing."""
        rows = _extend(values, self._masks, self._padding)
        total = jnp.zeros_like(rows)
        singles = np.flatnonzero(cotangent[self._positions]) if self._positions else np.zeros(0, dtype=np.int64)
        for positions, literals in self._chunks(singles):
            weights = np.zeros(CHUNK, dtype=np.float32)
            weights[: len(positions)] = cotangent[positions]
            total = _add_products(total, rows, literals, weights)
        for marginal in self._marginals:
            cells = cotangent[marginal.positions]
            if cells.any():
                padded = marginal.pad(cells).astype(np.float32)
                total = _add_marginal(total, rows, marginal.starts, padded, shape=marginal.padded)
        contracted: Values = _contract(total, self._masks)
        return contracted

    def _chunks(self, which: IntArray) -> list[tuple[IntArray, IntArray]]:
        """Places in the answers and literals (num_columns, CHUNK) of some of the single queries, chunk by chunk."""
        chunks = []
        for begin in range(0, len(which), CHUNK):
            part = which[begin : begin + CHUNK]
            literals = np.full((self._width, CHUNK), self._ones, dtype=np.int64)
            literals[:, : len(part)] = np.array([self._literals[i] for i in part]).T
            chunks.append((np.array([self._positions[i] for i in part], dtype=np.int64), literals))
        return chunks

    def _whole(self, columns: tuple[int, ...], positions: IntArray) -> _Marginal:
        # Sorted by size, so that few padded shapes are compiled and the largest column is in the matrix product.
        order = np.argsort(positions.shape, kind="stable")
        shape = tuple(int(positions.shape[i]) for i in order)
        starts = self._starts[[columns[i] for i in order]]
        return _Marginal(starts, tuple(map(_power_of_two, shape)), shape, positions.transpose(order))

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


def _power_of_two(size: int) -> int:
    return 1 << math.ceil(math.log2(size)) if size > 1 else 1
