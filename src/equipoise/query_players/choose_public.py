"""Choose one of several public tables privately, then play on: the first move of a game."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from equipoise.core import Codes, IntArray, Move
from equipoise.privacy import mechanisms
from equipoise.privacy.gate import Gate, Turn
from equipoise.privacy.mixture_error import mixture_scores
from equipoise.privacy.private import Private
from equipoise.queries.played import Played
from equipoise.queries.workload import Workload
from equipoise.query_players.player import QueryPlayer

__all__ = ["ChoosePublic", "Choosing"]


@dataclass(frozen=True)
class Choosing:
    """The truth, and the state of the player that goes on once a table is chosen."""

    truth: Private
    rest: Any = None
    is_chosen: bool = False


@dataclass(frozen=True)
class ChoosePublic:
    """Makes one move that names a public table, by its best-mixture-error; then leaves the game to another player.

    Attributes:
        player: Who plays the rest of the game.
        workload: The queries that the tables are compared on: some of the game's.
        ids: Which of the game's queries they are.
        num_rows: n.
        supports: The rows of each table, of all columns.
        epsilon: Parameter of the selection.
        is_pure: Permute-and-flip instead of the exponential mechanism.
    """

    player: QueryPlayer[Any]
    workload: Workload
    ids: IntArray
    num_rows: int
    supports: tuple[Codes, ...]
    epsilon: Fraction
    is_pure: bool

    def init(self, truth: Private) -> Choosing:
        """Nothing is chosen yet."""
        return Choosing(truth)

    def step(self, gate: Gate, state: Choosing, played: Played) -> tuple[Choosing, Move]:
        """The choice, or the other player's move."""
        if not state.is_chosen:
            return self._chosen(state), gate.play(lambda turn: self._choose(turn, state.truth))
        rest, move = self.player.step(gate, state.rest, played)
        return Choosing(state.truth, rest, True), move

    def recall(self, state: Choosing, played: Played, move: Move) -> Choosing:
        """See `QueryPlayer.recall`."""
        if not state.is_chosen:
            return self._chosen(state)
        return Choosing(state.truth, self.player.recall(state.rest, played, move), True)

    def _chosen(self, state: Choosing) -> Choosing:
        return Choosing(state.truth, self.player.init(state.truth), True)

    def _choose(self, turn: Turn, truth: Private) -> Move:
        scores = mixture_scores(truth.take(self.ids), self.workload, self.num_rows, self.supports)
        select = mechanisms.select_pure if self.is_pure else mechanisms.select
        found = select(turn, scores, epsilon=self.epsilon)
        return Move(found, np.zeros_like(found), None, 0.0)
