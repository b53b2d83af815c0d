"""The oracle by HiGHS, as it comes with SciPy: exact, slow, and always installed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from scipy import optimize, sparse

from equipoise.core import FloatArray, IntArray
from equipoise.oracles.instance import Instance
from equipoise.oracles.oracle import Solutions
from equipoise.oracles.reduction import Reduction, reduce

__all__ = ["Highs"]

GAP = 1e-6
"""HiGHS stops at this absolute gap, and counts numbers this close to whole as whole."""


@dataclass(frozen=True)
class Highs:
    """Exact best records by mixed integer programming, one copy after the other.

    Attributes:
        max_nodes: Nodes for one copy.
    """

    name: ClassVar[str] = "highs"

    max_nodes: int = 100_000

    def refuses(self, instance: Instance) -> str | None:
        """Never: it is as slow as the instance is large."""
        return None

    def solve(self, instance: Instance, rng: np.random.Generator) -> Solutions:
        """The best record of each copy, or the best found within the limit."""
        reduction = reduce(instance, rng)
        chosen = np.empty((instance.num_copies, len(reduction.columns)), dtype=np.int64)
        bounds, proved = np.empty(instance.num_copies), np.empty(instance.num_copies, dtype=np.bool_)
        for b in range(instance.num_copies):
            bounds[b], proved[b] = self._solve_copy(reduction, b, chosen[b])
        return reduction.solutions(chosen, bounds, proved)

    def _solve_copy(self, reduction: Reduction, b: int, record: IntArray) -> tuple[float, bool]:
        """Writes the best record; returns an upper bound and whether HiGHS finished."""
        tilts, starts = reduction.tilts[b], reduction.starts
        weights = reduction.weights[min(b, len(reduction.weights) - 1)]
        record[:] = [s + int(np.argmax(tilts[s:e])) for s, e in pairwise(starts)]
        if len(weights) == 0:
            return float(tilts[record].sum()), True
        found: Any = optimize.milp(
            -np.concatenate([tilts, weights]),
            integrality=np.concatenate([np.ones(len(tilts)), np.zeros(len(weights))]),
            bounds=optimize.Bounds(0.0, 1.0),
            constraints=_constraints(starts, reduction.literals, weights),
            options={"node_limit": self.max_nodes, "mip_rel_gap": 0.0},
        )
        highest = float(np.maximum(weights, 0.0).sum() + np.maximum.reduceat(tilts, starts[:-1]).sum())
        if found.x is not None:
            record[:] = [s + int(np.argmax(found.x[s:e])) for s, e in pairwise(starts)]
        if found.mip_dual_bound is not None and np.isfinite(found.mip_dual_bound):
            highest = min(highest, -float(found.mip_dual_bound) + GAP)
        return highest, found.status == 0


def _constraints(starts: IntArray, literals: IntArray, weights: FloatArray) -> list[optimize.LinearConstraint]:
    """One value a column; y <= x for each literal of a positive conjunction, Σ x - y <= r - 1 for a negative one.

    The variables y of the conjunctions come after the values x, and need not be whole: their weights push them there.
    """
    num_values, num_columns = int(starts[-1]), len(starts) - 1
    num_variables = num_values + len(weights)
    owner = np.repeat(np.arange(num_columns), np.diff(starts))
    blocks = _matrix(owner, np.arange(num_values), np.ones(num_values), (num_columns, num_variables))
    conjunction, place = np.nonzero((literals >= 0) & (weights > 0.0)[:, None])
    rows = np.arange(len(conjunction))
    ones = np.ones(len(rows))
    below = _matrix(
        np.concatenate([rows, rows]),
        np.concatenate([num_values + conjunction, literals[conjunction, place]]),
        np.concatenate([ones, -ones]),
        (len(rows), num_variables),
    )
    negative = np.flatnonzero(weights < 0.0)
    row, place = np.nonzero(literals[negative] >= 0)
    above = _matrix(
        np.concatenate([row, np.arange(len(negative))]),
        np.concatenate([literals[negative][row, place], num_values + negative]),
        np.concatenate([np.ones(len(row)), -np.ones(len(negative))]),
        (len(negative), num_variables),
    )
    width = (literals[negative] >= 0).sum(axis=1)
    limits = [(blocks, 1.0, 1.0), (below, -np.inf, 0.0), (above, -np.inf, width - 1.0)]
    return [optimize.LinearConstraint(matrix, low, high) for matrix, low, high in limits if matrix.shape[0]]


def _matrix(rows: IntArray, columns: IntArray, entries: FloatArray, shape: tuple[int, int]) -> Any:
    return sparse.csr_array((entries, (rows, columns)), shape=shape)
