"""What an oracle is asked: weighted conjunctions, their negations and a linear tilt, to be maximised over records.

A record is one code a column. A free binary attribute is a column of two values, so that one-hot categorical records
and points of {0,1}^d are the same thing: a *value* is a position in the one-hot record, and a literal "column is code"
is a value.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.core import Codes, FloatArray, IntArray, code_type
from equipoise.errors import QueryError

__all__ = ["Instance", "OneHot"]


@dataclass(frozen=True, eq=False)
class OneHot:
    """Where the values of each column are in a one-hot record. Built once, used by every instance of a game.

    Example:
        >>> record = OneHot.of([2, 3])
        >>> record.num_columns, record.num_values, record.positions([0, 1], [1, 0]).tolist()
        (2, 5, [1, 2])
    """

    sizes: IntArray
    starts: IntArray

    @classmethod
    def of(cls, sizes: ArrayLike) -> OneHot:
        """The layout of columns with these numbers of values."""
        counts = np.asarray(sizes, dtype=np.int64)
        if counts.ndim != 1 or counts.size == 0 or counts.min() < 1:
            raise QueryError("a record needs at least one column, and each column at least one value")
        return cls(counts, np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)]))

    @property
    def num_columns(self) -> int:
        """Columns of a record."""
        return len(self.sizes)

    @property
    def num_values(self) -> int:
        """Length of a one-hot record."""
        return int(self.starts[-1])

    def positions(self, columns: ArrayLike, codes: ArrayLike) -> IntArray:
        """The values "column is code"; -1 where the column is -1.

        Raises:
            QueryError: a column or a code does not exist.
        """
        which, code = np.asarray(columns, dtype=np.int64), np.asarray(codes, dtype=np.int64)
        wrong = (which < -1) | (which >= self.num_columns)
        inside = np.where(wrong, 0, which)
        if wrong.any() or ((which >= 0) & ((code < 0) | (code >= self.sizes[inside]))).any():
            raise QueryError("a literal names a column or a code that the record does not have")
        return np.asarray(np.where(which < 0, -1, self.starts[inside] + code), dtype=np.int64)

    def columns(self, positions: IntArray) -> IntArray:
        """The column of each value (0 for a pad, -1)."""
        return np.searchsorted(self.starts[1:], np.maximum(positions, 0), side="right")


@dataclass(frozen=True, eq=False)
class Instance:
    """Copies b = 0..num_copies-1 of one problem: the record that maximises F_b.

        F_b(x) = Σ_i weights[b, i] · q_i(x) + Σ_columns tilts[b, value of x in the column].

    q_i(x) is 1 when all literals of row i hold (0 when `negated[i]`), else 0 (else 1). The copies share their
    conjunctions, which is what makes a batch cheap; weights and tilts may differ. FEM's noise enters as tilts = -σ.

    Literals may repeat, conjunctions may repeat, contradict themselves, cancel or be empty (always true): an oracle
    accepts them all. Weights have any sign.

    Attributes:
        record: The layout of the records.
        literals: Shape (num_queries, width): values, padded with -1.
        negated: Shape (num_queries,).
        weights: Shape (num_copies, num_queries), or (1, num_queries) when all copies have the same.
        tilts: Shape (num_copies, num_values), or None for no tilt.
        num_copies: How many problems this is.

    Example:
        Maximise [x₀=1 and x₁=2] + 0.5·(1 - [x₁=2]), for two tilts:

        >>> record = OneHot.of([2, 3])
        >>> tilts = np.array([[0.0, 0, 0, 0, 0], [0, 0, 0.75, 0, 0]])
        >>> instance = Instance.of(record, [[0, 1], [1, -1]], [[1, 2], [2, 0]], [1.0, 0.5], [False, True], tilts)
        >>> instance.values(np.array([[1, 1], [2, 0]]))
        array([1.  , 1.25])
    """

    record: OneHot
    literals: IntArray
    negated: NDArray[np.bool_]
    weights: FloatArray
    tilts: FloatArray | None
    num_copies: int

    def __post_init__(self) -> None:
        num_queries = len(self.literals)
        if self.literals.ndim != 2 or self.negated.shape != (num_queries,):
            raise QueryError("an instance needs one row of literals and one sign for each query")
        if self.num_copies < 1 or self.weights.shape not in ((1, num_queries), (self.num_copies, num_queries)):
            raise QueryError("an instance needs one weight for each query, the same for all copies or one each")
        if self.tilts is not None and self.tilts.shape != (self.num_copies, self.record.num_values):
            raise QueryError("a tilt has one number for each value of the one-hot record, one row a copy")
        finite = np.isfinite(self.weights).all() and (self.tilts is None or bool(np.isfinite(self.tilts).all()))
        if not finite:
            raise QueryError("weights and tilts must be finite numbers")

    @classmethod
    def of(
        cls,
        record: OneHot,
        columns: ArrayLike,
        codes: ArrayLike,
        weights: ArrayLike,
        negated: ArrayLike | None = None,
        tilts: ArrayLike | None = None,
    ) -> Instance:
        """An instance from literals as (column, code), both of shape (num_queries, width), column -1 for a pad.

        Weights (num_queries,) or (num_copies, num_queries); tilts (num_values,) or (num_copies, num_values).
        """
        factors = np.atleast_2d(np.asarray(weights, dtype=np.float64))
        noise = None if tilts is None else np.atleast_2d(np.asarray(tilts, dtype=np.float64))
        literals = record.positions(columns, codes)
        if literals.size == 0:
            literals = literals.reshape(factors.shape[1], -1) if factors.shape[1] else literals.reshape(0, 1)
        signs = np.zeros(len(literals)) if negated is None else negated
        num_copies = max(len(factors), 1 if noise is None else len(noise))
        return cls(record, literals, np.asarray(signs, dtype=np.bool_), factors, noise, num_copies)

    @cached_property
    def literal_columns(self) -> IntArray:
        """The column of each literal, same shape."""
        return self.record.columns(self.literals)

    @property
    def code_type(self) -> type[np.unsignedinteger[Any]]:
        """The smallest type for the codes of a record."""
        return code_type(int(self.record.sizes.max()))

    def values(self, codes: Codes) -> FloatArray:
        """F_b of record b, for every copy b, from the queries as they were given; codes of shape (columns, copies)."""
        columns = self.literal_columns
        wanted = self.literals - self.record.starts[columns]
        totals = np.zeros(self.num_copies)
        for b in range(self.num_copies):
            record = codes[:, b].astype(np.int64)
            holds = ((record[columns] == wanted) | (self.literals < 0)).all(axis=1)
            totals[b] = self.weights[min(b, len(self.weights) - 1)] @ (holds != self.negated)
            if self.tilts is not None:
                totals[b] += self.tilts[b, self.record.starts[:-1] + record].sum()
        return totals

    def trivial_bounds(self) -> FloatArray:
        """What no record can exceed: all good queries held, each column at its best tilt."""
        bounds = np.broadcast_to(np.maximum(self.weights, 0.0).sum(axis=1), self.num_copies).copy()
        if self.tilts is not None:
            bounds += np.maximum.reduceat(self.tilts, self.record.starts[:-1], axis=1).sum(axis=1)
        return bounds
