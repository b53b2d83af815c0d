"""Measure again what is least sure by what single columns said, a fixed number of times in all, in one move.

Which marginals, and how often each, is chosen from public quantities (`queries.unsure`) when the move is made. Whatever
is chosen, it is the same number of the same event: a marginal that is measured three times is charged three times, and
the move says the mean. Nothing is selected by looking at the truth, so nothing is paid for that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.core import Move
from equipoise.privacy import mechanisms
from equipoise.privacy.gate import Turn
from equipoise.privacy.private import Private
from equipoise.queries.merging import Merging
from equipoise.queries.unsure import times_to_measure

__all__ = ["MeasureUnsure"]

SENSITIVITY_SQUARED = 2
"""Of a marginal, when a record is replaced: it leaves one cell and enters another."""


@dataclass(frozen=True)
class MeasureUnsure:
    """Measure marginals of merged columns where their answers are least sure.

    Attributes:
        num_rows: Records in the private table (public).
        wanted: The marginals whose answers count.
        known: Standard deviation of the noise that single columns were measured with, in counts.
        stddev: That of each measurement.
        num_times: Measurements in all.
    """

    num_rows: int
    wanted: tuple[tuple[int, ...], ...]
    known: float
    stddev: float
    num_times: int

    def draw(self, turn: Turn, truth: Private, merging: Merging, column_sets: Sequence[tuple[int, ...]]) -> Move:
        """The move, in the making; its ids are those of the marginals of `column_sets` of the merged columns."""
        known, stddev = self.known / self.num_rows, self.stddev / self.num_rows
        times = times_to_measure(merging, self.wanted, known, stddev, self.num_times)
        starts = merging.workload(column_sets).starts
        ids, values, noise = [], [], []
        for number, columns in enumerate(column_sets):
            if not times[columns]:
                continue
            here = np.arange(starts[number], starts[number + 1], dtype=np.int64)
            drawn = [
                mechanisms.measure(turn, truth.take(here), stddev=self.stddev, at_least=SENSITIVITY_SQUARED)
                for _ in range(times[columns])
            ]
            ids.append(here)
            values.append(np.rint(np.mean(drawn, axis=0)).astype(np.int64))
            # A mean is rounded to a whole count: at most half of one more.
            mean = self.stddev if len(drawn) == 1 else self.stddev / math.sqrt(len(drawn)) + 0.5
            noise.append(np.full(len(here), mean))
        every = np.concatenate(ids)
        return Move(every, np.zeros_like(every), np.concatenate(values), np.concatenate(noise))
