"""Conjunctions by the hundred thousand: arrays of literals "column = value", never a group of queries for each.

For tables with thousands of columns, where hardly two queries share their columns, and for workloads of a few cells
out of many marginals.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.core import Codes, Distribution, FloatArray, IntArray, code_type
from equipoise.data.distributions import MixtureOfProducts, WeightedRows
from equipoise.data.domain import Domain
from equipoise.errors import CapacityError, QueryError
from equipoise.queries import bits, text
from equipoise.queries.distinct import are_distinct, first_of_each
from equipoise.queries.group import MAX_CELLS, Group
from equipoise.queries.norms import Norms
from equipoise.queries.query import Query
from equipoise.queries.workload import Workload

if TYPE_CHECKING:
    from equipoise.data.schema import Schema

__all__ = ["Conjunctions"]

MAX_GROUPED = 100_000
"""Conjunctions that are turned into groups; beyond it the methods that need groups take minutes a round."""

BATCH_BYTES = 2**28
"""Bits of literals held at a time when rows are counted."""


@dataclass(frozen=True, eq=False)
class Conjunctions:
    """Queries q(x) = [x at columns[q, 0] is values[q, 0]] and ... and [x at columns[q, k-1] is values[q, k-1]].

    The rows of the arrays are distinct. `of` puts them in lexicographic order of columns, then values, so that equal
    sets of columns are neighbours; `followed_by` keeps the ids of those that come first. Each query is a group of its
    own (`starts`).

    Attributes:
        domain: The columns.
        columns: Shape (num_queries, order); each row increasing.
        values: Codes, same shape.

    Example:
        >>> domain = Domain(("a", "b", "c"), (2, 2, 3))
        >>> some = Conjunctions.of(domain, [[2, 0], [0, 1]], [[2, 1], [1, 0]])
        >>> some.columns.tolist(), some.values.tolist()
        ([[0, 1], [0, 2]], [[1, 0], [1, 2]])
        >>> some.on_rows(np.array([[1, 1], [0, 1], [2, 2]], dtype=np.uint8))
        array([0.5, 1. ])
    """

    domain: Domain
    columns: NDArray[np.int32]
    values: NDArray[Any]

    def __post_init__(self) -> None:
        columns = np.ascontiguousarray(self.columns, dtype=np.int32)
        if columns.ndim != 2 or 0 in columns.shape or np.shape(self.values) != columns.shape:
            raise QueryError("conjunctions need arrays of columns and of values, one row a query, and at least one")
        if columns.min() < 0 or columns.max() >= len(self.domain.sizes) or (np.diff(columns, axis=1) <= 0).any():
            raise QueryError("a conjunction's columns are increasing positions of the domain's columns")
        if np.min(self.values) < 0 or (np.asarray(self.values) >= self._sizes[columns]).any():
            raise QueryError("a conjunction's value is outside its column's codes")
        values = np.ascontiguousarray(self.values, dtype=code_type(int(self._sizes.max())))
        if not are_distinct(np.concatenate([columns, values.astype(np.int32)], axis=1)):
            raise QueryError("conjunctions must be distinct; make them with Conjunctions.of")
        for array in (columns, values):
            array.setflags(write=False)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "values", values)

    @classmethod
    def of(cls, domain: Domain, columns: ArrayLike, values: ArrayLike) -> Conjunctions:
        """From literals in any order; a conjunction that is given twice is kept once."""
        which, code = np.asarray(columns, dtype=np.int64), np.asarray(values, dtype=np.int64)
        if which.ndim == 2 and which.size and code.shape == which.shape:
            order = np.argsort(which, axis=1, kind="stable")
            which, code = np.take_along_axis(which, order, 1), np.take_along_axis(code, order, 1)
            kept = first_of_each(np.concatenate([which, code], axis=1))
            which, code = which[kept], code[kept]
        return cls(domain, which.astype(np.int32), code)

    def followed_by(self, more: Conjunctions) -> Conjunctions:
        """These queries with their ids, and then others over the same columns, as many literals each.

        Example:
            >>> domain = Domain(("a", "b"), (2, 2))
            >>> both = Conjunctions.of(domain, [[1]], [[0]]).followed_by(Conjunctions.of(domain, [[0]], [[1]]))
            >>> both.columns.tolist(), both.values.tolist()
            ([[1], [0]], [[0], [1]])

        Raises:
            QueryError: They are over other columns, or one of them is among these.
        """
        if more.domain != self.domain or more.order != self.order:
            raise QueryError("conjunctions are joined to others over the same columns and with as many literals")
        pairs = ((self.columns, more.columns), (self.values, more.values))
        return Conjunctions(self.domain, *(np.concatenate(pair) for pair in pairs))

    @cached_property
    def _sizes(self) -> IntArray:
        return np.array(self.domain.sizes, dtype=np.int64)

    @property
    def num_queries(self) -> int:
        """How many queries there are."""
        return len(self.columns)

    @property
    def order(self) -> int:
        """Literals of a query."""
        return int(self.columns.shape[1])

    @property
    def starts(self) -> IntArray:
        """See `Queries.starts`: every query by itself."""
        return np.arange(self.num_queries + 1, dtype=np.int64)

    def group_of(self, ids: IntArray) -> IntArray:
        """See `Queries.group_of`: the query itself."""
        return np.asarray(ids, dtype=np.int64)

    @cached_property
    def literal_rows(self) -> bits.LiteralRows:
        """The literals that occur: what has to be counted of a table."""
        return bits.LiteralRows.of(self.columns, self.values, self._sizes)

    def literals(self, ids: IntArray) -> tuple[IntArray, IntArray]:
        """See `Queries.literals`; there are no pads.

        Example:
            >>> some = Conjunctions.of(Domain(("a", "b"), (2, 2)), [[0], [1]], [[1], [0]])
            >>> [array.tolist() for array in some.literals(np.array([1, 1]))]
            [[[1], [1]], [[0], [0]]]
        """
        return self.columns[ids].astype(np.int64), self.values[ids].astype(np.int64)

    def query(self, query_id: int) -> Query:
        """The query with this id."""
        if not 0 <= query_id < self.num_queries:
            raise QueryError(f"query ids are 0 to {self.num_queries - 1}")
        columns, codes = self.columns[query_id].tolist(), self.values[query_id].tolist()
        masks = (np.arange(self.domain.sizes[c]) == code for c, code in zip(columns, codes, strict=True))
        return Query(tuple(columns), tuple(masks))

    def describe(self, query_id: int, schema: Schema) -> str:
        """The text form of the query with this id."""
        return text.describe(self.query(query_id), schema)

    def weights(self) -> IntArray:
        """All are 1."""
        return np.ones(self.num_queries, dtype=np.int64)

    def norms(self, ids: IntArray | None = None) -> Norms:
        """How much the vector of counts of these queries (default: all) can change when one record is replaced.

        Guarantees:
            Never smaller than the change between any two neighbouring tables: each count moves by at most 1. It is
            attained where the queries exclude each other nowhere; for cells of few marginals it is loose.
        """
        number = self.num_queries if ids is None else len(ids)
        return Norms(min(number, 1), number, number)

    def on(self, distribution: Distribution) -> FloatArray:
        """Every query's answer on a distribution."""
        if isinstance(distribution, WeightedRows):
            return self.on_rows(distribution.codes, distribution.weights)
        if isinstance(distribution, MixtureOfProducts) and self.num_queries > MAX_GROUPED:
            return self._on_products(distribution)
        return self.grouped().on(distribution)

    def _on_products(self, mixture: MixtureOfProducts) -> FloatArray:
        """On independent columns, a component at a time: no marginal is made."""
        starts = np.concatenate([[0], np.cumsum(self._sizes)])[:-1]
        places = starts[self.columns] + self.values
        answers = np.zeros(self.num_queries)
        for component, weight in enumerate(mixture.weights):
            chances = np.concatenate([factor[component] for factor in mixture.factors])
            answers += weight * np.prod(chances[places], axis=1)
        return answers

    def on_rows(self, codes: Codes, weights: FloatArray | None = None) -> FloatArray:
        """Every query's (weighted) mean over rows."""
        if codes.shape[1] == 0:
            raise QueryError("there are no rows to answer on")
        if codes.shape[1] == 1:  # a data player's newest record, asked for every round
            return bits.holds(self._checked(codes)[:, 0], self.columns, self.values).astype(np.float64)
        shares = None if weights is None else np.asarray(weights, dtype=np.float64)
        # Equal weights, as of a union of records, are no more than counts, which take a tenth of the time.
        if shares is None or (shares == shares[0]).all():
            return np.asarray(self.count_rows(codes) / codes.shape[1])
        totals = np.zeros(self.num_queries)
        for part, packed in self._packed(codes):
            bits.add_weights(totals, packed, shares[part], self.literal_rows.index)
        return np.asarray(totals / shares.sum())

    def count_rows(self, codes: Codes) -> IntArray:
        """How many rows each query holds for, exactly."""
        counts = np.zeros(self.num_queries, dtype=np.int64)
        for part, packed in self._packed(codes):
            bits.add_counts(counts, packed, part.stop - part.start, self.literal_rows.index)
        return counts

    def _packed(self, codes: Codes) -> Iterator[tuple[slice, bits.Bits]]:
        """The rows as bits, some at a time."""
        codes, step = self._checked(codes), self.batch_rows(BATCH_BYTES)
        for start in range(0, codes.shape[1], step):
            part = slice(start, min(start + step, codes.shape[1]))
            yield part, bits.pack_codes(codes[:, part], self.literal_rows)

    def batch_rows(self, num_bytes: int) -> int:
        """Rows whose bits take about this much memory; public quantities only."""
        return 64 * max(1, min(2**14, num_bytes // (8 * self.literal_rows.num_rows)))

    def _checked(self, codes: Codes) -> Codes:
        if codes.ndim != 2 or len(codes) != len(self.domain.sizes):
            raise QueryError(f"rows must have one code for each of the {len(self.domain.sizes)} columns")
        return codes

    def grouped(self) -> Workload:
        """The same queries with the same ids, as groups of masks, for the methods that need groups.

        Raises:
            CapacityError: There are too many of them, or a marginal is too large.
        """
        if self.num_queries > MAX_GROUPED:
            raise CapacityError(
                f"this method takes at most {MAX_GROUPED:,} conjunctions, and the workload has {self.num_queries:,};"
                " ask for fewer, or use --method dual_query, which takes millions"
            )
        return self._workload

    @cached_property
    def _workload(self) -> Workload:
        return Workload(self.domain, tuple(self._groups()))

    def _groups(self) -> Iterator[Group]:
        changed = np.flatnonzero((np.diff(self.columns, axis=0) != 0).any(axis=1)) + 1
        for first, last in pairwise([0, *changed.tolist(), self.num_queries]):
            columns = tuple(self.columns[first].tolist())
            shape = tuple(self.domain.sizes[c] for c in columns)
            if np.prod(np.array(shape, dtype=np.float64)) > MAX_CELLS:
                raise CapacityError("a conjunction's marginal has too many cells; use --method dual_query")
            masks = (np.arange(s) == self.values[first:last, j, None] for j, s in enumerate(shape))
            yield Group(columns, shape, tuple(masks))

    def to_json(self) -> dict[str, Any]:
        """Public, self-contained, ready for `json.dumps`; `queries.stored.from_json` is its inverse."""
        from equipoise.queries.stored import conjunctions_to_json

        return conjunctions_to_json(self)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the domain and the literals: equal exactly when the queries are."""
        found = hashlib.sha256()
        found.update("\n".join(self.domain.columns).encode())
        for array in (self._sizes.astype("<i8"), self.columns.astype("<i4"), self.values.astype("<u4")):
            found.update(f"|{array.shape}|".encode())
            found.update(array.tobytes())
        return found.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Conjunctions) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)
