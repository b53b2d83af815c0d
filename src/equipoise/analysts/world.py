"""What a session is asked about, and the hypotheses that can answer it.

The mechanisms of sessions are the same for queries on records (`Records`) and for statistics of whole tables
(`statistics.Tables`): both have a public set of points, weights on them, and an answer of each query on each point.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol, TypeVar

import numpy as np

from equipoise.analysts.asking import Asked, canonical, from_canonical, parse_all
from equipoise.analysts.hypotheses import Hypothesis, Q_contra, Sampled, Scores
from equipoise.core import Distribution, IntArray
from equipoise.data.distributions import MixtureOfProducts
from equipoise.data.schema import Schema
from equipoise.queries.query import Query
from equipoise.queries.text import describe

__all__ = ["Q", "Records", "Scored", "World"]

Q = TypeVar("Q")


class Scored(Protocol[Q_contra]):
    """Sums over updates of a query's answers on every point, with the sign of the update.

    Attributes:
        num_updates: Updates taken in so far.
    """

    num_updates: int

    def add(self, updates: Sequence[tuple[Q_contra, int]]) -> None:
        """Take in updates: a query and +1 where the hypothesis counted too much, -1 where too little."""
        ...

    def weights(self, rate: Fraction) -> Hypothesis[Q_contra]:
        """The distribution with weights exp(-rate · sum)."""
        ...

    def draw(self, rate: Fraction, num_draws: int) -> IntArray:
        """Points drawn from that distribution, exactly: one update moves a draw's log-likelihood within `rate`."""
        ...


class World(Protocol[Q]):
    """Queries, the points they are answered on, and how they are written.

    Attributes:
        units: What an answer is counted in: one record replaced moves it by 1/units at most.
    """

    @property
    def units(self) -> int:
        """See above."""
        ...

    def parse(self, asked: Sequence[Asked], limit: int) -> list[tuple[Q, str]]:
        """The queries that are asked for, each with the words it was asked in, or none.

        Raises:
            QueryError: one is not a query here, or there are more than the limit.
        """
        ...

    def to_text(self, query: Q) -> str:
        """A query as text that equal queries share."""
        ...

    def from_text(self, text: str) -> Q:
        """The query that `to_text` wrote down."""
        ...

    def describe(self, query: Q) -> str:
        """A query in words."""
        ...

    def scores(self) -> Scored[Q]:
        """No updates yet."""
        ...

    def sampled(self, body: bytes) -> Hypothesis[Q]:
        """The points that `hypotheses.to_bytes` stored."""
        ...

    def uniform(self) -> Distribution:
        """Records of which nothing is known."""
        ...


class Records:
    """Queries on records; the points are the cells of the domain."""

    def __init__(self, schema: Schema, num_rows: int) -> None:
        self._schema, self._num_rows = schema, num_rows

    @property
    def units(self) -> int:
        """See `World.units`: records."""
        return self._num_rows

    def parse(self, asked: Sequence[Asked], limit: int) -> list[tuple[Query, str]]:
        """See `World.parse`."""
        return [(parsed.query, parsed.text) for parsed in parse_all(asked, self._schema, limit=limit)]

    def to_text(self, query: Query) -> str:
        """See `World.to_text`."""
        return canonical(query)

    def from_text(self, text: str) -> Query:
        """See `World.from_text`."""
        return from_canonical(text)

    def describe(self, query: Query) -> str:
        """See `World.describe`."""
        return describe(query, self._schema)

    def scores(self) -> Scores:
        """See `World.scores`."""
        return Scores(self._schema.domain.sizes, self._schema.rules)

    def sampled(self, body: bytes) -> Sampled:
        """See `World.sampled`."""
        return Sampled.from_bytes(body, self._schema.domain.sizes)

    def uniform(self) -> MixtureOfProducts:
        """See `World.uniform`."""
        return MixtureOfProducts(tuple(np.full((1, size), 1 / size) for size in self._schema.domain.sizes), np.ones(1))
