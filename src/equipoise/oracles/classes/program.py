"""Integer programs in whole numbers, and the two solvers that take them.

CP-SAT computes in whole numbers, so its proof of optimality is exact. HiGHS computes in floats: its bound is lowered by
what its tolerances can be worth, and with large weights it proves a gap that is not zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, sparse

from equipoise.core import IntArray

__all__ = ["Program", "Solver", "solve"]

Solver: TypeAlias = Literal["cp_sat", "highs"]

TOLERANCE = 1e-6
"""What HiGHS counts as whole, as feasible and as optimal."""
LARGEST = 2**52
"""Objectives beyond this are not exact as floats, in which both solvers report them."""


@dataclass
class Program:
    """Minimise a linear objective of whole variables under linear rows, all coefficients whole.

    Example:
        >>> program = Program()
        >>> x = program.variables(2, objective=[-3, -2])
        >>> program.row(x, [1, 1], high=1)
        >>> solve(program, "highs", None)
        (array([1, 0]), -3)
    """

    lower: list[int] = field(default_factory=list)
    upper: list[int] = field(default_factory=list)
    objective: list[int] = field(default_factory=list)
    rows: list[tuple[list[int], list[int], int | None, int | None]] = field(default_factory=list)

    def variables(self, count: int, *, upper: ArrayLike = 1, objective: ArrayLike = 0) -> IntArray:
        """New variables from 0 to `upper`; returns their places."""
        first = len(self.lower)
        self.lower += [0] * count
        self.upper += np.broadcast_to(np.asarray(upper, dtype=np.int64), count).tolist()
        self.objective += np.broadcast_to(np.asarray(objective, dtype=np.int64), count).tolist()
        return np.arange(first, first + count, dtype=np.int64)

    def row(self, variables: ArrayLike, factors: ArrayLike, low: int | None = None, high: int | None = None) -> None:
        """Require low <= Σ factors · variables <= high."""
        places, numbers = np.asarray(variables, dtype=np.int64), np.asarray(factors, dtype=np.int64)
        self.rows.append((places.tolist(), np.broadcast_to(numbers, places.shape).tolist(), low, high))


def solve(program: Program, solver: Solver, max_work: float | None) -> tuple[IntArray | None, int | None]:
    """A solution, and a bound that no solution is below; None for what was not found.

    Args:
        program: What is minimised.
        solver: Which one.
        max_work: CP-SAT's deterministic time, or nodes of HiGHS; None for no limit.
    """
    if sum(map(abs, program.objective)) > LARGEST:
        return None, None
    return _cp_sat(program, max_work) if solver == "cp_sat" else _highs(program, max_work)


def _cp_sat(program: Program, max_work: float | None) -> tuple[IntArray | None, int | None]:
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    places = [model.new_int_var(low, high, "") for low, high in zip(program.lower, program.upper, strict=True)]
    for variables, factors, low, high in program.rows:
        total = cp_model.LinearExpr.weighted_sum([places[v] for v in variables], factors)
        least = cp_model.INT_MIN if low is None else low
        model.add_linear_constraint(total, least, cp_model.INT_MAX if high is None else high)
    model.minimize(cp_model.LinearExpr.weighted_sum(places, program.objective))
    engine = cp_model.CpSolver()
    engine.parameters.num_workers = 1
    engine.parameters.linearization_level = 2
    engine.parameters.random_seed = 0
    if max_work is not None:
        engine.parameters.max_deterministic_time = max_work
    status: Any = engine.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None, None
    solution = np.array([engine.value(place) for place in places], dtype=np.int64)
    return solution, math.ceil(engine.best_objective_bound - TOLERANCE)


def _highs(program: Program, max_work: float | None) -> tuple[IntArray | None, int | None]:
    rows = [row for row, (variables, *_) in enumerate(program.rows) for _ in variables]
    columns = [v for variables, *_ in program.rows for v in variables]
    factors = [f for _, each, *_ in program.rows for f in each]
    shape = (len(program.rows), len(program.lower))
    matrix = sparse.csr_array((np.array(factors, dtype=np.float64), (rows, columns)), shape=shape)
    low = [-np.inf if limit is None else limit for *_, limit, _ in program.rows]
    high = [np.inf if limit is None else limit for *_, limit in program.rows]
    options: dict[str, float] = {"mip_rel_gap": 0.0}
    if max_work is not None:
        options["node_limit"] = max_work
    found: Any = optimize.milp(
        np.array(program.objective, dtype=np.float64),
        integrality=np.ones(len(program.lower)),
        bounds=optimize.Bounds(np.array(program.lower), np.array(program.upper)),
        constraints=optimize.LinearConstraint(matrix, low, high) if program.rows else (),
        options=options,
    )
    if found.x is None or found.mip_dual_bound is None or not np.isfinite(found.mip_dual_bound):
        return None, None
    slack = TOLERANCE * (1 + sum(map(abs, program.objective)))
    return np.rint(found.x).astype(np.int64), math.ceil(found.mip_dual_bound - slack)
