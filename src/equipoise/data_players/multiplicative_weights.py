"""Multiplicative weights over the whole domain, or over public rows: the data player of MWEM and of PMW-Pub.

The update on a query q with noisy answer m is D(x) ← D(x) exp(q(x) (m - q(D)) / 2) / Z: records that satisfy q gain
weight when the truth looks larger than what was played. The factor 1/2 belongs to the algorithm (hardt2012simple,
Figure 1, arXiv v1); the sign printed in liu2021iterative, appendix B.2, is wrong (MECHANISMS E-001-3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numba
import numpy as np

from equipoise.core import Distribution, FloatArray, IntArray, Move
from equipoise.data.rules import Rules
from equipoise.data_players.log_linear import LogLinear, Tilted, tilt
from equipoise.data_players.measurements import Measurements
from equipoise.data_players.public_support import PublicRows, TiltedRows, trusted_rows
from equipoise.data_players.regions import sum_over
from equipoise.queries.workload import Workload

__all__ = ["MultiplicativeWeights", "memory_bytes"]


MIN_CYCLES = 10
"""Passes a round at least: less leaves the newest measurements unlearnt."""
MAX_CYCLES = 200
"""Passes a round at most, to bound the time. Tables of several hundred thousand rows deserve more."""


def memory_bytes(num_cells: int) -> int:
    """Memory that the player needs for a domain of this size: weights, their average, what it plays and its sums.

    Example:
        >>> memory_bytes(1_000_000)
        40000000
    """
    return 5 * 8 * num_cells


@dataclass
class Weighted:
    """The player's state. `step` changes it in place and returns it: hand a state to one game only."""

    model: Tilted
    measurements: Measurements
    summed: FloatArray | None
    num_summed: int = 0


@dataclass(frozen=True)
class MultiplicativeWeights:
    """Plays the log-linear model that multiplicative-weights updates lead to.

    Attributes:
        workload: The queries that moves refer to.
        num_rows: n; moves carry counts out of n.
        replay: What happens after the update on the new measurements. "threshold": one update on every earlier
            measurement that is off by at least half of what the newest was off by, in random order (liu2021leveraging,
            section 5, v2). "cycles": passes over all measurements (hardt2012simple, section 4, v1). "none": nothing,
            as in the theorem.
        num_cycles: Passes of `replay="cycles"` a round; None works it out (`_num_cycles`).
        average: Play the mean of all distributions so far, which the theorem is about, instead of the last.
        stale: Repeat two mistakes of the public code: answers from the start of the round, and the new measurement
            applied twice (MECHANISMS E-CODE-4). Only for replicating its figures.
        public: Rows that alone have weight, and their weights at first; None: all cells of the domain, uniform.
        rules: What no record breaks: cells that do have no weight. Public rows must obey them already.
    """

    workload: Workload
    num_rows: int
    replay: Literal["threshold", "cycles", "none"] = "cycles"
    num_cycles: int | None = None
    average: bool = False
    stale: bool = False
    public: PublicRows | None = None
    rules: Rules | None = None

    def init(self, rng: np.random.Generator) -> Weighted:
        """The uniform distribution, or the public one."""
        shape = self.workload.domain.sizes
        model = LogLinear(shape, self.rules) if self.public is None else TiltedRows(self.public, shape)
        return Weighted(model, Measurements(self.num_rows), np.zeros_like(model.weights) if self.average else None)

    def step(self, rng: np.random.Generator, state: Weighted, moves: Sequence[Move]) -> Weighted:
        """Take in the moves that the state has not seen, one after the other."""
        for move in moves[state.measurements.num_moves :]:
            touched, new = state.measurements.absorb(state.model.reachable(self.workload, move))
            state.model.extend(self.workload, new)
            if touched:
                self._update(rng, state, np.array(touched, dtype=np.int64))
            # Once a round: what is played is the coefficients' exact distribution, whatever the steps rounded.
            state.model.rebuild()
            if state.summed is not None:
                state.summed += state.model.weights
                state.num_summed += 1
        return state

    def play(self, state: Weighted) -> Distribution:
        """The last distribution, or the mean of all of them but the first."""
        return state.model.distribution(None if state.num_summed == 0 else state.summed)

    def _update(self, rng: np.random.Generator, state: Weighted, newest: IntArray) -> None:
        model, targets = state.model, np.clip(state.measurements.targets, 0.0, 1.0)
        errors = np.abs(targets - model.answers())
        if self.stale:
            steps = (targets - model.answers()) / 2
            late = np.flatnonzero(errors >= errors[newest].max() / 2)
            for i in [*newest, *rng.permutation(late)]:
                model.tilt(int(i), float(steps[i]))
            return
        _reweigh(newest, targets, model.weights, model.total, model.coefficients, *model.regions)
        if self.replay == "cycles":
            order = np.arange(model.num_queries)
            if isinstance(model, TiltedRows):
                num_cycles = self._num_cycles_on_rows(model, state.measurements, len(newest))
            else:
                num_cycles = self._num_cycles(state.measurements, len(newest))
            for _ in range(num_cycles):
                _reweigh(order, targets, model.weights, model.total, model.coefficients, *model.regions)
        if self.replay == "threshold":
            late = np.flatnonzero(np.abs(targets - model.answers()) >= errors[newest].max() / 2)
            order = rng.permutation(np.setdiff1d(late, newest))
            _reweigh(order, targets, model.weights, model.total, model.coefficients, *model.regions)

    def _num_cycles(self, measurements: Measurements, num_newest: int) -> int:
        """How often to go over all measurements: as often as their noise deserves.

        P passes tilt the log-odds of a query that stays off by e by P e / 2. With P = n / (2 stddev) a query tilted by
        one unit is off by four standard deviations, one that is off by its noise is tilted by 1/4: more passes would
        begin to fit the noise (P stddev / n between 1/4 and 1 was best on the tables tried). A round
        that adds a share s to the measurements makes √s P of them: more than its share, so that the last is learnt too.
        """
        if self.num_cycles is not None:
            return self.num_cycles
        share = math.sqrt(num_newest / len(measurements.targets))
        deserved = 0.5 / max(float(np.median(measurements.stddevs)), 0.5 / MAX_CYCLES)
        return max(MIN_CYCLES, math.ceil(deserved * share))

    def _num_cycles_on_rows(self, model: TiltedRows, measurements: Measurements, num_newest: int) -> int:
        """The same for public rows, which know the answers already as well as a sample of N records does.

        A query that stays off by e is tilted by e / (N stddev²) in the soft fit of `entropy_projection`: P = 2 / (N
        stddev²) passes do as much. A round that adds a share s makes s P of them, the update on the newest included,
        which may be all that noise deserves.
        """
        if self.num_cycles is not None:
            return self.num_cycles
        share = num_newest / len(measurements.targets)
        num_trusted = trusted_rows(
            model.public.num_rows, model.start_answers(), measurements.targets, measurements.stddevs
        )
        # As many passes as on the whole domain at most, however few rows are trusted.
        least = max(float(np.median(measurements.stddevs)), 0.5 / MAX_CYCLES)
        deserved = min(0.5 / least, 2 / (num_trusted * least**2))
        return math.ceil(deserved * share) - 1


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _reweigh(
    order: IntArray,
    targets: FloatArray,
    weights: FloatArray,
    total: FloatArray,
    coefficients: FloatArray,
    bases: IntArray,
    starts: IntArray,
    axes: IntArray,
    listed: IntArray,
) -> None:
    """One update on each query in turn, each with the answer of the moment."""
    for i in order:
        played = sum_over(weights, bases[i], axes[starts[i] : starts[i + 1]], listed) / total[0]
        step = (targets[i] - played) / 2.0
        coefficients[i] += step
        tilt(weights, total, i, step, bases, starts, axes, listed)
