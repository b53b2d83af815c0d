"""What the query player sees of a round: the distribution that was played, and its answers to the workload."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from equipoise.core import Distribution, FloatArray
from equipoise.queries.queries import Queries

__all__ = ["Played"]


@dataclass(frozen=True)
class Played:
    """A distribution beside the workload it is judged on; public."""

    distribution: Distribution
    workload: Queries

    @cached_property
    def answers(self) -> FloatArray:
        """Probability of every query of the workload, computed once, when first needed."""
        return self.workload.on(self.distribution)
