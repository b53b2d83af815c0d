"""What a model can reach: the possible cells of the domain, and the queries whose answers a tilt can change.

A model that gives weight only to some records (public rows, or the cells that the schema's rules allow) answers 0 to a
query that accepts none of them, whatever the weights: measurements of such queries are skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.core import Move
from equipoise.data.distributions import Histogram
from equipoise.data.rules import Rules
from equipoise.queries.workload import Workload

__all__ = ["Reach", "of_rules", "possible_start"]


class Reach:
    """Which queries of a workload accept any record that has weight; worked out once.

    Args:
        answers: All answers of a workload on records that have weight: positive where a query accepts any.
    """

    def __init__(self, answers: Callable[[Workload], NDArray[Any]]) -> None:
        self._answers = answers
        self._known: tuple[Workload, NDArray[np.bool_]] | None = None

    def part(self, workload: Workload, move: Move) -> Move:
        """The part of a move whose queries a tilt can change."""
        if self._known is None or self._known[0] is not workload:
            self._known = workload, self._answers(workload) > 0
        return move.part(self._known[1][move.ids])


def possible_start(shape: tuple[int, ...], rules: Rules | None) -> NDArray[np.float32] | None:
    """Logarithm, up to a constant, of the uniform distribution over the possible cells, flat; None: all are."""
    if not rules:
        return None
    return np.where(rules.possible_cells().reshape(-1), np.float32(0), np.float32(-np.inf))


def of_rules(shape: tuple[int, ...], rules: Rules | None) -> Reach | None:
    """The reach of a model of the whole domain; None: every query."""
    if not rules:
        return None

    def answers(workload: Workload) -> NDArray[Any]:
        possible = rules.possible_cells()
        return workload.on(Histogram(possible / np.float32(possible.sum())))

    return Reach(answers)
