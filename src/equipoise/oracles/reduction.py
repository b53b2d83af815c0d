"""The instance without what decides itself: equal conjunctions merged, values that no conjunction names left out.

For each column the values that occur in a conjunction are kept, and one *free* value: the best of the others. Columns
without a conjunction take their best value at once. The structure is the same for all copies; only weights, tilts and
the choice of the free values differ. Ties between free values, and columns of which nothing is said, are decided by
public randomness.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.core import Codes, FloatArray, IntArray
from equipoise.oracles.instance import Instance
from equipoise.oracles.oracle import Solutions

__all__ = ["Reduction", "reduce"]


@dataclass(frozen=True, eq=False)
class Reduction:
    """Maximise constants[b] + Σ_c weights[b, c]·[conjunction c holds] + Σ tilts[b, chosen value of each column].

    Attributes:
        starts: Where the values of each remaining column begin; one more for the end.
        literals: Shape (num_conjunctions, width), values padded at the end with -1. Rows are distinct and have at least
            two literals, of different columns; a conjunction of one literal is part of the tilts.
        weights: Shape (1 or num_copies, num_conjunctions); negations are negative weights.
        tilts: Shape (num_copies, num_values).
        constants: Shape (num_copies,).
        columns: Which columns of the record remain.
        origins: Shape (num_copies, num_values): the record's value that each remaining value stands for.
        rest: The codes of a record for each copy, to be overwritten in `columns`.
    """

    starts: IntArray
    literals: IntArray
    weights: FloatArray
    tilts: FloatArray
    constants: FloatArray
    columns: IntArray
    origins: IntArray
    rest: Codes
    instance: Instance

    @property
    def num_copies(self) -> int:
        """How many problems this is."""
        return len(self.tilts)

    def solutions(
        self, chosen: IntArray, bounds: FloatArray, proved: ArrayLike, notes: tuple[str, ...] = ()
    ) -> Solutions:
        """Records from the chosen values, shape (num_copies, remaining columns); `bounds` without the constants."""
        codes = self.rest.copy()
        found = np.take_along_axis(self.origins, chosen, axis=1)
        codes[self.columns] = (found - self.instance.record.starts[self.columns]).T
        values = self.instance.values(codes)
        # A bound and a value are sums in different orders: the last bit must not put a value above its bound.
        bounds = np.maximum(bounds + self.constants, values)
        return Solutions(codes, values, bounds, np.asarray(proved, dtype=np.bool_), notes)


def reduce(instance: Instance, rng: np.random.Generator) -> Reduction:
    """Everything that can be decided without search, for all copies at once."""
    literals, weights, constants = _conjunctions(instance)
    record = instance.record
    values = np.unique(literals[literals >= 0])
    owners = record.columns(values)
    columns, first, counts = np.unique(owners, return_index=True, return_counts=True)
    has_free = counts < record.sizes[columns]
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts + has_free)])
    places = np.repeat(starts[:-1] - first, counts) + np.arange(len(values))
    free, rest, gained = _free_values(instance, columns, np.append(first, len(values)), values, rng)
    origins = np.empty((instance.num_copies, int(starts[-1])), dtype=np.int64)
    origins[:, places] = values
    origins[:, starts[1:][has_free] - 1] = free[:, has_free]
    tilts = np.zeros(origins.shape) if instance.tilts is None else np.take_along_axis(instance.tilts, origins, axis=1)
    if len(values):
        literals = np.where(literals < 0, -1, places[np.searchsorted(values, np.maximum(literals, values[0]))])
    single = (literals >= 0).sum(axis=1) == 1
    tilts[:, literals[single, 0]] += weights[:, single]
    # The kernels are compiled for one layout of their arrays: rows without gaps.
    literals, weights = np.ascontiguousarray(literals[~single]), np.ascontiguousarray(weights[:, ~single])
    return Reduction(starts, literals, weights, tilts, constants + gained, columns, origins, rest, instance)


def _conjunctions(instance: Instance) -> tuple[IntArray, FloatArray, FloatArray]:
    """Distinct conjunctions that can hold, their weights, and the constant of each copy."""
    weights = np.where(instance.negated, -instance.weights, instance.weights)
    constants = np.where(instance.negated, instance.weights, 0.0).sum(axis=1)
    pad = instance.record.num_values
    literals = np.sort(np.where(instance.literals < 0, pad, instance.literals), axis=1)
    if literals.shape[1] > 1:
        again = literals[:, 1:] == literals[:, :-1]
        literals[:, 1:][again] = pad
        literals = np.sort(literals, axis=1)
        owners = np.where(literals == pad, -1, instance.record.columns(literals))
        possible = ~((owners[:, 1:] == owners[:, :-1]) & (owners[:, 1:] >= 0)).any(axis=1)
        literals, weights = literals[possible], weights[:, possible]
    literals = np.where(literals == pad, -1, literals)
    empty = (literals < 0).all(axis=1)
    constants = constants + weights[:, empty].sum(axis=1)
    literals, weights = _merged(literals[~empty], weights[:, ~empty])
    return literals, weights, np.broadcast_to(constants, instance.num_copies).copy()


def _merged(literals: IntArray, weights: FloatArray) -> tuple[IntArray, FloatArray]:
    if len(literals) == 0:
        return literals.reshape(0, max(literals.shape[1], 1)), weights
    order = np.lexsort(literals.T[::-1])
    literals, weights = literals[order], weights[:, order]
    begins = np.append(True, (literals[1:] != literals[:-1]).any(axis=1))
    weights = np.add.reduceat(weights, np.flatnonzero(begins), axis=1)
    kept = (weights != 0.0).any(axis=0)
    return literals[begins][kept], weights[:, kept]


def _free_values(
    instance: Instance, columns: IntArray, ends: IntArray, values: IntArray, rng: np.random.Generator
) -> tuple[IntArray, Codes, FloatArray]:
    """The best value of each remaining column that no conjunction names, and records of best values elsewhere."""
    record, num_copies = instance.record, instance.num_copies
    shape = (record.num_columns, num_copies)
    if instance.tilts is None:
        rest = _uniform(record.sizes, num_copies, instance.code_type, rng)
        free = np.empty((num_copies, len(columns)), dtype=np.int64)
        draws = rng.random(free.shape)
        best_free(record.starts, columns, ends, values, np.zeros((0, 0)), draws, free)
        return free, rest, np.zeros(num_copies)
    every = np.empty((num_copies, record.num_columns), dtype=np.int64)
    named = np.zeros(record.num_columns + 1, dtype=np.int64)
    named[columns + 1] = np.diff(ends)
    everything = np.arange(record.num_columns)
    tilts = np.require(instance.tilts, requirements=["C", "W"])
    best_free(record.starts, everything, np.cumsum(named), values, tilts, rng.random(every.shape), every)
    rest = np.zeros(shape, dtype=instance.code_type)
    others = np.flatnonzero(named[1:] == 0)
    rest[others] = (every[:, others] - record.starts[others]).T
    gained = np.take_along_axis(instance.tilts, every[:, others], axis=1).sum(axis=1)
    return every[:, columns], rest, gained


def _uniform(sizes: IntArray, num_copies: int, code_type: type, rng: np.random.Generator) -> Codes:
    if (sizes == sizes[0]).all():
        return rng.integers(int(sizes[0]), size=(len(sizes), num_copies), dtype=code_type)
    return (rng.random((len(sizes), num_copies)) * sizes[:, None]).astype(code_type)


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def best_free(
    starts: NDArray[Any],
    columns: NDArray[Any],
    ends: NDArray[Any],
    values: NDArray[Any],
    tilts: NDArray[Any],
    draws: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """The best value of each column that is not among its named ones; `draws` decides between equals; -1 for none."""
    for b in range(out.shape[0]):
        for i in range(len(columns)):
            best, equals = -np.inf, 0
            for turn in range(2):
                named = ends[i]
                wanted = int(draws[b, i] * equals)
                for v in range(starts[columns[i]], starts[columns[i] + 1]):
                    if named < ends[i + 1] and values[named] == v:
                        named += 1
                        continue
                    tilt = tilts[b, v] if len(tilts) else 0.0
                    if turn == 0:
                        if tilt > best:
                            best, equals = tilt, 1
                        elif tilt == best:
                            equals += 1
                    elif tilt == best:
                        if wanted == 0:
                            out[b, i] = v
                            break
                        wanted -= 1
            if equals == 0:
                out[b, i] = -1
