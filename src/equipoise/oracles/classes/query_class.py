"""A class of queries that one learns from: its predicate, its separators, its integer program.

The oracles beside this folder search for records; those here search for a *query* q of a class Q that minimises

    F(q) = Σ_i weights[i] · q(points[i]),

weights of any sign (neel2019heuristics, Definition 5). A labelled record (x, y) has weight 1 - 2y: up to a constant F
is then the number of records that q labels wrongly.

A set U of points *separates* Q when any two queries of Q differ on U (Definition 2 there); U may have points that no
record can be. What a query is called must depend on its answers on U alone (`canonical`), since that is what the
privacy of RSPM protects: two texts of one query would say which of them the solver happened to meet.

Dually, records are separated by the coordinate functions x_j, for every class here. Where Q has x_j as a member,
`coordinate(j)` gives it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from equipoise.core import IntArray
from equipoise.oracles.classes.program import Program

__all__ = ["Minimiser", "Minimum", "Piece", "QueryClass", "WeightedPoints"]


CELLS = 1 << 22
"""Answers held at once."""


class Piece(NamedTuple):
    """A part of a class as an integer program: F(query(solution)) = objective(solution) + offset."""

    program: Program
    offset: int
    query: Callable[[IntArray], IntArray]


class QueryClass(Protocol):
    """A finite class of 0/1 queries over bits, with a small separator. A frozen dataclass.

    A query is a vector of whole numbers, its parameters; many of them are rows of an array.
    """

    name: ClassVar[str]

    @property
    def num_features(self) -> int:
        """Bits of a record."""
        ...

    @property
    def num_queries(self) -> int:
        """An upper bound on the size of the class, exact but for decision lists."""
        ...

    @property
    def false_on_zero(self) -> bool:
        """Whether every query is 0 on the record without a 1."""
        ...

    def points(self, bits: NDArray[np.uint8]) -> IntArray:
        """Records (num_records, num_features) as points of this class, which may say more than their bits."""
        ...

    @property
    def num_separators(self) -> int:
        """How many separators there are, without making them."""
        ...

    def separators(self) -> IntArray:
        """The points that tell any two queries of the class apart."""
        ...

    def answers(self, parameters: IntArray, points: IntArray) -> NDArray[np.bool_]:
        """q(x) for every query and point: shape (num_queries, num_points)."""
        ...

    def every(self) -> IntArray:
        """All queries, each once, in canonical form; for small classes."""
        ...

    def canonical(self, parameters: IntArray) -> IntArray:
        """The one form of a query among those with the same answers."""
        ...

    def coordinate(self, feature: int) -> IntArray | None:
        """The query x_j, or None where the class does not have it."""
        ...

    def pieces(self, points: IntArray, weights: IntArray) -> Sequence[Piece]:
        """Integer programs whose best solution together is the best query."""
        ...

    def describe(self, parameters: IntArray, names: Sequence[str]) -> str:
        """A query in words, given the names of the features."""
        ...


@dataclass(frozen=True, eq=False)
class WeightedPoints:
    """What a minimiser is asked: a class, its points, whole weights of any sign. Equal points are merged.

    Attributes:
        query_class: Where the query is sought.
        points: Shape (num_points, width), all different.
        weights: Shape (num_points,), none zero.
    """

    query_class: QueryClass
    points: IntArray
    weights: IntArray

    @classmethod
    def of(cls, query_class: QueryClass, points: IntArray, weights: IntArray) -> WeightedPoints:
        """Merge equal points, and drop what cancels."""
        bits = points.size > 0 and points.min() >= 0 and points.max() <= 1
        keys = np.packbits(points.astype(np.uint8), axis=1) if bits else points  # short rows are sorted faster
        _, first, places = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        sums = np.zeros(len(first), dtype=np.int64)
        np.add.at(sums, places.reshape(-1), np.asarray(weights, dtype=np.int64))
        return cls(query_class, points[first].astype(np.int64)[sums != 0], sums[sums != 0])

    def values(self, parameters: IntArray) -> IntArray:
        """F of each query, in whole numbers, from the class's predicate."""
        queries = np.atleast_2d(parameters)
        exact = np.abs(self.weights).sum() < 2**52  # then sums of floats are whole numbers without error
        weights = self.weights.astype(np.float64 if exact else np.int64)
        rows = max(1, CELLS // max(1, len(self.points)))
        sums = [
            self.query_class.answers(queries[start : start + rows], self.points).astype(weights.dtype) @ weights
            for start in range(0, len(queries), rows)
        ]
        return np.concatenate(sums).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Minimum:
    """A query and what is known of how good it is.

    Attributes:
        parameters: The query, in canonical form.
        value: F of it, recomputed from the predicate.
        bound: What F of no query is below; None when nothing is known.
    """

    parameters: IntArray
    value: int
    bound: int | None

    def proved(self, gap: int) -> bool:
        """Whether no query is better by more than `gap`. A bound above the value is a contradiction, no proof."""
        return self.bound is not None and 0 <= self.value - self.bound <= gap


class Minimiser(Protocol):
    """Minimises over a class: a frozen dataclass whose fields are its limits. Deterministic."""

    name: ClassVar[str]

    def refuses(self, query_class: QueryClass) -> str | None:
        """Why this minimiser will not try the class (too large, a package is missing), or None: public."""
        ...

    def solve(self, instance: WeightedPoints) -> Minimum:
        """The best query, or the best found within the limits."""
        ...
