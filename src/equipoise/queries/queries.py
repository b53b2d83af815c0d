"""What every workload can do, whether its queries come in groups (`Workload`) or one by one (`Conjunctions`).

An algorithm that needs nothing else is written against `Queries`, and then works for both. One that fits marginals
asks for groups (`algorithms.algorithm.Setting.grouped`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from equipoise.core import Codes, Distribution, FloatArray, IntArray
from equipoise.data.domain import Domain
from equipoise.queries.norms import Norms
from equipoise.queries.query import Query

if TYPE_CHECKING:
    from equipoise.data.schema import Schema

__all__ = ["Queries"]


class Queries(Protocol):
    """Queries over a domain, known by their ids 0 to num_queries - 1."""

    @property
    def domain(self) -> Domain:
        """The columns they are over."""
        ...

    @property
    def num_queries(self) -> int:
        """How many queries there are."""
        ...

    @property
    def starts(self) -> IntArray:
        """Id of the first query of each group of queries that belong together, and last the number of queries."""
        ...

    @property
    def fingerprint(self) -> str:
        """SHA-256: equal exactly when the queries, their order and their weights are."""
        ...

    def group_of(self, ids: IntArray) -> IntArray:
        """Which group each query belongs to."""
        ...

    def query(self, query_id: int) -> Query:
        """The query with this id."""
        ...

    def describe(self, query_id: int, schema: Schema) -> str:
        """The text form of the query with this id."""
        ...

    def literals(self, ids: IntArray) -> tuple[IntArray, IntArray]:
        """Columns and codes of these queries, each of shape (len(ids), order); a pad has column -1 and code 0.

        Raises:
            QueryError: One of them is no conjunction of "column = value".
        """
        ...

    def weights(self) -> IntArray:
        """The weight of each query."""
        ...

    def norms(self, ids: IntArray | None = None) -> Norms:
        """How much the counts of these queries (default: all) can change when one record is replaced."""
        ...

    def on(self, distribution: Distribution) -> FloatArray:
        """Every query's answer on a distribution."""
        ...

    def on_rows(self, codes: Codes, weights: FloatArray | None = None) -> FloatArray:
        """Every query's (weighted) mean over rows."""
        ...

    def count_rows(self, codes: Codes) -> IntArray:
        """How many rows each query holds for, exactly."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Public, self-contained, ready for `json.dumps`; `queries.stored.from_json` is its inverse."""
        ...
