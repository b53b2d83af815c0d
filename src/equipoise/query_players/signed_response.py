"""Best response with a sign: the query, or negation of one, on which the played data falls short most, privately.

The query player of FEM and sepFEM (vietri2020new, Algorithms 2 and 3, arXiv v1): the exponential mechanism on
n (q(table) - q(played)) over the queries and their negations. Nothing is measured: the sign says which way to go.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from equipoise.core import Move
from equipoise.privacy import mechanisms
from equipoise.privacy.gate import Gate, Turn
from equipoise.privacy.private import Private
from equipoise.queries.played import Played
from equipoise.query_players.hedge import signed

__all__ = ["SignedResponse"]


@dataclass(frozen=True)
class SignedResponse:
    """Select one query or negation a round.

    Attributes:
        num_rows: Records in the private table (public).
        selection_epsilon: Parameter of one selection: Pr[q] proportional to exp(selection_epsilon n A / 2).
    """

    num_rows: int
    selection_epsilon: Fraction

    def init(self, truth: Private) -> Private:
        """Remember the truth."""
        return truth

    def step(self, gate: Gate, state: Private, played: Played) -> tuple[Private, Move]:
        """Select in one transaction of the gate."""

        def draw(turn: Turn) -> Move:
            scores = state.payoffs(self.num_rows * played.answers)
            weights = played.workload.weights()
            if weights.max(initial=1) > 1:
                scores = scores.weighted(np.concatenate([weights, weights]))
            return signed(mechanisms.select(turn, scores, epsilon=self.selection_epsilon), state.num_values)

        return state, gate.play(draw)

    def recall(self, state: Private, played: Played, move: Move) -> Private:
        """Nothing to remember but the truth."""
        return state
