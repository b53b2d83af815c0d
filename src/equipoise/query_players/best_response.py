"""Best response by private selection: pick the queries with the largest error, then measure them.

The query player of MWEM, PEP, GEM and RAP (liu2021iterative, Algorithm 1, lines 3 to 6, arXiv v2): the exponential
mechanism (one-shot top-K when it selects several) on |count error|, then discrete Gaussian noise. The pure variant
uses permute-and-flip and discrete Laplace noise instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from equipoise.core import IntArray, Move
from equipoise.privacy import mechanisms
from equipoise.privacy.gate import Gate, Turn
from equipoise.privacy.private import Private
from equipoise.queries.played import Played

__all__ = ["BestResponse", "Seen", "laplace_stddev"]


class Seen(NamedTuple):
    """The truth, and which queries (or groups) may not be selected again (public: they were selected before)."""

    truth: Private
    measured: IntArray


def laplace_stddev(scale: Fraction) -> float:
    """Standard deviation of discrete Laplace noise: its variance is 2 e^-a/(1 - e^-a)^2 with a = 1/scale.

    Example:
        >>> round(laplace_stddev(Fraction(100)) / 100, 3)
        1.414
    """
    a = float(1 / scale)
    return math.sqrt(2 * math.exp(-a)) / -math.expm1(-a)


@dataclass(frozen=True)
class BestResponse:
    """Select `num_selected` queries by their error, measure each.

    Attributes:
        num_rows: Records in the private table (public).
        selection_epsilon: Parameter of one selection: Pr[q] proportional to exp(selection_epsilon |count error| / 2).
        measurement_stddev: Standard deviation of the discrete Gaussian noise, in counts; None in the pure variant.
        measurement_epsilon: Pure epsilon of one measurement; None in the zCDP variant.
        num_selected: Queries selected, and measured, in one round.
        repeats: Whether a measured query may be selected again.
    """

    num_rows: int
    selection_epsilon: Fraction
    measurement_stddev: float | None = None
    measurement_epsilon: Fraction | None = None
    num_selected: int = 1
    repeats: bool = False

    def init(self, truth: Private) -> Seen:
        """Remember the truth."""
        return Seen(truth, np.zeros(0, dtype=np.int64))

    def step(self, gate: Gate, state: Seen, played: Played) -> tuple[Seen, Move]:
        """Select and measure in one transaction of the gate."""
        counts = self.num_rows * played.answers

        def draw(turn: Turn) -> Move:
            scores = state.truth.distance(counts)
            weights = played.workload.weights()
            if weights.max(initial=1) > 1:
                scores = scores.weighted(weights)
            if not self.repeats and len(state.measured) + self.num_selected <= scores.num_values:
                scores = scores.take(np.setdiff1d(scores.ids, state.measured, assume_unique=True))
            chosen = self._select(turn, scores)
            values, stddev = self._measure(turn, state.truth, chosen)
            return Move(chosen, np.sign(values - counts[chosen]).astype(np.int64), values, stddev)

        move = gate.play(draw)
        return self.recall(state, played, move), move

    def recall(self, state: Seen, played: Played, move: Move) -> Seen:
        """Remember which queries a move measured."""
        return Seen(state.truth, np.union1d(state.measured, move.ids))

    def _select(self, turn: Turn, scores: Private) -> IntArray:
        if self.measurement_epsilon is not None:
            return mechanisms.select_pure(turn, scores, epsilon=self.selection_epsilon)
        return mechanisms.select(turn, scores, epsilon=self.selection_epsilon, num_selected=self.num_selected)

    def _measure(self, turn: Turn, truth: Private, chosen: IntArray) -> tuple[IntArray, float]:
        if self.measurement_epsilon is not None:
            values = mechanisms.measure_pure(turn, truth.take(chosen), epsilon=self.measurement_epsilon)
            return values, laplace_stddev(1 / self.measurement_epsilon)
        assert self.measurement_stddev is not None
        # One event a query, as the plan prices them: the cells may belong to one marginal or to several.
        parts = [
            mechanisms.measure(turn, truth.take(chosen[i : i + 1]), stddev=self.measurement_stddev)
            for i in range(len(chosen))
        ]
        return np.concatenate(parts), self.measurement_stddev
