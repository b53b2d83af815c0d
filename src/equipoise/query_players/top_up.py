"""Measure what was planned; then look at what the fit makes of it, and measure again where it is furthest off.

The first move is `MeasureStatic`'s. Every later one is `BestMarginal`'s: select a marginal by its largest error,
measure all of it. Each pays for itself; together they are the two players' events, composed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from equipoise.core import Move
from equipoise.privacy.gate import Gate, Turn
from equipoise.privacy.private import Private
from equipoise.queries.played import Played
from equipoise.query_players.best_marginal import BestMarginal
from equipoise.query_players.best_response import Seen
from equipoise.query_players.measure_static import MeasureStatic

__all__ = ["TopUp", "Topping"]


class Topping(NamedTuple):
    """The truth with what was selected so far, and whether the plan has been measured."""

    seen: Seen
    is_measured: bool


@dataclass(frozen=True)
class TopUp:
    """Measure the plan in the first round; select and measure one marginal in each later round.

    Attributes:
        planned: Who makes the first move.
        selected: Who makes the others.
    """

    planned: MeasureStatic
    selected: BestMarginal

    def init(self, truth: Private) -> Topping:
        """Nothing is measured."""
        return Topping(self.selected.init(truth), False)

    def step(self, gate: Gate, state: Topping, played: Played) -> tuple[Topping, Move]:
        """The plan's move, or a selected one; each is one transaction of the gate."""
        move = gate.play(lambda turn: self.draw(turn, state, played))
        return self.recall(state, played, move), move

    def draw(self, turn: Turn, state: Topping, played: Played) -> Move:
        """The move, in the making."""
        if not state.is_measured:
            return self.planned.draw(turn, state.seen.truth, played)
        return self.selected.draw(turn, state.seen, played)

    def recall(self, state: Topping, played: Played, move: Move) -> Topping:
        """The state after a recorded move."""
        if not state.is_measured:
            return Topping(state.seen, True)
        return Topping(self.selected.recall(state.seen, played, move), True)
