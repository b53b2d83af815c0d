"""Conjunctions and disjunctions of features: a query is the set of features it names.

With the one-hot bits of categorical columns, or with each bit beside its negation (`features.Features`), these have
literals of both signs. Without, they are the monotone ones. On raw bits with both signs no small separator exists: two
full conjunctions that are false on all of U are the same on U.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from equipoise.core import IntArray
from equipoise.errors import SettingError
from equipoise.oracles.classes.program import Program
from equipoise.oracles.classes.query_class import Piece

__all__ = ["Conjunctions", "Disjunctions"]


@dataclass(frozen=True)
class Conjunctions:
    """x ↦ Π_{j∈A} x_j. Separators: all ones but bit j, on which q is 0 exactly when j is in A.

    Attributes:
        num_features: Bits of a record.
        max_literals: Largest A, or None for all of them. Few literals make readable rules and a smaller class.
        min_literals: Smallest A: 0 has the query that is always true, 1 has not.
        columns: The column that each feature is a value of; a query names at most one value of a column. None: any.

    Example:
        >>> Conjunctions(2).answers(np.array([[1, 1], [0, 0]]), np.array([[1, 0], [1, 1]])).astype(int).tolist()
        [[0, 1], [1, 1]]
    """

    name: ClassVar[str] = "conjunctions"

    num_features: int
    max_literals: int | None = None
    min_literals: int = 0
    columns: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.min_literals <= self._most or self._most > self.num_features:
            raise SettingError("the numbers of literals must lie between 0 and the number of features")
        if self.columns is not None and len(self.columns) != self.num_features:
            raise SettingError("each feature is a value of one column")

    @property
    def _most(self) -> int:
        return self.num_features if self.max_literals is None else self.max_literals

    @property
    def num_queries(self) -> int:
        """Sets of features of the allowed sizes."""
        sizes = range(self.min_literals, self._most + 1)
        if self.columns is None:
            return sum(comb(self.num_features, size) for size in sizes)
        ways = [1]  # ways[k]: sets of k features of the columns so far
        for values in Counter(self.columns).values():
            ways = [more + values * fewer for more, fewer in zip([*ways, 0], [0, *ways], strict=True)]
        return sum(ways[size] for size in sizes if size < len(ways))

    @property
    def false_on_zero(self) -> bool:
        """But for the empty conjunction."""
        return self.min_literals >= 1

    def points(self, bits: NDArray[np.uint8]) -> IntArray:
        """The bits themselves."""
        return bits.astype(np.int64)

    @property
    def num_separators(self) -> int:
        """One a feature."""
        return self.num_features

    def separators(self) -> IntArray:
        """All ones but one bit, for every bit."""
        return 1 - np.eye(self.num_features, dtype=np.int64)

    def answers(self, parameters: IntArray, points: IntArray) -> NDArray[np.bool_]:
        """Whether no named feature is 0."""
        with np.errstate(invalid="ignore"):  # now and then BLAS calculates with what lies beyond the end of a row
            missing = np.atleast_2d(parameters).astype(np.float32) @ (1 - points).T.astype(np.float32)
        return np.asarray(missing == 0, dtype=np.bool_)

    def every(self) -> IntArray:
        """Smaller sets first."""
        sizes = range(self.min_literals, self._most + 1)
        sets = [chosen for size in sizes for chosen in combinations(range(self.num_features), size)]
        if (columns := self.columns) is not None:
            sets = [chosen for chosen in sets if len({columns[j] for j in chosen}) == len(chosen)]
        every = np.zeros((len(sets), self.num_features), dtype=np.int64)
        for row, chosen in zip(every, sets, strict=True):
            row[list(chosen)] = 1
        return every

    def canonical(self, parameters: IntArray) -> IntArray:
        """A set has one form."""
        return parameters

    def coordinate(self, feature: int) -> IntArray | None:
        """The single literal x_j."""
        single = np.asarray(np.arange(self.num_features) == feature, dtype=np.int64)
        return single if self.min_literals <= 1 <= self._most else None

    def pieces(self, points: IntArray, weights: IntArray) -> Sequence[Piece]:
        """a_j: j is in A; y_i = q(x_i), tied to a on the side to which its weight pulls it."""
        program = Program()
        named = program.variables(self.num_features)
        holds = program.variables(len(points), objective=weights)
        program.row(named, 1, self.min_literals, self._most)
        for column in dict.fromkeys(self.columns or ()):
            program.row(named[np.array(self.columns) == column], 1, high=1)
        for hold, point, weight in zip(holds, points, weights, strict=True):
            zeros = named[point == 0]
            if weight > 0:  # y >= 1 - Σ_{x_j = 0} a_j
                program.row([hold, *zeros], 1, low=1)
            else:  # y <= 1 - a_j for every j with x_j = 0
                for zero in zeros:
                    program.row([hold, zero], 1, high=1)
        return [Piece(program, 0, lambda solution: solution[named])]

    def describe(self, parameters: IntArray, names: Sequence[str]) -> str:
        """The named features, joined by "and"."""
        chosen = [names[j] for j in np.flatnonzero(parameters).tolist()]
        return " and ".join(chosen) if chosen else "always"


@dataclass(frozen=True)
class Disjunctions:
    """x ↦ max_{j∈A} x_j: 1 minus the conjunction of the opposite bits. Separators: the unit points.

    Example:
        >>> Disjunctions(2).answers(np.array([[1, 1], [0, 0]]), np.array([[1, 0], [0, 0]])).astype(int).tolist()
        [[1, 0], [0, 0]]
    """

    name: ClassVar[str] = "disjunctions"

    num_features: int
    max_literals: int | None = None
    min_literals: int = 0
    _opposite: Conjunctions = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_opposite", Conjunctions(self.num_features, self.max_literals, self.min_literals))

    @property
    def num_queries(self) -> int:
        """Sets of features of the allowed sizes."""
        return self._opposite.num_queries

    @property
    def false_on_zero(self) -> bool:
        """Always."""
        return True

    def points(self, bits: NDArray[np.uint8]) -> IntArray:
        """The bits themselves."""
        return bits.astype(np.int64)

    @property
    def num_separators(self) -> int:
        """One a feature."""
        return self.num_features

    def separators(self) -> IntArray:
        """One bit set, for every bit."""
        return np.eye(self.num_features, dtype=np.int64)

    def answers(self, parameters: IntArray, points: IntArray) -> NDArray[np.bool_]:
        """Whether a named feature is 1."""
        return np.asarray(~self._opposite.answers(parameters, 1 - points), dtype=np.bool_)

    def every(self) -> IntArray:
        """Smaller sets first."""
        return self._opposite.every()

    def canonical(self, parameters: IntArray) -> IntArray:
        """A set has one form."""
        return parameters

    def coordinate(self, feature: int) -> IntArray | None:
        """The single literal x_j."""
        return self._opposite.coordinate(feature)

    def pieces(self, points: IntArray, weights: IntArray) -> Sequence[Piece]:
        """Σ w q(x) = Σ w - Σ w · conjunction(1 - x)."""
        inner = self._opposite.pieces(1 - points, -weights)
        return [Piece(piece.program, piece.offset + int(weights.sum()), piece.query) for piece in inner]

    def describe(self, parameters: IntArray, names: Sequence[str]) -> str:
        """The named features, joined by "or"."""
        chosen = [names[j] for j in np.flatnonzero(parameters).tolist()]
        return " or ".join(chosen) if chosen else "never"
