"""Entropy projection: the data player of PEP and of PEP-Pub.

It plays the distribution of (almost) maximum entropy, or nearest to a public one, among those that answer every
measured query well. Three ways
to get there, all post-processing of the moves:

- "noise_aware" (default): minimises KL(D || uniform) + Σ (q_i(D) - m_i)² / (2 b_i), b_i = `softness` · stddev_i: an
  answer may be off by `softness` standard deviations for each unit that its log-odds are tilted. The only one that
  uses how noisy each measurement is, and the one that is fast enough for thousands of measurements. From public rows
  it minimises KL(D || public) instead, with b_i at least N stddev_i²: the public rows answer as well as a sample of N
  records would (`public_support.trusted_rows`), so they deserve N times their divergence in a log-likelihood.
- "projection": liu2021iterative, Algorithm 2 (arXiv v2): exact KL projections on the worst measured query.
- "dual": the paper's regularised dual, log Σ exp(Σ λ_i (q_i - m_i)) + γ ‖λ‖₁ (v2, appendix B.3, signs corrected:
  MECHANISMS E-001-4), by coordinate descent: the exact maximum-entropy distribution with |q_i(D) - m_i| ≤ γ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from equipoise.core import Distribution, FloatArray, Move
from equipoise.data.rules import Rules
from equipoise.data_players.coordinate_descent import descend, project
from equipoise.data_players.log_linear import LogLinear, Tilted
from equipoise.data_players.measurements import Measurements
from equipoise.data_players.noise_aware import NoiseAware, SoftDual
from equipoise.data_players.public_support import PublicRows, SoftRows, TiltedRows, trusted_rows
from equipoise.queries.workload import Workload

__all__ = ["EntropyProjection", "memory_bytes"]

BETA = 0.05
"""With `tolerance="noise"`, the probability that some measurement's noise exceeds the tolerance."""

CONVERGED = 0.1
"""Solvers stop when no answer is further than this many standard deviations from where it belongs."""


def memory_bytes(num_cells: int) -> int:
    """Memory that the player needs for a domain of this size: weights, their sums, and what it plays.

    Example:
        >>> memory_bytes(1_000_000)
        48000000
    """
    return 6 * 8 * num_cells


@dataclass
class Projected:
    """The player's state. `step` changes it in place and returns it: hand a state to one game only."""

    model: Tilted | SoftDual
    measurements: Measurements


@dataclass(frozen=True)
class EntropyProjection:
    """Plays a log-linear model fitted to all measurements so far.

    Attributes:
        workload: The queries that moves refer to.
        num_rows: n; moves carry counts out of n.
        solver: See the module's docstring.
        tolerance: γ of "projection" and "dual", as a fraction of n. "noise": what the noise of all t measurements
            stays within with probability 1 - BETA, (stddev/n) √(2 log(2t/BETA)).
        max_steps: "projection" makes at most this many projections a round, or two a measurement, if that is less
            (the authors' code).
        max_sweeps: "dual" makes at most this many sweeps over all measurements a round.
        max_evaluations: "noise_aware" computes at most this many gradients a round; it goes on from there in the next.
        softness: See "noise_aware". Between 1/2 and 2 on all tables and budgets tried: less lowers the largest error on
            some tables (by up to a quarter), more lowers the mean error on others (by up to a twentieth).
        public: Rows that alone have weight, and their weights at first; None: all cells of the domain, uniform.
        rules: What no record breaks: cells that do have no weight. Public rows must obey them already.
    """

    workload: Workload
    num_rows: int
    solver: Literal["noise_aware", "projection", "dual"] = "noise_aware"
    tolerance: float | Literal["noise"] = 0.0
    max_steps: int = 25
    max_sweeps: int = 50
    max_evaluations: int = 300
    softness: float = 1.0
    public: PublicRows | None = None
    rules: Rules | None = None

    def init(self, rng: np.random.Generator) -> Projected:
        """The uniform distribution, or the public one."""
        return Projected(self._model(self.workload.domain.sizes), Measurements(self.num_rows))

    def _model(self, shape: tuple[int, ...]) -> Tilted | SoftDual:
        if self.solver == "noise_aware":
            return NoiseAware(shape, self.rules) if self.public is None else SoftRows(self.public, shape)
        return LogLinear(shape, self.rules) if self.public is None else TiltedRows(self.public, shape)

    def step(self, rng: np.random.Generator, state: Projected, moves: Sequence[Move]) -> Projected:
        """Take in the moves that the state has not seen, one after the other."""
        for move in moves[state.measurements.num_moves :]:
            touched, new = state.measurements.absorb(state.model.reachable(self.workload, move))
            state.model.extend(self.workload, new)
            if touched:
                self._fit(state.model, state.measurements)
        return state

    def play(self, state: Projected) -> Distribution:
        """The fitted distribution."""
        return state.model.distribution()

    def _fit(self, model: Tilted | SoftDual, measured: Measurements) -> None:
        targets, stddevs = measured.targets, measured.stddevs
        # Exact measurements (noise off) converge to a small fraction of a record instead.
        close = CONVERGED * max(float(stddevs.min()), 1e-3 / self.num_rows)
        if isinstance(model, SoftDual):
            variance = self.softness * np.maximum(stddevs, 1e-3 / self.num_rows)
            if isinstance(model, SoftRows):
                num_trusted = trusted_rows(model.public.num_rows, model.start_answers(), targets, stddevs)
                variance = np.maximum(variance, num_trusted * stddevs**2)
            model.fit(targets, variance, tolerance=close, max_evaluations=self.max_evaluations)
            return
        gamma = self._gamma(stddevs)
        if self.solver == "projection":
            max_steps = min(self.max_steps, 2 * len(targets))
            project(model, targets, tolerance=float(gamma.max()), max_steps=max_steps)
        else:
            no_variance = np.zeros_like(targets)
            descend(model, targets, slack=gamma, variance=no_variance, tolerance=close, max_sweeps=self.max_sweeps)
        # Once a round: what is played is the coefficients' exact distribution, whatever the steps rounded.
        model.rebuild()

    def _gamma(self, stddevs: FloatArray) -> FloatArray:
        if self.tolerance == "noise":
            return stddevs * math.sqrt(2 * math.log(2 * len(stddevs) / BETA))
        return np.full(len(stddevs), self.tolerance)
