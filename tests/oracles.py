"""Oracles for tests: one that enumerates and breaks ties in a known way, and ones that fail."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from equipoise.oracles.instance import Instance
from equipoise.oracles.oracle import Solutions


@dataclass(frozen=True)
class FirstBest:
    """The first of all records, in order, that has the largest value; one record for all copies."""

    name: ClassVar[str] = "first_best"
    use_tilts: bool = False
    worst: bool = False

    def refuses(self, instance: Instance) -> str | None:
        return None

    def solve(self, instance: Instance, rng: np.random.Generator) -> Solutions:
        every = np.array(list(itertools.product(*(range(size) for size in instance.record.sizes)))).T
        columns = instance.literal_columns
        wanted = instance.literals - instance.record.starts[columns]
        holds = ((every[columns] == wanted[:, :, None]) | (instance.literals < 0)[:, :, None]).all(axis=1)
        values = np.tile(instance.weights[0] @ (holds != instance.negated[:, None]), (instance.num_copies, 1))
        if self.use_tilts and instance.tilts is not None:
            positions = instance.record.starts[:-1, None] + every
            values = values + instance.tilts[:, positions].sum(axis=1)
        if self.worst:
            values = -values
        best = np.argmax(np.round(values, 9), axis=1)
        top = values[np.arange(instance.num_copies), best]
        proved = np.ones(instance.num_copies, dtype=bool)
        return Solutions(every[:, best].astype(instance.code_type), top, top, proved)
