"""Tables small enough to enumerate everything, with neighbours that show a loss of privacy where there is one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.core import IntArray
from equipoise.data.domain import Domain
from equipoise.data.public import PublicRows
from equipoise.privacy import Private
from equipoise.queries.workload import Group, Workload

__all__ = ["TinyGame", "public_rows", "standard"]


@dataclass(frozen=True)
class TinyGame:
    """A table with a workload.

    Attributes:
        workload: The queries.
        rows: The records, shape (number of columns, number of records).
    """

    workload: Workload
    rows: NDArray[np.int64]

    @property
    def num_rows(self) -> int:
        """Number of records."""
        return int(self.rows.shape[1])

    def counts(self, rows: NDArray[np.int64] | None = None) -> IntArray:
        """The workload's true counts."""
        return self.workload.count_rows((self.rows if rows is None else rows).astype(np.uint8))

    def truth(self, rows: NDArray[np.int64] | None = None) -> Private:
        """The same, private."""
        return Private(self.counts(rows), self.workload)

    def neighbour(self, record: tuple[int, ...], position: int = 0) -> NDArray[np.int64]:
        """The rows with one record replaced."""
        rows = self.rows.copy()
        rows[:, position] = record
        return rows


def standard() -> TinyGame:
    """Two columns of two and three values, twenty records, half of them (0, 0) and half (1, 1); all their marginals.

    Replacing a (0, 0) by a (1, 1) moves cells of every marginal, in both directions at once: as much as a record can.
    """
    domain = Domain(("a", "b"), (2, 3))
    groups = (Group((0,), (2,)), Group((1,), (3,)), Group((0, 1), (2, 3)))
    rows = np.repeat(np.array([[0, 1], [0, 1]]), 10, axis=1)
    return TinyGame(Workload(domain, groups), rows)


def public_rows(number: int = 1) -> tuple[PublicRows, ...]:
    """Public tables for the standard game: every record once, and ever more of the first."""
    codes = np.stack(np.meshgrid(range(2), range(3), indexing="ij")).reshape(2, -1).astype(np.uint8)
    return tuple(
        PublicRows(codes, np.array([1 + 3 * k, 1, 1, 1, 1, 1], dtype=np.int64), (0, 1), f"public {k}")
        for k in range(number)
    )
