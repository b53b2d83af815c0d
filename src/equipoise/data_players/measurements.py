"""What has been measured so far: one target and one standard deviation a query, however often it was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from equipoise.core import FloatArray, Move

__all__ = ["Measurements"]


@dataclass
class Measurements:
    """Noisy answers in the order in which their queries first came. `absorb` changes it in place.

    Measurements of one query are combined by inverse variance (MECHANISMS section 10, item 8): the best unbiased
    estimate, and one constraint rather than two that contradict each other.

    Attributes:
        num_rows: n, which turns counts into answers.
        num_moves: How many moves have been absorbed.
        positions: Where each query id is in the arrays.
        targets: Noisy answers, normalised; not clamped, so possibly negative or above 1.
        stddevs: Their standard deviations, normalised.
    """

    num_rows: int
    num_moves: int = 0
    positions: dict[int, int] = field(default_factory=dict)
    targets: FloatArray = field(default_factory=lambda: np.zeros(0))
    stddevs: FloatArray = field(default_factory=lambda: np.zeros(0))

    def absorb(self, move: Move) -> tuple[Sequence[int], Sequence[int]]:
        """Take in one move; returns the positions it touched and the ids that are new, each in the move's order."""
        if move.values is None:
            raise ValueError("this data player learns from measured answers; the move has none")
        new = list(dict.fromkeys(int(i) for i in move.ids if int(i) not in self.positions))
        for i in new:
            self.positions[i] = len(self.positions)
        self.targets = np.concatenate([self.targets, np.zeros(len(new))])
        self.stddevs = np.concatenate([self.stddevs, np.full(len(new), np.inf)])
        touched = [self.positions[int(i)] for i in move.ids]
        stddevs = np.broadcast_to(move.stddev, len(move.ids)) / self.num_rows
        for position, value, stddev in zip(touched, move.values, stddevs, strict=True):
            self._combine(position, float(value) / self.num_rows, float(stddev))
        self.num_moves += 1
        return list(dict.fromkeys(touched)), new

    def _combine(self, position: int, target: float, stddev: float) -> None:
        known = float(self.stddevs[position])
        if stddev == 0.0 or np.isinf(known):
            # An exact answer (noise off, in tests and demonstrations) replaces whatever was known.
            share, combined = 1.0, stddev
        else:
            share = known**2 / (known**2 + stddev**2)
            combined = stddev * known / float(np.hypot(stddev, known))
        self.targets[position] += share * (target - self.targets[position])
        self.stddevs[position] = combined
