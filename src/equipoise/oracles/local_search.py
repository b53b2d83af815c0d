"""The heuristic oracle: for each independent part one bound and an annealed search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from equipoise.core import IntArray
from equipoise.errors import SettingError
from equipoise.oracles.branching import ROUNDING, branch
from equipoise.oracles.division import Solved, solve_by_parts
from equipoise.oracles.instance import Instance
from equipoise.oracles.oracle import Solutions
from equipoise.oracles.part import Part
from equipoise.oracles.search import anneal

__all__ = ["LocalSearch", "search_part", "step_of"]


@dataclass(frozen=True)
class LocalSearch:
    """Good records fast, with an upper bound but seldom a proof. For dense binary records, where nothing proves more.

    Attributes:
        num_kicks: Kicks for each part of each copy; more find better records.
    """

    name: ClassVar[str] = "local_search"

    num_kicks: int = 1000

    def __post_init__(self) -> None:
        if self.num_kicks < 0:
            raise SettingError("local search cannot have a negative number of kicks")

    def refuses(self, instance: Instance) -> str | None:
        """Never."""
        return None

    def solve(self, instance: Instance, rng: np.random.Generator) -> Solutions:
        """The best record found for each copy."""
        return solve_by_parts(
            instance, rng, lambda part, record, seed: search_part(part, record, seed, self.num_kicks)[1]
        )


def search_part(part: Part, record: IntArray, seed: int, num_kicks: int) -> tuple[float, Solved]:
    """A good record of a part, written to `record`; its value, and what the first bound says of it."""
    # One node bounds the part and gives a start; it proves many parts, which then need no search at all.
    start, ceiling, num_nodes = branch(part, record, -np.inf, step_of(part), 1)
    if num_nodes <= 1:
        return start, Solved(ceiling, True)
    best = max(start, anneal(part, record, num_kicks, seed))
    proved = best + max(step_of(part) - 1e-6, ROUNDING) > ceiling
    return best, Solved(best if proved and step_of(part) > 0.0 else max(ceiling, best), proved)


def step_of(part: Part) -> float:
    """The least difference between the values of two records, when it is known: 1 for whole weights, else 0."""
    whole = (part.weights == np.round(part.weights)).all() and (part.tilts == np.round(part.tilts)).all()
    return 1.0 if whole else 0.0
