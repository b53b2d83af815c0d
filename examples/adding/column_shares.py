"""A toy data player: every column by itself, from the marginals measured so far.

It is here to be copied (docs/adding.md). A real one belongs in `src/equipoise/data_players/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.core import Distribution, FloatArray, Move
from equipoise.data.distributions import MixtureOfProducts
from equipoise.queries.workload import Workload

__all__ = ["ColumnShares"]

State = list[FloatArray]
"""The shares of each column's values."""


@dataclass(frozen=True)
class ColumnShares:
    """Plays independent columns, each with the mean of what the measured marginals say of it.

    Attributes:
        workload: The queries that moves refer to.
        num_rows: n; moves carry counts out of n.
    """

    workload: Workload
    num_rows: int

    def init(self, rng: np.random.Generator) -> State:
        """Uniform columns: nothing is known yet."""
        return [np.full(size, 1 / size) for size in self.workload.domain.sizes]

    def step(self, rng: np.random.Generator, state: State, moves: Sequence[Move]) -> State:
        """The mean over all marginals measured so far, of all moves: a move may be a second look at the same one."""
        sizes = self.workload.domain.sizes
        sums, seen = [np.zeros(size) for size in sizes], np.zeros(len(sizes))
        for move in moves:
            assert move.values is not None
            counts = dict(zip(move.ids.tolist(), move.values.tolist(), strict=True))
            for group, start in zip(self.workload.groups, self.workload.starts, strict=False):
                ids = range(start, start + group.num_queries)
                if group.masks is None and all(i in counts for i in ids):
                    cells = np.array([counts[i] for i in ids], dtype=np.float64).reshape(group.shape)
                    for axis, column in enumerate(group.columns):
                        sums[column] += np.moveaxis(cells, axis, 0).reshape(sizes[column], -1).sum(axis=1)
                        seen[column] += 1
        return [_shares(total, state[column]) if seen[column] else state[column] for column, total in enumerate(sums)]

    def play(self, state: State) -> Distribution:
        """The product of the columns."""
        return MixtureOfProducts(tuple(shares[np.newaxis] for shares in state), weights=np.ones(1))


def _shares(counts: FloatArray, otherwise: FloatArray) -> FloatArray:
    """Noisy counts as shares: none negative, summing to one."""
    positive = np.maximum(counts, 0.0)
    total = positive.sum()
    return positive / total if total > 0 else otherwise
