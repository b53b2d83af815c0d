"""What the oracles of this package do before they search: reduce, drop what is dominated, fall apart into parts.

The copies are shared out over plain threads, which sleep while they wait; the compiled kernels hold no lock. A copy's
record does not depend on which thread had it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numba
import numpy as np

from equipoise.core import FloatArray, IntArray
from equipoise.oracles.dominance import dominate
from equipoise.oracles.instance import Instance
from equipoise.oracles.oracle import Solutions
from equipoise.oracles.part import Part, components, part_of, take
from equipoise.oracles.reduction import reduce

__all__ = ["PartSolver", "solve_by_parts"]


class Solved(NamedTuple):
    """How good a part's record is: an upper bound, and whether no record is better."""

    bound: float
    proved: bool


PartSolver = Callable[[Part, IntArray, int], Solved]
"""`solve(part, record, seed)` writes the best record it finds for a part that does not fall apart."""


def solve_by_parts(instance: Instance, rng: np.random.Generator, solve: PartSolver) -> Solutions:
    """Records for all copies: what dominance decides, and `solve`'s records for the parts that are left."""
    reduction = reduce(instance, rng)
    num_copies = instance.num_copies
    seeds = rng.integers(2**62, size=num_copies)
    widths = (reduction.literals >= 0).sum(axis=1)
    whole = part_of(reduction.starts, reduction.literals, widths, reduction.weights[0], reduction.tilts[0])
    chosen = np.empty((num_copies, len(reduction.columns)), dtype=np.int64)
    solved: list[Solved | None] = [None] * num_copies

    def solve_copy(b: int) -> None:
        part = whole._replace(weights=reduction.weights[min(b, len(reduction.weights) - 1)], tilts=reduction.tilts[b])
        solved[b] = _solve_copy(part, chosen[b], int(seeds[b]), solve)

    num_threads = min(num_copies, int(numba.config.NUMBA_NUM_THREADS))
    if num_threads == 1:
        for b in range(num_copies):
            solve_copy(b)
    else:
        with ThreadPoolExecutor(num_threads) as pool:
            list(pool.map(solve_copy, range(num_copies)))
    bounds = np.array([outcome.bound for outcome in solved if outcome is not None])
    return reduction.solutions(chosen, bounds, [outcome.proved for outcome in solved if outcome is not None])


def _solve_copy(part: Part, chosen: IntArray, seed: int, solve: PartSolver) -> Solved:
    tilts: FloatArray = part.tilts.copy()
    kept = np.ones(len(tilts), dtype=np.bool_)
    live = part.weights != 0.0
    chosen[:] = -1
    total, proved = dominate(part, tilts, kept, live, chosen), True
    if chosen.min(initial=0) >= 0:
        return Solved(total, True)
    columns, column_ends, conjunctions, conjunction_ends = components(part, live, chosen)
    place: Any = np.full(len(tilts), -1, dtype=np.int64)
    for i in range(len(column_ends) - 1):
        own = columns[column_ends[i] : column_ends[i + 1]]
        linked = conjunctions[conjunction_ends[i] : conjunction_ends[i + 1]]
        sub, values = take(part, tilts, own, linked, kept, place)
        record = np.zeros(len(own), dtype=np.int64)
        outcome = solve(sub, record, seed + i)
        chosen[own] = values[record]
        total += outcome.bound
        proved = proved and outcome.proved
    return Solved(total, proved)
