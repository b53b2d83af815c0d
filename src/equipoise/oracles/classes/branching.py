"""Branch and bound for conjunctions and disjunctions: exact, without a solver, for many records and few literals.

A node is a conjunction A, the points that satisfy it, and the features that may still be added. One pass over those
points gives the value of every child. No descendant is better than all its points of negative weight kept and all
others dropped.

Points with at most one zero, which the separators are, are set apart: point "all ones but j" is dropped exactly by
adding j, so their sum is linear in A, and with k literals left at most the k best of them count.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from equipoise.core import FloatArray, IntArray
from equipoise.errors import CapacityError, SettingError
from equipoise.oracles.classes.closed import Closed
from equipoise.oracles.classes.conjunctions import Conjunctions, Disjunctions
from equipoise.oracles.classes.query_class import Minimum, QueryClass, WeightedPoints

__all__ = ["ByBranching"]


@dataclass(frozen=True)
class ByBranching:
    """The best conjunction or disjunction, or one of either sign.

    Attributes:
        max_nodes: Nodes to be expanded; None, the default, for no limit: with one the chance of a certificate depends
            on the data, which RSPM's guarantee does not cover.

    Example:
        >>> points = np.array([[1, 1, 0], [1, 0, 1]])
        >>> found = ByBranching().solve(WeightedPoints.of(Conjunctions(3), points, np.array([-2, 1])))
        >>> found.value, found.proved(gap=0)
        (-2, True)
    """

    name: ClassVar[str] = "branch and bound"

    max_nodes: int | None = None

    def refuses(self, query_class: QueryClass) -> str | None:
        """All classes but conjunctions and disjunctions, and their closures under negation."""
        inner = query_class.inner if isinstance(query_class, Closed) else query_class
        if isinstance(inner, Conjunctions | Disjunctions):
            return None
        return "it knows conjunctions and disjunctions only"

    def solve(self, instance: WeightedPoints) -> Minimum:
        """The best query, or the best found within the limit, with what is then known of the rest."""
        if (reason := self.refuses(instance.query_class)) is not None:
            raise SettingError(f"branch and bound cannot be used: {reason}")
        parameters, bound = self._search(instance.query_class, instance.points, instance.weights)
        return Minimum(parameters, int(instance.values(parameters)[0]), bound)

    def _search(self, query_class: QueryClass, points: IntArray, weights: IntArray) -> tuple[IntArray, int]:
        if isinstance(query_class, Closed):
            plain, plain_bound = self._search(query_class.inner, points, weights)
            negated, negated_bound = self._search(query_class.inner, points, -weights)
            both = np.array([[0, *plain], [1, *negated]], dtype=np.int64)
            values = WeightedPoints(query_class, points, weights).values(both)
            return both[int(np.argmin(values))], min(plain_bound, negated_bound + int(weights.sum()))
        if isinstance(query_class, Disjunctions):  # Σ w q(x) = Σ w - Σ w · conjunction(1 - x)
            inner = Conjunctions(query_class.num_features, query_class.max_literals, query_class.min_literals)
            found, bound = self._search(inner, 1 - points, -weights)
            return found, bound + int(weights.sum())
        assert isinstance(query_class, Conjunctions)
        tree = _Tree.of(query_class, points, weights)
        tree.expand(np.arange(len(tree.weights)), [], list(range(query_class.num_features)), self.max_nodes)
        if tree.value == np.inf:
            raise CapacityError("branch and bound found no query within its limit")
        return tree.best, int(tree.value if tree.open is None else min(tree.value, tree.open))


@dataclass
class _Tree:
    """The search: what it weighs, the best so far, and the least bound of what it left unexpanded."""

    query_class: Conjunctions
    most: int
    bits: FloatArray
    weights: FloatArray
    linear: FloatArray  # weight of the points that only j drops
    constant: float
    best: IntArray
    value: float = np.inf
    open: float | None = None
    nodes: int = field(default=0)

    @classmethod
    def of(cls, query_class: Conjunctions, points: IntArray, weights: IntArray) -> _Tree:
        zeros = (points == 0).sum(axis=1)
        linear = np.zeros(query_class.num_features)
        np.add.at(linear, (points[zeros == 1] == 0).argmax(axis=1), weights[zeros == 1])
        most = query_class.num_features if query_class.max_literals is None else query_class.max_literals
        rest = zeros > 1
        numbers = points[rest].astype(np.float64), weights[rest].astype(np.float64)
        constant = float(weights[zeros == 0].sum() + linear.sum())
        tree = cls(query_class, most, *numbers, linear, constant, np.zeros(query_class.num_features, dtype=np.int64))
        if query_class.min_literals == 0:
            tree.value = float(tree.weights.sum()) + constant
        return tree

    def expand(self, places: IntArray, named: list[int], allowed: list[int], max_nodes: int | None) -> None:
        """Value every child of a node, and expand those that could hold something better, most promising first."""
        if len(named) == self.most or not allowed:
            return
        if max_nodes is not None and self.nodes >= max_nodes:
            bound = self._bound(float(np.minimum(self.weights[places], 0).sum()), named, allowed)
            self.open = bound if self.open is None else min(self.open, bound)
            return
        self.nodes += 1
        bits, weights = self.bits[np.ix_(places, np.array(allowed))], self.weights[places]
        totals, kept = weights @ bits, np.minimum(weights, 0) @ bits
        base = self.constant - float(self.linear[named].sum())
        if len(named) + 1 >= self.query_class.min_literals:
            values = totals + base - self.linear[allowed]
            child = int(np.argmin(values))
            if values[child] < self.value:
                self.value = float(values[child])
                self.best = np.zeros_like(self.best)
                self.best[[*named, allowed[child]]] = 1
        # A child may add the features after it in this order, so that every set is met once.
        order = np.argsort(kept - self.linear[allowed], kind="stable")[::-1].tolist()
        after = [allowed[k] for k in order]
        for position in range(len(order) - 1, -1, -1):
            place, rest = order[position], self._compatible(after[position + 1 :], after[position])
            if self._bound(float(kept[place]), [*named, allowed[place]], rest) < self.value:
                self.expand(places[bits[:, place] == 1], [*named, allowed[place]], rest, max_nodes)

    def _compatible(self, features: list[int], named: int) -> list[int]:
        """Those that a query may name beside another one."""
        columns = self.query_class.columns
        return features if columns is None else [j for j in features if columns[j] != columns[named]]

    def _bound(self, kept: float, named: list[int], allowed: list[int]) -> float:
        gains = np.sort(np.maximum(self.linear[allowed], 0))[::-1][: self.most - len(named)]
        return kept + self.constant - float(self.linear[named].sum()) - float(gains.sum())
