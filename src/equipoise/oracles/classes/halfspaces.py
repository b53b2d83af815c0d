"""Halfspaces with weights from a short list: <w, x> at least a threshold, everything in whole numbers.

A point carries its own threshold, after its bits. So the points that isolate one weight, 1[w_j >= v], are points like
others, although no record is one. General halfspaces over {0,1}^d number 2^Θ(d²) and have no separator of size d;
these have d (k - 1), k the number of weights (docs/s003.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from equipoise.core import IntArray
from equipoise.errors import SettingError
from equipoise.oracles.classes.program import Program
from equipoise.oracles.classes.query_class import Piece

__all__ = ["Halfspaces"]


@dataclass(frozen=True)
class Halfspaces:
    """x ↦ 1[Σ_j w_j x_j >= threshold], each w_j one of `weights`. Separators: bit j alone, thresholds v_2..v_k.

    Example:
        >>> query_class = Halfspaces(2, (-1, 1), 0)
        >>> points = query_class.points(np.array([[1, 1], [1, 0]], dtype=np.uint8))
        >>> query_class.answers(np.array([[-1, 1], [-1, -1]]), points).astype(int).tolist()
        [[1, 0], [0, 0]]
    """

    name: ClassVar[str] = "halfspaces"

    num_features: int
    weights: tuple[int, ...] = (-1, 0, 1)
    threshold: int = 1

    def __post_init__(self) -> None:
        if len(self.weights) < 2 or list(self.weights) != sorted(set(self.weights)):
            raise SettingError("a halfspace needs at least two different weights, the smallest first")

    @property
    def num_queries(self) -> int:
        """A weight for each feature."""
        return int(len(self.weights) ** self.num_features)

    @property
    def false_on_zero(self) -> bool:
        """When the threshold is positive."""
        return self.threshold >= 1

    def points(self, bits: NDArray[np.uint8]) -> IntArray:
        """The bits, and the threshold of the class."""
        return np.column_stack([bits.astype(np.int64), np.full(len(bits), self.threshold, dtype=np.int64)])

    @property
    def num_separators(self) -> int:
        """One a feature and weight, but for the smallest weight."""
        return self.num_features * (len(self.weights) - 1)

    def separators(self) -> IntArray:
        """Bit j alone against every weight but the smallest: 1[w_j >= v]."""
        alone = np.repeat(np.eye(self.num_features, dtype=np.int64), len(self.weights) - 1, axis=0)
        return np.column_stack([alone, np.tile(np.array(self.weights[1:], dtype=np.int64), self.num_features)])

    def answers(self, parameters: IntArray, points: IntArray) -> NDArray[np.bool_]:
        """Whether the weighted sum reaches the point's threshold."""
        return np.asarray(np.atleast_2d(parameters) @ points[:, :-1].T >= points[:, -1], dtype=np.bool_)

    def every(self) -> IntArray:
        """All vectors of weights."""
        return np.array(list(product(self.weights, repeat=self.num_features)), dtype=np.int64)

    def canonical(self, parameters: IntArray) -> IntArray:
        """A vector of weights has one form."""
        return parameters

    def coordinate(self, feature: int) -> IntArray | None:
        """Weight on one feature only, when 0 and the threshold are weights."""
        if self.threshold < 1 or 0 not in self.weights or max(self.weights) < self.threshold:
            return None
        query = np.zeros(self.num_features, dtype=np.int64)
        query[feature] = max(self.weights)
        return query

    def pieces(self, points: IntArray, weights: IntArray) -> Sequence[Piece]:
        """z_jv: w_j = v. <w, x> >= t - (t - least)(1 - y), or <w, x> <= t - 1 + (most - t + 1) y."""
        program, values = Program(), np.array(self.weights, dtype=np.int64)
        chosen = program.variables(self.num_features * len(values)).reshape(self.num_features, -1)
        for row in chosen:
            program.row(row, 1, 1, 1)
        holds = program.variables(len(points), objective=weights)
        for hold, point, weight in zip(holds, points, weights, strict=True):
            bits, threshold = point[:-1], int(point[-1])
            terms = (bits[:, None] * values).reshape(-1)
            present = np.flatnonzero(terms)
            least, most = int(bits.sum() * values[0]), int(bits.sum() * values[-1])
            places, factors = chosen.reshape(-1)[present], terms[present]
            if weight > 0:  # y = 0 only below the threshold
                program.row([*places, hold], [*factors, threshold - 1 - most], high=threshold - 1)
            else:  # y = 1 only at or above it
                program.row([*places, hold], [*factors, least - threshold], low=least)
        return [Piece(program, 0, lambda solution: values[solution[chosen].argmax(axis=1)])]

    def describe(self, parameters: IntArray, names: Sequence[str]) -> str:
        """The weighted features against the threshold."""
        terms = [f"{'' if w == 1 else f'{w} '}[{name}]" for w, name in zip(parameters, names, strict=True) if w]
        return f"{' + '.join(terms) or '0'} >= {self.threshold}"
