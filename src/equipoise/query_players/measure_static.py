"""Measure chosen groups of the workload, each with its own noise, in one move: nothing is selected or paid for it.

The query player of the matrix mechanism (hdmm) and of the mixture: what to measure, and how well, was decided
beforehand from public quantities.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.core import Move
from equipoise.privacy import mechanisms
from equipoise.privacy.gate import Gate, Turn
from equipoise.privacy.private import Private
from equipoise.queries.played import Played

__all__ = ["MeasureStatic"]


@dataclass(frozen=True)
class MeasureStatic:
    """Measure every planned group once.

    Attributes:
        stddevs: For each group of the workload, the standard deviation of its noise in counts; None: not measured.
        sensitivities: For each group, the squared L2 sensitivity that it is charged for.
    """

    stddevs: tuple[float | None, ...]
    sensitivities: tuple[int, ...]

    def init(self, truth: Private) -> Private:
        """Remember the truth."""
        return truth

    def step(self, gate: Gate, state: Private, played: Played) -> tuple[Private, Move]:
        """Measure in one transaction of the gate."""
        return state, gate.play(lambda turn: self.draw(turn, state, played))

    def draw(self, turn: Turn, state: Private, played: Played) -> Move:
        """The move, in the making."""
        starts = played.workload.starts
        ids, values, noise = [], [], []
        for group, (stddev, sensitivity) in enumerate(zip(self.stddevs, self.sensitivities, strict=True)):
            if stddev is None:
                continue
            chosen = np.arange(starts[group], starts[group + 1], dtype=np.int64)
            ids.append(chosen)
            values.append(mechanisms.measure(turn, state.take(chosen), stddev=stddev, at_least=sensitivity))
            noise.append(np.full(len(chosen), stddev))
        every = np.concatenate(ids)
        # What was played is public, but no reason for the choice: no sign is said.
        return Move(every, np.zeros_like(every), np.concatenate(values), np.concatenate(noise))

    def recall(self, state: Private, played: Played, move: Move) -> Private:
        """Nothing to remember but the truth."""
        return state
