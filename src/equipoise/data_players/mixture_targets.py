"""What a mixture is fitted to: noisy marginals, their cells combined by inverse variance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from equipoise.core import FloatArray, IntArray, Move
from equipoise.data_players.mixture_block import Columns
from equipoise.errors import SettingError
from equipoise.queries.query import Query
from equipoise.queries.workload import Workload

__all__ = ["Targets"]

EXACT = 0.1
"""Standard deviation, in counts, of an answer without noise (tests and demonstrations): far below one record."""


@dataclass
class Targets:
    """Noisy shares of the cells of marginals, and how precise they are. `absorb` changes it in place.

    Attributes:
        workload: The queries that moves refer to.
        num_rows: n, which turns counts into shares.
        num_moves: How many moves have been absorbed.
        precisions: For each marginal, the sum over measurements of 1/variance for each cell; 0 where not measured.
        weighted: The sum of measured share / variance.
    """

    workload: Workload
    num_rows: int
    num_moves: int = 0
    precisions: dict[Columns, FloatArray] = field(default_factory=dict)
    weighted: dict[Columns, FloatArray] = field(default_factory=dict)

    def absorb(self, move: Move) -> None:
        """Take in one move.

        Raises:
            SettingError: a query is not a cell of a marginal.
        """
        if move.values is None:
            raise ValueError("this data player learns from measured answers; the move has none")
        stddevs = np.maximum(np.broadcast_to(np.asarray(move.stddev, dtype=np.float64), move.ids.shape), EXACT)
        precisions = (self.num_rows / stddevs) ** 2
        shares = np.asarray(move.values, dtype=np.float64) / self.num_rows
        for columns, cells, chosen in self._cells(np.asarray(move.ids, dtype=np.int64)):
            if columns not in self.precisions:
                shape = tuple(self.workload.domain.sizes[c] for c in columns)
                self.precisions[columns] = np.zeros(shape)
                self.weighted[columns] = np.zeros(shape)
            np.add.at(self.precisions[columns].reshape(-1), cells, precisions[chosen])
            np.add.at(self.weighted[columns].reshape(-1), cells, precisions[chosen] * shares[chosen])
        self.num_moves += 1

    def shares(self, columns: Columns) -> FloatArray:
        """The best estimate of each cell of a marginal; 0 where nothing was measured."""
        precision = self.precisions[columns]
        return np.divide(self.weighted[columns], precision, out=np.zeros_like(precision), where=precision > 0)

    def _cells(self, ids: IntArray) -> Iterator[tuple[Columns, IntArray, IntArray]]:
        """The marginals that the queries belong to: columns, flat cells, and which of the ids they answer."""
        owners = self.workload.group_of(ids)
        for owner in np.unique(owners):
            group = self.workload.groups[owner]
            chosen = np.flatnonzero(owners == owner)
            positions = ids[chosen] - self.workload.starts[owner]
            if group.masks is None:
                yield group.columns, positions, chosen
                continue
            for position, which in zip(positions, chosen, strict=True):
                columns, cell = _single_cell(group.query(int(position)))
                yield columns, np.array([cell]), np.array([which])


def _single_cell(query: Query) -> tuple[Columns, int]:
    """The one cell that a query accepts, of the marginal of those columns that it restricts."""
    restricted = [(c, mask) for c, mask in zip(query.columns, query.masks, strict=True) if not mask.all()]
    if not restricted or any(mask.sum() != 1 for _, mask in restricted):
        raise SettingError(
            f"the mixture is fitted to cells of marginals, and a query on columns {query.columns} accepts several"
            " values of a column: measure the whole marginal of these columns instead, from which the query follows"
        )
    cell = 0
    for _, mask in restricted:
        cell = cell * len(mask) + int(np.argmax(mask))
    return tuple(c for c, _ in restricted), cell
