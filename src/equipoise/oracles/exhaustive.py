"""The oracle that tries every record: what the others are tested against."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from equipoise.errors import CapacityError
from equipoise.oracles.instance import Instance
from equipoise.oracles.oracle import Solutions

__all__ = ["Exhaustive"]


@dataclass(frozen=True)
class Exhaustive:
    """Every record of a tiny domain; equally good ones are chosen among at random.

    Example:
        >>> from equipoise.oracles.instance import OneHot
        >>> instance = Instance.of(OneHot.of([2, 2]), [[0, 1]], [[1, 0]], [2.0])
        >>> Exhaustive().solve(instance, np.random.default_rng(0)).codes[:, 0].tolist()
        [1, 0]
    """

    name: ClassVar[str] = "exhaustive"

    max_records: int = 1_000_000

    def refuses(self, instance: Instance) -> str | None:
        """When the domain has too many records."""
        num_records = prod(int(size) for size in instance.record.sizes)
        if num_records > self.max_records:
            return f"the domain has more than {self.max_records} records"
        return None

    def solve(self, instance: Instance, rng: np.random.Generator) -> Solutions:
        """The best record of each copy."""
        if (reason := self.refuses(instance)) is not None:
            raise CapacityError(f"cannot try every record: {reason}; use branch and bound")
        record, columns = instance.record, instance.literal_columns
        every = np.indices(tuple(record.sizes)).reshape(record.num_columns, -1)
        wanted = (instance.literals - record.starts[columns])[:, :, None]
        holds = ((every[columns] == wanted) | (instance.literals < 0)[:, :, None]).all(axis=1)
        answers = holds != instance.negated[:, None]
        chosen = np.empty(instance.num_copies, dtype=np.int64)
        for b in range(instance.num_copies):
            totals = instance.weights[min(b, len(instance.weights) - 1)] @ answers
            if instance.tilts is not None:
                totals = totals + instance.tilts[b, record.starts[:-1, None] + every].sum(axis=0)
            chosen[b] = rng.choice(np.flatnonzero(totals == totals.max()))
        codes = every[:, chosen].astype(instance.code_type)
        values = instance.values(codes)
        return Solutions(codes, values, values.copy(), np.ones(instance.num_copies, dtype=np.bool_))
