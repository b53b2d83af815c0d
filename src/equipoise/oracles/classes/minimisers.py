"""The minimisers over a class of queries: every query in turn, or the class's integer program.

Which one:

    ByEnumeration   small classes: exact, and its time says nothing
    ByBranching     conjunctions and disjunctions of few literals on many records (branching.py): exact
    ByProgram       all classes; CP-SAT proves exactly, HiGHS within its tolerances, and HiGHS may print a line of its
                    own, which is not for others to see when the records are private
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import ClassVar

import numpy as np

from equipoise.errors import CapacityError, SettingError
from equipoise.oracles.classes.program import Solver, solve
from equipoise.oracles.classes.query_class import Minimum, QueryClass, WeightedPoints

__all__ = ["ByEnumeration", "ByProgram"]


@dataclass(frozen=True)
class ByEnumeration:
    """Every query of a small class.

    Example:
        >>> from equipoise.oracles.classes.conjunctions import Conjunctions
        >>> points = np.array([[1, 1, 0], [1, 0, 1]])
        >>> instance = WeightedPoints.of(Conjunctions(3), points, np.array([-2, 1]))
        >>> found = ByEnumeration().solve(instance)
        >>> found.value, found.proved(gap=0)
        (-2, True)
    """

    name: ClassVar[str] = "enumeration"

    max_queries: int = 1_000_000

    def refuses(self, query_class: QueryClass) -> str | None:
        """When the class has too many queries."""
        if query_class.num_queries > self.max_queries:
            return f"the class has more than {self.max_queries} queries"
        return None

    def solve(self, instance: WeightedPoints) -> Minimum:
        """The best query; of equally good ones the first."""
        if (reason := self.refuses(instance.query_class)) is not None:
            raise CapacityError(f"cannot try every query: {reason}; use an integer program")
        every = instance.query_class.every()
        values = instance.values(every)
        best = int(np.argmin(values))
        return Minimum(every[best], int(values[best]), int(values[best]))


@dataclass(frozen=True)
class ByProgram:
    """The class's integer programs.

    Attributes:
        solver: "cp_sat" (needs the extra `solvers`) or "highs".
        max_work: CP-SAT's deterministic time, or nodes of HiGHS; None, the default, runs until it is proved: with a
            limit the chance of a certificate depends on the data, which RSPM's guarantee does not cover.
    """

    name: ClassVar[str] = "integer program"

    solver: Solver = "cp_sat"
    max_work: float | None = None

    def refuses(self, query_class: QueryClass) -> str | None:
        """When OR-tools is asked for and not installed."""
        if self.solver == "cp_sat" and find_spec("ortools") is None:
            return "OR-tools is not installed; install equipoise[solvers], or use HiGHS"
        return None

    def solve(self, instance: WeightedPoints) -> Minimum:
        """The best query of all pieces, its value recomputed from the predicate."""
        if (reason := self.refuses(instance.query_class)) is not None:
            raise SettingError(f"the integer program cannot be used: {reason}")
        found: list[Minimum] = []
        bounds: list[int | None] = []
        for piece in instance.query_class.pieces(instance.points, instance.weights):
            solution, bound = solve(piece.program, self.solver, self.max_work)
            bounds.append(None if bound is None else bound + piece.offset)
            if solution is not None:
                parameters = instance.query_class.canonical(piece.query(solution))
                found.append(Minimum(parameters, int(instance.values(parameters)[0]), None))
        if not found:
            raise CapacityError("the solver found no query within its limit")
        best = min(found, key=lambda minimum: minimum.value)
        known = [bound for bound in bounds if bound is not None]
        return Minimum(best.parameters, best.value, min(known) if len(known) == len(bounds) else None)
