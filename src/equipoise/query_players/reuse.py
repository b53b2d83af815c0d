"""Multiplicative weights that reuse their draws: keep each query with the chance that its weight kept up, refill.

The query player of DQRS (vietri2020new, Algorithm 4, arXiv v1, with the signs of gaboardi2014dual). A drawn query q is
kept with probability exp(-rate - slack + rate A(x, q)), which is its new weight relative to the old one, times a
constant below 1; so a sample from the old weights, thinned, is one from the new. Keeping costs far less than drawing:
the coin's exponent moves by rate/n, a fresh draw's score by t times that.

Refills are exact: as many fresh draws as were dropped, up to what the schedule has left. How many that is can be read
off the moves, so the ledger, a filter, covers it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from equipoise.core import IntArray, Move
from equipoise.privacy import accountant, mechanisms
from equipoise.privacy.events import Coins, Draws
from equipoise.privacy.gate import Gate, Turn
from equipoise.privacy.private import Private
from equipoise.queries.played import Played
from equipoise.query_players.hedge import Weights, signed, update_epsilon

__all__ = ["Reuse", "Sampled"]


class Sampled(NamedTuple):
    """The weights, and the sample in play (public): positions among the queries and then their negations."""

    weights: Weights
    sample: IntArray


@dataclass(frozen=True)
class Reuse:
    """Keep what can be kept of the last draws, draw the others anew.

    Attributes:
        num_rows: Records in the private table (public).
        rate: Learning rate of the weights.
        num_draws: Size of the sample.
        slacks: For each round after the first, what makes keeping cheap: larger is cheaper, and drops more. None: drop
            all, which is DualQuery.
        limits: For each round, what may have been spent at its end, for one record: refills are cut to it.
    """

    num_rows: int
    rate: Fraction
    num_draws: int
    slacks: tuple[Fraction | None, ...]
    limits: tuple[Fraction, ...]

    def init(self, truth: Private) -> Sampled:
        """Remember the truth; nothing is drawn."""
        return Sampled(Weights.of(truth), np.zeros(0, dtype=np.int64))

    def step(self, gate: Gate, state: Sampled, played: Played) -> tuple[Sampled, Move]:
        """Update the weights by what was played, then keep and refill in one transaction of the gate."""
        now = state._replace(weights=state.weights.updated(played))

        def draw(turn: Turn) -> Move:
            sample = self._kept(turn, now, played)
            missing = self._affordable(turn, now.weights.num_updates, self.num_draws - len(sample))
            if missing:
                fresh = now.weights.draw(
                    turn,
                    rate=self.rate,
                    num_rows=self.num_rows,
                    num_draws=missing,
                    weights=played.workload.weights(),
                )
                sample = np.concatenate([sample, fresh])
            return signed(sample, now.weights.truth.num_values)

        move = gate.play(draw)
        return self.recall(state, played, move), move

    def recall(self, state: Sampled, played: Played, move: Move) -> Sampled:
        """Update the weights, and remember the sample."""
        num_queries = state.weights.truth.num_values
        return Sampled(state.weights.updated(played), move.ids + num_queries * (move.signs < 0))

    def _kept(self, turn: Turn, state: Sampled, played: Played) -> IntArray:
        num_updates = state.weights.num_updates
        slack = self.slacks[num_updates - 1] if num_updates else None
        if slack is None or len(state.sample) == 0:
            return np.zeros(0, dtype=np.int64)
        payoffs = state.weights.truth.payoffs(self.num_rows * played.answers).take(state.sample)
        epsilon = update_epsilon(self.rate, self.num_rows)
        kept = mechanisms.keep(turn, payoffs, epsilon=epsilon, slack=slack, largest=self.num_rows)
        return state.sample[kept]

    def _affordable(self, turn: Turn, num_updates: int, wanted: int) -> int:
        """As many draws as are wanted, or as the schedule has left."""
        if num_updates == 0:
            return wanted
        one = accountant.cost(Draws(update_epsilon(self.rate, self.num_rows) * num_updates, 1)).rho
        unit = turn.rows_per_unit**2
        return max(0, min(wanted, (self.limits[num_updates] * unit - turn.spent.rho) // (one * unit)))

    def coins(self, num_updates: int) -> Coins | None:
        """The event that keeping a whole sample is charged as; None when nothing is kept."""
        slack = self.slacks[num_updates - 1]
        epsilon = update_epsilon(self.rate, self.num_rows)
        return None if slack is None else Coins(epsilon / 2, slack, epsilon * self.num_rows, self.num_draws)
