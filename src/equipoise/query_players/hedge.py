"""Multiplicative weights over the queries and their negations (Hedge): draw queries by how wrong the records were.

The query player of DualQuery (gaboardi2014dual, Algorithm 1, arXiv v2). With A(x, q) = q(table) - q(x), the weight of
q after t records is exp(rate Σ_j A(x_j, q)), and of its negation exp(-rate Σ_j A(x_j, q)): queries on which the records
fell short grow. On counts the exponent is (rate/n)(t c_q - Σ_j n q(x_j)): the exponential mechanism's, on a score that
moves by t.

The weights are secret; what was played is public, so the state is the truth and a sum of public answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from equipoise.core import FloatArray, IntArray, Move
from equipoise.privacy import mechanisms
from equipoise.privacy.events import Draws
from equipoise.privacy.gate import Gate, Turn
from equipoise.privacy.private import Private
from equipoise.queries.played import Played

__all__ = ["Hedge", "Weights", "signed", "update_epsilon"]


class Weights(NamedTuple):
    """The truth, and the sum of the answers of what was played (public).

    Attributes:
        truth: Counts of the workload.
        sums: Sum over the records played so far of their answers, one a query.
        num_updates: How many records that is; -1 before the first round, whose records nothing was drawn for.
    """

    truth: Private
    sums: FloatArray
    num_updates: int

    @classmethod
    def of(cls, truth: Private) -> Weights:
        """Before the first round."""
        return cls(truth, np.zeros(truth.num_values), -1)

    def updated(self, played: Played) -> Weights:
        """After a round that began with `played`: in the first one nothing had been played in answer to a draw."""
        if self.num_updates < 0:
            return self._replace(num_updates=0)
        return self._replace(sums=self.sums + played.answers, num_updates=self.num_updates + 1)

    def draw(self, turn: Turn, *, rate: Fraction, num_rows: int, num_draws: int, weights: IntArray) -> IntArray:
        """Positions among the queries and then their negations; before any update all are equally likely, for free."""
        if self.num_updates == 0:
            return turn.noise.draws(np.zeros(2 * self.truth.num_values, dtype=np.int64), 1.0, num_draws)
        scores = self.truth.payoffs(num_rows * self.sums, times=self.num_updates)
        if weights.max(initial=1) > 1:
            scores = scores.weighted(np.concatenate([weights, weights]))
        epsilon = update_epsilon(rate, num_rows) * self.num_updates
        return mechanisms.draw(turn, scores, epsilon=epsilon, num_draws=num_draws)


def update_epsilon(rate: Fraction, num_rows: int) -> Fraction:
    """What one update adds to the parameter of each later draw: 2 rate / n."""
    return 2 * rate / num_rows


def signed(positions: IntArray, num_queries: int) -> Move:
    """The move that names these queries (the first half of the positions) and negations (the second)."""
    negated = positions >= num_queries
    return Move(positions - num_queries * negated, np.where(negated, -1, 1).astype(np.int64), None, 0.0)


@dataclass(frozen=True)
class Hedge:
    """Draw queries and negations by their weights; the first round's are uniform and free.

    Attributes:
        num_rows: Records in the private table (public).
        rate: Learning rate of the weights.
        num_draws: How many queries are drawn in a round.
    """

    num_rows: int
    rate: Fraction
    num_draws: int

    def init(self, truth: Private) -> Weights:
        """Remember the truth; all weights are equal."""
        return Weights.of(truth)

    def step(self, gate: Gate, state: Weights, played: Played) -> tuple[Weights, Move]:
        """Update the weights by what was played, then draw in one transaction of the gate."""
        now = state.updated(played)

        def draw(turn: Turn) -> Move:
            positions = now.draw(
                turn,
                rate=self.rate,
                num_rows=self.num_rows,
                num_draws=self.num_draws,
                weights=played.workload.weights(),
            )
            return signed(positions, now.truth.num_values)

        return now, gate.play(draw)

    def recall(self, state: Weights, played: Played, move: Move) -> Weights:
        """The weights depend on what was played, not on what was drawn."""
        return state.updated(played)

    def events(self, num_rounds: int) -> list[Draws]:
        """What a game is charged for, round by round after the first."""
        return [Draws(update_epsilon(self.rate, self.num_rows) * t, self.num_draws) for t in range(1, num_rounds)]
