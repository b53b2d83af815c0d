"""A mixture of products of merged columns: the data player where noise is too coarse to tell values apart.

The first move says which values are counted together (`queries.merging`), and how likely each is within its part. A
mixture is then fitted to the parts, in the first move too, as `mixture` does to values; and what is played has, in
every component, the values of a part as they are in the column as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from equipoise.core import Move
from equipoise.data.distributions import MixtureOfProducts
from equipoise.data_players.mixture import Mixed, Mixture
from equipoise.queries.merging import Merging, merging_of, moved
from equipoise.queries.workload import Workload

__all__ = ["MergedMixture", "MergedMoves"]


class MergedMoves(NamedTuple):
    """What the first move says, and the mixture of the merged columns; None before there is one."""

    merging: Merging | None = None
    mixed: Mixed | None = None


@dataclass(frozen=True)
class MergedMixture:
    """Plays a mixture of products of merged columns, with the values of each part as the first move says.

    Attributes:
        asked: What the first move refers to: single columns among others. Later moves refer to the marginals of
            `column_sets` of the merged columns, which come after.
        column_sets: See `query_players.merged`.
        most: Parts of a column at most.
        player: Fits the merged columns; its workload is replaced by theirs.
    """

    asked: Workload
    column_sets: tuple[tuple[int, ...], ...]
    most: int
    player: Mixture

    def init(self, rng: np.random.Generator) -> MergedMoves:
        """The uniform distribution."""
        return MergedMoves()

    def step(self, rng: np.random.Generator, state: MergedMoves, moves: Sequence[Move]) -> MergedMoves:
        """Merge, after the first move; then fit."""
        merging = state.merging or merging_of(self.asked, moves[0], self.player.num_rows, self.most)
        if len(moves) < 2:
            return MergedMoves(merging)
        player = self._player(merging)
        mixed = player.init(rng) if state.mixed is None else state.mixed
        later = [moved(move, -self.asked.num_queries) for move in moves[1:]]
        later[0] = self._with_first(merging, moves[0], later[0])
        return MergedMoves(merging, player.step(rng, mixed, later))

    def _player(self, merging: Merging) -> Mixture:
        return replace(self.player, workload=merging.workload(self.column_sets))

    def _with_first(self, merging: Merging, first: Move, second: Move) -> Move:
        """The second move, and with it the first one's counts summed over parts; their noise adds up."""
        workload = merging.workload(self.column_sets)
        starts = dict(zip(self.column_sets, workload.starts.tolist(), strict=False))
        owners = self.asked.group_of(first.ids)
        noise = np.broadcast_to(np.asarray(first.stddev, dtype=np.float64), first.ids.shape)
        assert first.values is not None
        assert second.values is not None
        ids, values, stddevs = [second.ids], [second.values], [np.broadcast_to(second.stddev, second.ids.shape)]
        for owner in np.unique(owners):
            columns, here = self.asked.groups[owner].columns, owners == owner
            part = merging.parts[columns[0]]
            counts = np.bincount(part, first.values[here]).astype(np.int64)
            ids.append(starts[columns] + np.arange(len(counts)))
            values.append(counts)
            stddevs.append(np.sqrt(np.bincount(part, noise[here] ** 2)))
        every = np.concatenate(ids)
        return Move(every, np.zeros_like(every), np.concatenate(values), np.concatenate(stddevs))

    def play(self, state: MergedMoves) -> MixtureOfProducts:
        """The fitted mixture, of the columns as they are; the product of single columns before there is one."""
        merging = state.merging
        if merging is None:
            sizes = self.asked.domain.sizes
            return MixtureOfProducts(tuple(np.full((1, size), 1.0 / size) for size in sizes), np.ones(1))
        if state.mixed is None:
            return MixtureOfProducts(tuple(known[None, :] for known in merging.known), np.ones(1))
        fitted = self._player(merging).play(state.mixed)
        factors = zip(fitted.factors, merging.parts, merging.within, strict=True)
        return MixtureOfProducts(tuple(factor[:, part] * within for factor, part, within in factors), fitted.weights)
