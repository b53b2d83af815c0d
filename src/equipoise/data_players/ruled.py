"""Any data player, held to the schema's rules.

Players of the whole domain start without the impossible cells (`reach`). The others are told with the first move that
nobody is there, as if it had been measured at no cost, and noisy counts of impossible cells become 0. What they play is
then conditioned on the rules, exactly (`data.conditioning`), and little is left for that to change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.core import Concludes, Conclusion, DataPlayer, Distribution, IntArray, Move
from equipoise.data.conditioning import condition, uniform
from equipoise.data.distributions import Histogram, MixtureOfProducts, WeightedRows, is_finite
from equipoise.data.rules import Rules
from equipoise.data_players.entropy_projection import EntropyProjection
from equipoise.data_players.generator import Generator
from equipoise.data_players.mixture import Mixture
from equipoise.data_players.multiplicative_weights import MultiplicativeWeights
from equipoise.data_players.pretrained import Pretrained
from equipoise.data_players.relaxed_rows import RelaxedPlayer
from equipoise.queries.workload import Group, Workload

__all__ = ["Ruled", "obeying"]

TRUST_OF_CELLS, TRUST_OF_BOXES = 1.0, 0.3
"""Standard deviation that the rules claim to be known with, relative to the first move's most precise measurement. More
trust costs accuracy on everything else: a mixture of products then takes many more sweeps, a network gets stuck."""


def obeying(player: DataPlayer[Any], rules: Rules) -> DataPlayer[Any]:
    """The player that knows and obeys the rules; itself when there are none. Public rows must obey them already."""
    if not rules:
        return player
    if isinstance(player, MultiplicativeWeights | EntropyProjection):
        return player if player.public is not None else replace(player, rules=rules)
    return Ruled.of(player, rules)


@dataclass(frozen=True)
class Ruled:
    """A player that learns the rules with the first move, and plays nothing impossible.

    Attributes:
        player: The player, on a workload that ends with the rules' queries if it learns from measurements.
        rules: The rules.
        ids: Which of the added queries are about impossible records.
        nobody: Which of all queries are.
        trust: See `TRUST_OF_CELLS`.
    """

    player: DataPlayer[Any]
    rules: Rules
    ids: IntArray
    nobody: NDArray[np.bool_]
    trust: float

    @classmethod
    def of(cls, player: DataPlayer[Any], rules: Rules) -> Ruled:
        """Tell a player of the rules, if it learns from measurements; of others, only what is played changes."""
        if not isinstance(player, Mixture | Generator | RelaxedPlayer | Pretrained):
            return cls(player, rules, np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_), 1.0)
        workload = player.generator.workload if isinstance(player, Pretrained) else player.workload
        cells = isinstance(player, Mixture)
        added, ids = _cells(rules) if cells else _boxes(rules)
        wider = Workload(workload.domain, workload.groups + added)
        trust = TRUST_OF_CELLS if cells else TRUST_OF_BOXES
        return cls(_widened(player, wider), rules, workload.num_queries + ids, _nobody(rules, wider), trust)

    def init(self, rng: np.random.Generator) -> Any:
        """See `DataPlayer.init`."""
        return self.player.init(rng)

    def step(self, rng: np.random.Generator, state: Any, moves: Sequence[Move]) -> Any:
        """See `DataPlayer.step`; the first measurement tells the rules, too."""
        corrected = [self._corrected(move) for move in moves]
        at = next((place for place, move in enumerate(moves) if move.values is not None), None)
        if at is not None and len(self.ids) > 0:
            corrected[at] = self._told(corrected[at])
        return self.player.step(rng, state, corrected)

    def _told(self, move: Move) -> Move:
        """A move that also says that nobody is where the rules' queries look."""
        assert move.values is not None
        zeros = np.zeros(len(self.ids), dtype=np.int64)
        stddevs = np.broadcast_to(move.stddev, len(move.ids))
        return Move(
            np.concatenate([self.ids, move.ids]),
            np.concatenate([zeros, move.signs]),
            np.concatenate([zeros, move.values]),
            np.concatenate([np.full(len(zeros), self.trust * float(stddevs.min())), stddevs]),
        )

    def _corrected(self, move: Move) -> Move:
        """Nobody is where nobody can be, whatever the noise says."""
        if move.values is None or len(self.ids) == 0:
            return move
        return move._replace(values=np.where(self.nobody[move.ids], 0, move.values))

    def play(self, state: Any) -> Distribution:
        """What the player plays, given the rules; relaxed rows, which are no distribution, as they are."""
        return self._given(self.player.play(state))

    def conclude(self, state: Any) -> Conclusion:
        """What the player concludes with, given the rules."""
        if not isinstance(self.player, Concludes):
            return Conclusion(self.play(state))
        end = self.player.conclude(state)
        return Conclusion(self._given(end.distribution), end.notes)

    def _given(self, played: Distribution) -> Distribution:
        if not isinstance(played, Histogram | WeightedRows | MixtureOfProducts) or not is_finite(played):
            return played
        given = condition(played, self.rules, within=True) or condition(uniform(played.shape), self.rules)
        assert given is not None  # A schema whose rules allow nothing is refused.
        return given


def _widened(player: Any, workload: Workload) -> Any:
    """The player on a wider workload."""
    if isinstance(player, Pretrained):
        return replace(player, generator=_widened(player.generator, workload))
    return replace(player, workload=workload)


def _nobody(rules: Rules, workload: Workload) -> NDArray[np.bool_]:
    """Which queries are about impossible records; of those with masks, no more is known than that they may be."""
    parts = [
        rules.impossible_in(group.columns).reshape(-1)
        if group.masks is None
        else np.zeros(group.num_queries, dtype=np.bool_)
        for group in workload.groups
    ]
    return np.concatenate(parts)


def _cells(rules: Rules) -> tuple[tuple[Group, ...], IntArray]:
    """The rules as cells of marginals, which is what a mixture of products is fitted to."""
    groups, ids, start = [], [], 0
    for columns in sorted({tuple(sorted(box)) for box in rules.boxes}):
        groups.append(Group(columns, tuple(rules.shape[c] for c in columns)))
        ids.append(start + np.flatnonzero(rules.impossible_in(columns)))
        start += groups[-1].num_queries
    return tuple(groups), np.concatenate(ids)


def _boxes(rules: Rules) -> tuple[tuple[Group, ...], IntArray]:
    """The rules as one query each, so that they do not outnumber what was measured."""
    groups = []
    for box in rules.boxes:
        columns = tuple(sorted(box))
        masks = tuple(box[c][None, :] for c in columns)
        groups.append(Group(columns, tuple(rules.shape[c] for c in columns), masks))
    return tuple(groups), np.arange(len(groups))
