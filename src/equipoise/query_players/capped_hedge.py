"""The query player of rounds with analysts: multiplicative weights with capped probabilities (P7)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equipoise.core import FloatArray, IntArray
from equipoise.privacy.capped import CappedDraws
from equipoise.queries.query import Query

__all__ = ["CappedHedge", "Columns"]


class Columns:
    """Many queries, ready to be answered on single records."""

    def __init__(self, queries: Sequence[Query], sizes: tuple[int, ...]) -> None:
        self._masks = [np.ones((size, len(queries)), dtype=np.bool_) for size in sizes]
        for place, query in enumerate(queries):
            for column, mask in query.conditions.items():
                self._masks[column][:, place] = mask

    def on(self, record: Sequence[int]) -> FloatArray:
        """Every query's answer on one record: 0 or 1."""
        found = self._masks[0][record[0]]
        for masks, code in zip(self._masks[1:], record[1:], strict=True):
            found = found & masks[code]
        return np.asarray(found, dtype=np.float64)


class CappedHedge:
    """Draws queries by how wrong the records were, log Q(q) = (eta/2) Σ_j (q(P) - q(x_j)): with a plus sign.

    The update printed in hsu2013differential, Algorithms 3 and 4, has a minus, and diverges (E-004-2).
    """

    def __init__(self, draws: CappedDraws, queries: Sequence[Query], sizes: tuple[int, ...]) -> None:
        self._draws, self._columns, self._num_queries = draws, Columns(queries, sizes), len(queries)
        self.sums = np.zeros(len(queries))
        self.num_updates = 0

    def draw(self) -> tuple[int, int] | None:
        """A query and +1, or -1 for its negation; None for an action that is always right."""
        place = self._draws.draw(self.sums, self.num_updates)
        if place is None:
            return None
        return (place, 1) if place < self._num_queries else (place - self._num_queries, -1)

    def update(self, record: IntArray) -> None:
        """Take in the record that was played."""
        self.sums = self.sums + self._columns.on(record.tolist())
        self.num_updates += 1
