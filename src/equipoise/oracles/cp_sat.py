"""The oracle by OR-tools' CP-SAT: a second exact solver, which shares nothing with ours but the reduction.

Linearisation level 2 and one worker: at the default level it is 10 to 100 times slower here, and two workers are worse
than one (ORACLES.md section 8). The hint is complete, record and conjunctions: a hint of the record alone is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from equipoise.core import FloatArray, IntArray
from equipoise.errors import SettingError
from equipoise.oracles.instance import Instance
from equipoise.oracles.local_search import search_part
from equipoise.oracles.oracle import Solutions
from equipoise.oracles.part import Part, part_of
from equipoise.oracles.reduction import reduce

__all__ = ["CpSat"]

SCALE = 1_000_000
"""CP-SAT counts in whole numbers: weights that are not whole are rounded to millionths."""
LARGEST = 2**52
"""Objectives beyond this would leave CP-SAT's integers."""


@dataclass(frozen=True)
class CpSat:
    """Exact best records, one copy after the other.

    Attributes:
        max_work: CP-SAT's deterministic time (about seconds of one core, but the same on every machine).
        num_kicks: Kicks of the local search whose record is the hint.
    """

    name: ClassVar[str] = "cp_sat"

    max_work: float = 60.0
    num_kicks: int = 100

    def refuses(self, instance: Instance) -> str | None:
        """When OR-tools is not installed, or the weights are too large to be rounded."""
        if find_spec("ortools") is None:
            return "OR-tools is not installed; install equipoise[solvers]"
        size = np.abs(instance.weights).sum(axis=1).max(initial=0.0)
        if instance.tilts is not None:
            size += np.abs(instance.tilts).sum(axis=1).max(initial=0.0)
        if size * SCALE > LARGEST:
            return "the weights and tilts are too large for whole numbers in millionths; divide them by a constant"
        return None

    def solve(self, instance: Instance, rng: np.random.Generator) -> Solutions:
        """The best record of each copy, or the best found within the limit."""
        if (reason := self.refuses(instance)) is not None:
            raise SettingError(f"CP-SAT cannot be used: {reason}")
        reduction = reduce(instance, rng)
        seeds = rng.integers(2**31 - 1, size=instance.num_copies)
        widths = (reduction.literals >= 0).sum(axis=1)
        chosen = np.zeros((instance.num_copies, len(reduction.columns)), dtype=np.int64)
        bounds, proved = np.zeros(instance.num_copies), np.ones(instance.num_copies, dtype=np.bool_)
        for b in range(instance.num_copies):
            weights = reduction.weights[min(b, len(reduction.weights) - 1)]
            part = part_of(reduction.starts, reduction.literals, widths, weights, reduction.tilts[b])
            bounds[b], proved[b] = self._solve_copy(part, chosen[b], int(seeds[b]))
        return reduction.solutions(chosen, bounds, proved)

    def _solve_copy(self, part: Part, record: IntArray, seed: int) -> tuple[float, bool]:
        """Writes the best record; returns an upper bound and whether CP-SAT finished."""
        from ortools.sat.python import cp_model

        _, hinted = search_part(part, record, seed, self.num_kicks)
        model, values, exact = _model(cp_model.CpModel(), part, record)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.linearization_level = 2
        solver.parameters.random_seed = seed
        solver.parameters.max_deterministic_time = self.max_work
        status = solver.solve(model)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return hinted.bound, False  # and the record is the hint; CP-SAT's bound reads 0 here, and means nothing
        on = np.array([solver.boolean_value(value) for value in values], dtype=np.bool_)
        record[:] = [start + int(np.argmax(on[start:end])) for start, end in pairwise(part.starts)]
        rounding = 0.0 if exact else 0.5 * (len(part.weights) + len(record)) / SCALE
        bound = solver.best_objective_bound / (1 if exact else SCALE) + rounding
        return min(bound, hinted.bound), status == cp_model.OPTIMAL


def _model(model: Any, part: Part, hint: IntArray) -> tuple[Any, list[Any], bool]:
    """One variable a value, exactly one of each column; one a conjunction, linked on the side that it pulls to."""
    values = [model.new_bool_var("") for _ in part.column]
    for start, end in pairwise(part.starts):
        model.add_exactly_one(values[start:end])
    holds = []
    for literals, width, weight in zip(part.literals, part.widths, part.weights, strict=True):
        hold = model.new_bool_var("")
        if weight > 0:
            model.add_bool_and([values[v] for v in literals[:width]]).only_enforce_if(hold)
        else:
            model.add_bool_or([*(values[v].negated() for v in literals[:width]), hold])
        holds.append(hold)
    factors: FloatArray = np.concatenate([part.tilts, part.weights])
    exact = bool((factors == np.round(factors)).all())
    whole = np.round(factors * (1 if exact else SCALE)).astype(np.int64)
    from ortools.sat.python import cp_model

    model.maximize(cp_model.LinearExpr.weighted_sum([*values, *holds], whole.tolist()))
    on = np.zeros(len(values), dtype=np.bool_)
    on[hint] = True
    for value, hinted in zip(values, on, strict=True):
        model.add_hint(value, bool(hinted))
    for hold, literals, width in zip(holds, part.literals, part.widths, strict=True):
        model.add_hint(hold, bool(on[literals[:width]].all()))
    return model, values, exact
