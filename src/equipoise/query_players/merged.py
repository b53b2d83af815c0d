"""Measure single columns; merge the values that they say are rare; go on with what is left of the columns.

The first move measures columns as they are. It is public, and says which values to count together
(`queries.merging`), and which answers are least sure: the second may measure those (`measure_unsure`). Every later move
is another query player's. All but the first are about the counts of the merged columns, whose queries come after those
that were asked at first, so a move's ids say which are meant: `wider` has them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from equipoise.core import Move
from equipoise.privacy.gate import Gate
from equipoise.privacy.private import Private
from equipoise.queries.merging import Merging, merging_of, moved
from equipoise.queries.played import Played
from equipoise.queries.workload import Workload
from equipoise.query_players.measure_static import MeasureStatic
from equipoise.query_players.measure_unsure import MeasureUnsure
from equipoise.query_players.top_up import Topping, TopUp

__all__ = ["Merged", "MergedState"]


class MergedState(NamedTuple):
    """The truth; after one move the merging, with the merged counts; when it is its turn the other player's state."""

    truth: Private
    merging: Merging | None = None
    merged: Private | None = None
    later: Topping | None = None


@dataclass(frozen=True)
class Merged:
    """Measure single columns, then what is least sure; then hand the merged columns to another player.

    Attributes:
        asked: What is counted: cells of marginals.
        num_rows: Records in the private table (public).
        most: Parts of a column at most.
        first: Who makes the first move, on `asked`.
        unsure: Who makes the second, on the same marginals as all later ones; None: the others begin at once.
        later: Who makes the others, on the marginals of `column_sets` of the merged columns.
        column_sets: Marginals that `asked` has, in the order of the later player's groups.
    """

    asked: Workload
    num_rows: int
    most: int
    first: MeasureStatic
    unsure: MeasureUnsure | None
    later: TopUp
    column_sets: tuple[tuple[int, ...], ...]

    def init(self, truth: Private) -> MergedState:
        """Nothing is measured."""
        return MergedState(truth)

    def step(self, gate: Gate, state: MergedState, played: Played) -> tuple[MergedState, Move]:
        """The next move; each is one transaction of the gate."""
        merging, merged, by = state.merging, state.merged, self.asked.num_queries
        if merging is None or merged is None:
            _, move = self.first.step(gate, state.truth, played)
        elif state.later is None:
            assert self.unsure is not None
            unsure = self.unsure
            move = gate.play(lambda turn: moved(unsure.draw(turn, merged, merging, self.column_sets), by))
        else:
            later, seen = state.later, self._played(state, played)
            move = gate.play(lambda turn: moved(self.later.draw(turn, later, seen), by))
        return self.recall(state, played, move), move

    def recall(self, state: MergedState, played: Played, move: Move) -> MergedState:
        """The state after a recorded move."""
        if state.later is not None:
            back = moved(move, -self.asked.num_queries)
            return state._replace(later=self.later.recall(state.later, self._played(state, played), back))
        if state.merged is not None:
            return state._replace(later=self.later.init(state.merged))
        merging = merging_of(self.asked, move, self.num_rows, self.most)
        starts = dict(zip((group.columns for group in self.asked.groups), self.asked.starts.tolist(), strict=False))
        merged = state.truth.merged(
            [starts[columns] for columns in self.column_sets],
            merging.groups(self.column_sets),
            merging.workload(self.column_sets),
        )
        return MergedState(state.truth, merging, merged, self.later.init(merged) if self.unsure is None else None)

    def _played(self, state: MergedState, played: Played) -> Played:
        """What was played, of the merged columns."""
        assert state.merging is not None
        return Played(state.merging.distribution(played.distribution), state.merging.workload(self.column_sets))

    def wider(self, moves: Sequence[Move]) -> Workload:
        """What the ids of moves refer to: what was asked at first, then the marginals of the merged columns."""
        if not moves:
            return self.asked
        merging = merging_of(self.asked, moves[0], self.num_rows, self.most)
        return Workload(self.asked.domain, self.asked.groups + merging.groups(self.column_sets))
