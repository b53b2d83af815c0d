"""The maximum-entropy distribution near noisy answers, for whole marginals at once.

The model is D ∝ exp(Σ λ_i q_i) with λ minimising

    log Σ_x exp(Σ_i λ_i (q_i(x) - m_i))  +  Σ_i b_i λ_i² / 2,

the dual of: minimise KL(D || start) + Σ_i (q_i(D) - m_i)² / (2 b_i), where D ∝ start · exp(Σ λ_i q_i). `SoftDual` is
that problem whatever the records are; here they are all cells of the domain and the start is uniform. One evaluation
then costs a few passes over the domain however many queries are measured, because queries on the same columns share one
tensor, and tensors share their sums (`MarginalTree`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from equipoise.core import Distribution, FloatArray, IntArray, Move
from equipoise.data.distributions import Histogram
from equipoise.data.rules import Rules
from equipoise.data_players.marginal_tree import Columns, MarginalTree
from equipoise.data_players.quasi_newton import minimise
from equipoise.data_players.reach import of_rules, possible_start
from equipoise.queries.query import Query
from equipoise.queries.workload import Workload

__all__ = ["NoiseAware", "SoftDual"]


class SoftDual(ABC):
    """A log-linear model fitted through its dual. Its methods change it in place.

    Attributes:
        coefficients: λ, one a query, in the order in which the queries came.
    """

    def __init__(self) -> None:
        self.coefficients: FloatArray = np.zeros(0)

    @abstractmethod
    def extend(self, workload: Workload, ids: Sequence[int]) -> None:
        """Add queries of a workload, with coefficient 0: the distribution stays as it is."""

    @abstractmethod
    def distribution(self) -> Distribution:
        """The distribution."""

    @abstractmethod
    def _distribution(self, coefficients: FloatArray) -> tuple[FloatArray, float]:
        """Probabilities of all records, and the logarithm of their total before normalising."""

    @abstractmethod
    def _answers(self, probabilities: FloatArray) -> FloatArray:
        """Answers to all queries."""

    def reachable(self, workload: Workload, move: Move) -> Move:
        """The part of a move whose queries a tilt can change."""
        return move

    def answers(self) -> FloatArray:
        """The distribution's answers to all its queries."""
        return self._answers(self._distribution(self.coefficients)[0])

    def start_answers(self) -> FloatArray:
        """The answers of the distribution before any tilt."""
        return self._answers(self._distribution(np.zeros_like(self.coefficients))[0])

    def fit(self, targets: FloatArray, variance: FloatArray, *, tolerance: float, max_evaluations: int) -> None:
        """Move the coefficients to the minimum, from where they are."""

        def dual(coefficients: FloatArray) -> tuple[float, FloatArray]:
            probabilities, log_total = self._distribution(coefficients)
            penalty = variance * coefficients
            gradient = self._answers(probabilities) - targets + penalty
            return log_total + float(np.sum(coefficients * (penalty / 2 - targets))), gradient

        # Along one coordinate the curvature is q(1 - q) + b; the target stands in for q, and is as good as its noise.
        curvature = np.clip(targets, self.start_answers(), 1.0) + variance
        self.coefficients = minimise(
            dual,
            self.coefficients,
            inverse_curvature=1.0 / curvature,
            tolerance=tolerance,
            max_evaluations=max_evaluations,
        )


class NoiseAware(SoftDual):
    """A soft fit over all possible cells of a domain, by marginals.

    Attributes:
        shape: Number of values of each column.
    """

    def __init__(self, shape: tuple[int, ...], rules: Rules | None = None) -> None:
        super().__init__()
        self.shape = shape
        self._reach = of_rules(shape, rules)
        self._start = possible_start(shape, rules)
        self._tree = MarginalTree(shape, ())
        self._positions: dict[Columns, list[int]] = {}
        self._cells: dict[Columns, list[IntArray]] = {}
        self._incidence: dict[Columns, sparse.csr_array] = {}

    def include(self, queries: Sequence[Query]) -> None:
        """Add queries, with coefficient 0: the distribution stays as it is."""
        for position, query in enumerate(queries, start=len(self.coefficients)):
            self._positions.setdefault(query.columns, []).append(position)
            self._cells.setdefault(query.columns, []).append(_cells(query, self.shape))
        for columns in {query.columns for query in queries}:
            self._incidence[columns] = _incidence(self._cells[columns], [self.shape[c] for c in columns])
        self.coefficients = np.concatenate([self.coefficients, np.zeros(len(queries))])
        self._tree = MarginalTree(self.shape, self._positions)

    def extend(self, workload: Workload, ids: Sequence[int]) -> None:
        """See `SoftDual.extend`."""
        self.include([workload.query(i) for i in ids])

    def reachable(self, workload: Workload, move: Move) -> Move:
        """See `SoftDual.reachable`."""
        return move if self._reach is None else self._reach.part(workload, move)

    def distribution(self) -> Histogram:
        """See `SoftDual.distribution`."""
        return Histogram(self._distribution(self.coefficients)[0].reshape(self.shape))

    def _distribution(self, coefficients: FloatArray) -> tuple[FloatArray, float]:
        """Probabilities of all cells, and the logarithm of their total before normalising."""
        tensors = {
            columns: self._incidence[columns].T @ coefficients[positions]
            for columns, positions in self._positions.items()
        }
        weights = self._tree.lift(tensors)
        if self._start is not None:
            weights += self._start
        largest = float(weights.max())
        weights -= largest
        np.exp(weights, out=weights)
        total = float(weights.sum())
        weights /= total
        return weights, largest + math.log(total)

    def _answers(self, probabilities: FloatArray) -> FloatArray:
        sums = self._tree.sums(probabilities)
        answers = np.empty(len(self.coefficients))
        for columns, positions in self._positions.items():
            answers[positions] = self._incidence[columns] @ sums[columns]
        return answers


def _cells(query: Query, shape: tuple[int, ...]) -> IntArray:
    """Flat positions, in the marginal of its columns, of the cells that a query accepts."""
    cells = np.zeros(1, dtype=np.int64)
    for column, mask in zip(query.columns, query.masks, strict=True):
        cells = (cells[:, None] * shape[column] + np.flatnonzero(mask)).reshape(-1)
    return cells


def _incidence(cells: Sequence[IntArray], sizes: Sequence[int]) -> sparse.csr_array:
    """Which cells of a marginal each query accepts: a 0/1 matrix, queries by cells."""
    starts = np.concatenate([[0], np.cumsum([len(accepted) for accepted in cells])])
    columns = np.concatenate(cells)
    return sparse.csr_array((np.ones(len(columns)), columns, starts), shape=(len(cells), math.prod(sizes)))
