"""The model that multiplicative weights and entropy projection share: D(x) ∝ exp(Σ λ_i q_i(x)).

Both players start from the uniform distribution and only ever multiply the weight of the records that satisfy a
measured query, so what they play is the log-linear model of the measured queries, and its coefficients λ say it
all. The weights of the whole domain are kept beside them, because that makes a step cost no more than the cells of
one query; `rebuild` recomputes them from λ in log space, so that neither rounding errors nor underflow pile up.

`Tilted` is what does not depend on where the records are: all cells of the domain here, the rows of a public table in
`public_support`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from equipoise.core import Distribution, FloatArray, IntArray, Move
from equipoise.data.distributions import Histogram
from equipoise.data.rules import Rules
from equipoise.data_players.reach import of_rules, possible_start
from equipoise.data_players.regions import Regions, add_to, region_of, scale, sum_over
from equipoise.queries.query import Query
from equipoise.queries.workload import Workload

__all__ = ["LogLinear", "Tilted", "tilt"]


class Tilted(ABC):
    """A distribution over listed records, tilted by queries. Its methods change it in place.

    Attributes:
        regions: The positions that each query accepts, in the order the queries came.
        coefficients: λ, one a query.
        weights: Unnormalised probabilities of all positions, flat.
        total: Their sum, up to rounding errors since the last `rebuild`; an array of one number, so that compiled
            loops can change it.
        log_start: Logarithm of the weights before any tilt, up to a constant; None where they are all equal.
    """

    def __init__(self, weights: FloatArray, log_start: NDArray[np.floating[Any]] | None = None) -> None:
        self.regions = Regions.empty()
        self.coefficients: FloatArray = np.zeros(0)
        self.weights = weights
        self.total: FloatArray = np.array([weights.sum()])
        self.log_start = log_start

    @abstractmethod
    def extend(self, workload: Workload, ids: Sequence[int]) -> None:
        """Add queries of a workload, with coefficient 0: the distribution stays as it is."""

    @abstractmethod
    def distribution(self, weights: FloatArray | None = None) -> Distribution:
        """The distribution, or that of other weights; a copy, which later changes of the model leave alone."""

    def reachable(self, workload: Workload, move: Move) -> Move:
        """The part of a move whose queries a tilt can change."""
        return move

    @property
    def num_queries(self) -> int:
        """How many queries tilt the model."""
        return len(self.coefficients)

    def answers(self) -> FloatArray:
        """The distribution's answers to all its queries."""
        sums: FloatArray = _sums(self.weights, *self.regions)
        return sums / float(self.total[0])

    def answer(self, i: int) -> float:
        """The distribution's answer to query i."""
        return float(_sum(self.weights, i, *self.regions) / self.total[0])

    def tilt(self, i: int, step: float) -> None:
        """Multiply the probability of the cells of query i by exp(step), and normalise."""
        self.coefficients[i] += step
        tilt(self.weights, self.total, i, step, *self.regions)

    def rebuild(self) -> None:
        """Recompute the weights from the coefficients."""
        _log_weights(self.weights, self.coefficients, *self.regions)
        if self.log_start is not None:
            self.weights += self.log_start
        self.weights -= self.weights.max()
        np.exp(self.weights, out=self.weights)
        self.weights /= self.weights.sum()
        self.total[0] = self.weights.sum()


class LogLinear(Tilted):
    """A tilted distribution over all possible cells of a domain, uniform at first.

    Attributes:
        shape: Number of values of each column.
    """

    def __init__(self, shape: tuple[int, ...], rules: Rules | None = None) -> None:
        start = possible_start(shape, rules)
        num_cells = math.prod(shape)
        if start is None:
            super().__init__(np.full(num_cells, 1.0 / num_cells))
        else:
            super().__init__(np.where(start == 0.0, 1.0 / np.count_nonzero(start == 0.0), 0.0), start)
        self.shape = shape
        self._reach = of_rules(shape, rules)

    def reachable(self, workload: Workload, move: Move) -> Move:
        """See `Tilted.reachable`."""
        return move if self._reach is None else self._reach.part(workload, move)

    def include(self, queries: Sequence[Query]) -> None:
        """Add queries, with coefficient 0: the distribution stays as it is."""
        self.regions = self.regions.extended([region_of(query, self.shape) for query in queries])
        self.coefficients = np.concatenate([self.coefficients, np.zeros(len(queries))])

    def extend(self, workload: Workload, ids: Sequence[int]) -> None:
        """See `Tilted.extend`."""
        self.include([workload.query(i) for i in ids])

    def distribution(self, weights: FloatArray | None = None) -> Histogram:
        """See `Tilted.distribution`."""
        chosen = self.weights if weights is None else weights
        return Histogram((chosen / chosen.sum()).reshape(self.shape))


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _sum(weights: FloatArray, i: int, bases: IntArray, starts: IntArray, axes: IntArray, listed: IntArray) -> float:
    return sum_over(weights, bases[i], axes[starts[i] : starts[i + 1]], listed)  # type: ignore[no-any-return]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _sums(weights: FloatArray, bases: IntArray, starts: IntArray, axes: IntArray, listed: IntArray) -> FloatArray:
    sums = np.empty(len(bases))
    for i in range(len(bases)):
        sums[i] = sum_over(weights, bases[i], axes[starts[i] : starts[i + 1]], listed)
    return sums


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def tilt(
    weights: FloatArray,
    total: FloatArray,
    i: int,
    step: float,
    bases: IntArray,
    starts: IntArray,
    axes: IntArray,
    listed: IntArray,
) -> None:
    """Multiply the weights of query i's cells by exp(step) and keep the total right; for compiled loops."""
    region = axes[starts[i] : starts[i + 1]]
    total[0] += sum_over(weights, bases[i], region, listed) * math.expm1(step)
    scale(weights, bases[i], region, listed, math.exp(step))
    if not 1e-100 < total[0] < 1e100:
        weights /= total[0]
        total[0] = weights.sum()


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _log_weights(
    weights: FloatArray,
    coefficients: FloatArray,
    bases: IntArray,
    starts: IntArray,
    axes: IntArray,
    listed: IntArray,
) -> None:
    weights[:] = 0.0
    for i in range(len(coefficients)):
        add_to(weights, bases[i], axes[starts[i] : starts[i + 1]], listed, coefficients[i])
