"""Parities: a query is a set of features, and holds when an odd number of them are 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from equipoise.core import IntArray
from equipoise.oracles.classes.program import Program
from equipoise.oracles.classes.query_class import Piece

__all__ = ["Parities"]


@dataclass(frozen=True)
class Parities:
    """x ↦ Σ_j a_j x_j mod 2. Separators: the unit points, on which q is a_j.

    Example:
        >>> Parities(3).answers(np.array([[1, 1, 0]]), np.array([[1, 0, 0], [1, 1, 1]])).astype(int).tolist()
        [[1, 0]]
    """

    name: ClassVar[str] = "parities"

    num_features: int

    @property
    def num_queries(self) -> int:
        """All sets of features."""
        return 1 << self.num_features

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
        """Whether an odd number of the named features are 1."""
        return np.asarray((np.atleast_2d(parameters) @ points.T) % 2 == 1, dtype=np.bool_)

    def every(self) -> IntArray:
        """In the order of binary numbers."""
        numbers = np.arange(self.num_queries, dtype=np.int64)
        return (numbers[:, None] >> np.arange(self.num_features, dtype=np.int64)) & 1

    def canonical(self, parameters: IntArray) -> IntArray:
        """A set has one form."""
        return parameters

    def coordinate(self, feature: int) -> IntArray | None:
        """The parity of one bit."""
        return np.asarray(np.arange(self.num_features) == feature, dtype=np.int64)

    def pieces(self, points: IntArray, weights: IntArray) -> Sequence[Piece]:
        """Σ_j x_j a_j = y + 2k."""
        program = Program()
        named = program.variables(self.num_features)
        holds = program.variables(len(points), objective=weights)
        halves = program.variables(len(points), upper=points.sum(axis=1) // 2)
        for hold, half, point in zip(holds, halves, points, strict=True):
            ones = named[point == 1]
            program.row([*ones, hold, half], [1] * len(ones) + [-1, -2], 0, 0)
        return [Piece(program, 0, lambda solution: solution[named])]

    def describe(self, parameters: IntArray, names: Sequence[str]) -> str:
        """The named features, joined by "xor"."""
        chosen = [names[j] for j in np.flatnonzero(parameters).tolist()]
        return " xor ".join(chosen) if chosen else "never"
