"""Relaxed rows: the data player of RAP and RAP-softmax.

A table of `num_relaxed` rows in one-hot form, with real numbers in place of 0 and 1; a query's answer is the mean over
rows of the product of its entries. After each move the table is fitted to everything measured so far: Adam on
Σ (m_i - q_i)² (liu2021iterative, appendix B.2, arXiv v2), weighted by inverse variance where the noise differs.
Three relaxations:

- "clip": entries in [-1, 1]. A row need not be a distribution of each column, so answers of a marginal need not sum to
  1, and may be negative: they are what the game is played with (`RelaxedRows`), not something that rows can have. For
  sampling each column of a row is clipped to [0, 1] and normalised.
- "sparsemax": after each step every column of a row is moved to the nearest distribution.
- "softmax": entries are the softmax of free numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from equipoise.core import Move, report
from equipoise.data.distributions import MixtureOfProducts
from equipoise.data.relaxed import RelaxedRows
from equipoise.data_players.measured_queries import MeasuredQueries
from equipoise.data_players.measurements import Measurements
from equipoise.errors import SettingError
from equipoise.queries.workload import Workload

if TYPE_CHECKING:
    from equipoise.data_players.jax_relaxation import Fit

__all__ = ["RelaxedPlayer", "memory_bytes"]

PATIENCE = 50
"""A round's fit ends when this many steps have not lowered the loss by LEAST_GAIN."""
LEAST_GAIN = 0.05
"""A fraction of the loss."""


@dataclass
class Fitted:
    """The player's state. `step` changes it in place and returns it: hand a state to one game only."""

    fit: Fit
    measurements: Measurements
    queries: MeasuredQueries


@dataclass(frozen=True)
class RelaxedPlayer:
    """Plays relaxed rows fitted to all measurements so far.

    Attributes:
        workload: The queries that moves refer to.
        num_rows: n; moves carry counts out of n.
        num_rounds: Rounds of the game.
        relaxation: See the module's docstring.
        output: What is played after the last round with "clip": a distribution, or the relaxed rows themselves.
        num_relaxed: Rows of the relaxed table.
        learning_rate: Of Adam.
        max_steps: Steps of Adam a round at most.
    """

    workload: Workload
    num_rows: int
    num_rounds: int
    relaxation: Literal["clip", "sparsemax", "softmax"]
    output: Literal["normalised", "relaxed"] = "normalised"
    num_relaxed: int = 1000
    learning_rate: float = 0.1
    max_steps: int = 1000

    def __post_init__(self) -> None:
        if self.num_relaxed < 1 or self.max_steps < 1:
            raise SettingError("num_relaxed and max_steps must be at least 1")
        if not 0.0 < self.learning_rate < math.inf:
            raise SettingError("learning_rate must be a positive number")

    def init(self, rng: np.random.Generator) -> Fitted:
        """A random table."""
        from equipoise.data_players import jax_relaxation

        sizes = self.workload.domain.sizes
        fit = jax_relaxation.start(rng, self.num_relaxed, sizes=sizes, relaxation=self.relaxation)
        queries = MeasuredQueries(self.workload, self.num_relaxed)
        return Fitted(fit, Measurements(self.num_rows), queries)

    def step(self, rng: np.random.Generator, state: Fitted, moves: Sequence[Move]) -> Fitted:
        """Take in the moves that the state has not seen, one after the other."""
        for move in moves[state.measurements.num_moves :]:
            _, new = state.measurements.absorb(move)
            state.queries.include(new)
            self._fit(state)
        return state

    def play(self, state: Fitted) -> MixtureOfProducts | RelaxedRows:
        """The fitted table."""
        from equipoise.data_players import jax_relaxation

        sizes = self.workload.domain.sizes
        values = jax_relaxation.relax(state.fit.matrix, sizes=sizes, relaxation=self.relaxation)
        parts = np.split(np.asarray(values, dtype=np.float64), np.cumsum(sizes)[:-1])
        rows = RelaxedRows(tuple(np.ascontiguousarray(part.T) for part in parts))
        over = state.measurements.num_moves >= self.num_rounds
        # Float32 sums differ from 1 in the eighth digit: normalising is for them, too.
        relaxed = self.relaxation == "clip" and not (over and self.output == "normalised")
        return rows if relaxed else rows.normalised()

    def _fit(self, state: Fitted) -> None:
        from equipoise.data_players import jax_relaxation

        sizes, targets, stddevs = self.workload.domain.sizes, state.measurements.targets, state.measurements.stddevs
        least = max(float(stddevs.min()), 1e-9)
        weights = (least / np.maximum(stddevs, least)) ** 2
        best, since = np.inf, 0
        for done in range(self.max_steps):
            report(done, self.max_steps)
            values = jax_relaxation.relax(state.fit.matrix, sizes=sizes, relaxation=self.relaxation)
            errors = state.queries.answers(values) - targets
            loss = float(np.sum(weights * errors**2))
            since += 1
            if loss < (1 - LEAST_GAIN) * best:
                best, since = loss, 0
            if since > PATIENCE or loss == 0.0:
                return
            gradient = state.queries.gradient(values, 2 * weights * errors)
            state.fit = jax_relaxation.descend(
                state.fit, gradient, self.learning_rate, sizes=sizes, relaxation=self.relaxation
            )


def memory_bytes(workload: Workload, num_relaxed: int) -> int:
    """Memory that the player needs: the table with gradient and optimiser, and what a marginal takes."""
    widest: int = max(2 ** len(g.columns) * math.prod(sorted(g.shape)[:-1]) for g in workload.groups)
    return 4 * num_relaxed * (8 * workload.domain.num_values + 3 * widest) + 16 * workload.num_queries
