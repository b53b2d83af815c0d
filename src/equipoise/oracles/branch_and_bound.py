"""The default oracle: for each independent part a short local search, then branch and bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from equipoise.core import IntArray
from equipoise.errors import SettingError
from equipoise.oracles.branching import branch
from equipoise.oracles.division import Solved, solve_by_parts
from equipoise.oracles.instance import Instance
from equipoise.oracles.local_search import search_part, step_of
from equipoise.oracles.oracle import Solutions
from equipoise.oracles.part import Part

__all__ = ["BranchAndBound"]


@dataclass(frozen=True)
class BranchAndBound:
    """Exact best records, for all copies of an instance at once, on as many threads as numba may use.

    On categorical records proof costs about as much as a good heuristic; sparse binary records are decided before any
    search. A part of very many columns is only searched, and said not to be proved.

    Attributes:
        max_nodes: Nodes for one part of one copy; when they are used up, the best record so far is kept and `proved` is
            False.
        num_kicks: Kicks of the local search that starts each part.
        max_columns: A part of more columns is searched, but not branched on.

    Example:
        >>> from equipoise.oracles.instance import OneHot
        >>> instance = Instance.of(OneHot.of([2, 3]), [[0, 1], [1, -1]], [[1, 2], [2, 0]], [1.0, 0.5], [False, True])
        >>> best = BranchAndBound().solve(instance, np.random.default_rng(0))
        >>> best.codes[:, 0].tolist(), best.values.tolist(), best.proved.tolist()
        ([1, 2], [1.0], [True])
    """

    name: ClassVar[str] = "branch_and_bound"

    max_nodes: int = 200_000
    num_kicks: int = 100
    max_columns: int = 100

    def __post_init__(self) -> None:
        if self.max_nodes < 1 or self.num_kicks < 0 or self.max_columns < 1:
            raise SettingError("branch and bound needs at least one node and one column, and no negative kicks")

    def refuses(self, instance: Instance) -> str | None:
        """Never: what is too large is searched, and said not to be proved."""
        return None

    def solve(self, instance: Instance, rng: np.random.Generator) -> Solutions:
        """The best record of each copy, proved wherever the limits allow."""
        return solve_by_parts(instance, rng, self._solve_part)

    def _solve_part(self, part: Part, record: IntArray, seed: int) -> Solved:
        best, found = search_part(part, record, seed, self.num_kicks)
        if found.proved or len(record) > self.max_columns:
            return found
        _, ceiling, num_nodes = branch(part, record, best, step_of(part), self.max_nodes)
        return Solved(min(ceiling, found.bound), num_nodes <= self.max_nodes)
