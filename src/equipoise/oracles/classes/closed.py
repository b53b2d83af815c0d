"""A class together with the negations of its queries.

U separates q from q', and ¬q from ¬q', but need not separate q from ¬q'. A point on which every query of the class is
0, and so every negation 1, does: one noise more, and one private event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from equipoise.core import IntArray
from equipoise.errors import SettingError
from equipoise.oracles.classes.query_class import Piece, QueryClass

__all__ = ["Closed"]


@dataclass(frozen=True)
class Closed:
    """Q ∪ ¬Q. The first parameter says whether the query is negated, the rest is a query of the inner class.

    Example:
        >>> from equipoise.oracles.classes.conjunctions import Conjunctions
        >>> closed = Closed(Conjunctions(2, min_literals=1))
        >>> closed.answers(np.array([[0, 1, 1], [1, 1, 1]]), np.array([[1, 0], [1, 1]])).astype(int).tolist()
        [[0, 1], [1, 0]]
    """

    name: ClassVar[str] = "closed"

    inner: QueryClass

    def __post_init__(self) -> None:
        if not self.inner.false_on_zero:
            raise SettingError(
                "a class is closed under negation with the zero point, on which all its queries must be 0:"
                " disjunctions, parities, conjunctions without the empty one, halfspaces with a positive threshold"
            )

    @property
    def _zero(self) -> IntArray:
        return self.inner.points(np.zeros((1, self.num_features), dtype=np.uint8))

    @property
    def num_features(self) -> int:
        """Bits of a record."""
        return self.inner.num_features

    @property
    def num_queries(self) -> int:
        """Twice as many."""
        return 2 * self.inner.num_queries

    @property
    def false_on_zero(self) -> bool:
        """No: the negations are 1 there."""
        return False

    def points(self, bits: NDArray[np.uint8]) -> IntArray:
        """As in the inner class."""
        return self.inner.points(bits)

    @property
    def num_separators(self) -> int:
        """One more."""
        return self.inner.num_separators + 1

    def separators(self) -> IntArray:
        """Those of the inner class, and the zero point."""
        return np.concatenate([self.inner.separators(), self._zero])

    def answers(self, parameters: IntArray, points: IntArray) -> NDArray[np.bool_]:
        """Those of the inner query, or their opposites."""
        queries = np.atleast_2d(parameters)
        return np.asarray(self.inner.answers(queries[:, 1:], points) != (queries[:, :1] == 1), dtype=np.bool_)

    def every(self) -> IntArray:
        """All queries, then all negations."""
        every = self.inner.every()
        signs = np.repeat([0, 1], len(every))
        return np.column_stack([signs, np.concatenate([every, every])])

    def canonical(self, parameters: IntArray) -> IntArray:
        """The sign, and the inner query's form."""
        return np.concatenate([parameters[:1], self.inner.canonical(parameters[1:])])

    def coordinate(self, feature: int) -> IntArray | None:
        """That of the inner class."""
        query = self.inner.coordinate(feature)
        return None if query is None else np.concatenate([[0], query])

    def pieces(self, points: IntArray, weights: IntArray) -> Sequence[Piece]:
        """Σ w (1 - q) = Σ w + Σ (-w) q."""
        pieces = []
        for sign, signed, offset in ((0, weights, 0), (1, -weights, int(weights.sum()))):
            for piece in self.inner.pieces(points, signed):
                pieces.append(Piece(piece.program, piece.offset + offset, _with_sign(sign, piece)))
        return pieces

    def describe(self, parameters: IntArray, names: Sequence[str]) -> str:
        """The inner query in words, negated or not."""
        words = self.inner.describe(parameters[1:], names)
        return f"not ({words})" if parameters[0] else words


def _with_sign(sign: int, piece: Piece) -> Callable[[IntArray], IntArray]:
    return lambda solution: np.concatenate([[sign], piece.query(solution)])
