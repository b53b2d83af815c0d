"""Decision lists: the bit of the first feature of the list that is 1, or a default.

A feature that a list leaves out might as well come last, with the default as its bit. So a query is an order of all
features, a bit for each, and a default. Many orders are one query: features of the same bit that follow each other may
change places. The canonical form is read off the separators alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations, product
from math import factorial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from equipoise.core import IntArray
from equipoise.oracles.classes.program import Program
from equipoise.oracles.classes.query_class import Piece

__all__ = ["DecisionLists"]


@dataclass(frozen=True)
class DecisionLists:
    """Parameters: the order of the d features, the bit of each feature (by feature), the default.

    Separators: the zero point, the unit points, and pairs of units: they give the default, the bits, and of any two
    features with different bits which comes first. That decides every other point: f(x) = 1 exactly when some feature
    of x with bit 1 comes before all its features with bit 0.

    Example:
        If x₁ then 0, else if x₀ then 1, else 0:

        >>> query = np.array([1, 0, 1, 0, 0])
        >>> DecisionLists(2).answers(query, np.array([[1, 1], [1, 0], [0, 0]])).astype(int).tolist()
        [[0, 1, 0]]
    """

    name: ClassVar[str] = "decision lists"

    num_features: int

    @property
    def num_queries(self) -> int:
        """Orders, bits and defaults; several may be one query."""
        return factorial(self.num_features) << (self.num_features + 1)

    @property
    def false_on_zero(self) -> bool:
        """Not where the default is 1; and the class has its negations already."""
        return False

    def points(self, bits: NDArray[np.uint8]) -> IntArray:
        """The bits themselves."""
        return bits.astype(np.int64)

    @property
    def num_separators(self) -> int:
        """Nothing, single features, pairs."""
        return 1 + self.num_features * (self.num_features + 1) // 2

    def separators(self) -> IntArray:
        """0, e_i, e_i + e_j."""
        units = np.eye(self.num_features, dtype=np.int64)
        first, second = np.triu_indices(self.num_features, 1)
        return np.concatenate([np.zeros((1, self.num_features), dtype=np.int64), units, units[first] + units[second]])

    def answers(self, parameters: IntArray, points: IntArray) -> NDArray[np.bool_]:
        """The bit of the first feature that is 1."""
        queries, d = np.atleast_2d(parameters), self.num_features
        answers = np.empty((len(queries), len(points)), dtype=np.bool_)
        for answer, query in zip(answers, queries, strict=True):
            order, bits, default = query[:d], query[d : 2 * d], query[2 * d]
            fires = points[:, order] == 1
            answer[:] = np.where(fires.any(axis=1), bits[order[fires.argmax(axis=1)]], default) == 1
        return answers

    def every(self) -> IntArray:
        """All queries in canonical form."""
        d = self.num_features
        known: dict[bytes, IntArray] = {}
        for order, rest in product(permutations(range(d)), product((0, 1), repeat=d + 1)):
            form = self.canonical(np.array([*order, *rest], dtype=np.int64))
            known.setdefault(form.tobytes(), form)
        return np.array(list(known.values()))

    def canonical(self, parameters: IntArray) -> IntArray:
        """From the answers on the separators: again and again, all features that no other bit precedes, by number."""
        d = self.num_features
        signs = self.answers(parameters, self.separators())[0].astype(np.int64)
        default, bits = signs[0], signs[1 : d + 1]
        pairs = np.zeros((d, d), dtype=np.int64)
        pairs[np.triu_indices(d, 1)] = signs[d + 1 :]
        pairs += pairs.T
        # i comes after j when they differ and the pair has j's bit.
        after = (bits[:, None] != bits) & (pairs == bits)
        order: list[int] = []
        left = set(range(d))
        while left:
            first = sorted(i for i in left if not any(after[i, j] for j in left))
            order += first
            left -= set(first)
        return np.concatenate([np.array(order, dtype=np.int64), bits, [default]])

    def coordinate(self, feature: int) -> IntArray | None:
        """Feature j first with bit 1, all else 0."""
        d = self.num_features
        order = [feature, *(j for j in range(d) if j != feature)]
        return self.canonical(np.array([*order, *(int(j == feature) for j in range(d)), 0], dtype=np.int64))

    def pieces(self, points: IntArray, weights: IntArray) -> Sequence[Piece]:
        """r_plb: place p holds feature l with bit b; a place decides a point that no earlier place fires on."""
        d, program = self.num_features, Program()
        held = program.variables(2 * d * d).reshape(d, d, 2)
        default = int(program.variables(1)[0])
        for k in range(d):
            program.row(held[k].reshape(-1), 1, 1, 1)
            program.row(held[:, k].reshape(-1), 1, 1, 1)
        holds = program.variables(len(points), objective=weights)
        for hold, point, weight in zip(holds, points, weights, strict=True):
            on = np.flatnonzero(point)
            if len(on) == 0:
                program.row([hold, default], [1, -1], 0, 0)
            bit, sign = (1, 1) if weight > 0 else (0, -1)
            for p in range(d if len(on) else 0):
                # Place p fires with `bit` and no earlier one does: then y is that bit.
                here, before = held[p, on, bit], held[:p, on].reshape(-1)
                places = [hold, *here, *before]
                program.row(places, [sign] + [-1] * len(here) + [1] * len(before), low=0 if weight > 0 else -1)
        return [Piece(program, 0, lambda solution: self._read(solution, held, default))]

    def _read(self, solution: IntArray, held: IntArray, default: int) -> IntArray:
        places, features, bits = np.nonzero(solution[held])
        by_feature = np.empty(self.num_features, dtype=np.int64)
        by_feature[features] = bits
        return np.concatenate([features[np.argsort(places)], by_feature, [solution[default]]])

    def describe(self, parameters: IntArray, names: Sequence[str]) -> str:
        """The list, without what comes last and agrees with the default."""
        d = self.num_features
        order, bits, default = list(parameters[:d]), parameters[d : 2 * d], parameters[2 * d]
        while order and bits[order[-1]] == default:
            order.pop()
        return "; ".join([*(f"if {names[j]}: {bits[j]}" for j in order), f"else: {default}"])
