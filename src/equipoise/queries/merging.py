"""Which values of each column to count together, where noise is too coarse to tell them apart. Public.

A marginal's noise is the same in every cell, however many there are: a pair of columns of a hundred values is ten
thousand cells of noise, in which ten by ten parts would have been seen well. So values are merged before anything but
single columns is measured: rare ones, next to their neighbours, into parts of some weight. Which of them are rare is
what the noisy single columns say, so the choice is post-processing; and as a record is in one cell of the parts, too,
measuring those costs what measuring cells does.

Neighbours: values are merged in their order, which has a meaning in most columns of many values (ages, amounts, dates).
Where it has none, parts are arbitrary, and no worse than any others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.core import Codes, Distribution, FloatArray, IntArray, Move
from equipoise.data.domain import Domain
from equipoise.queries.denoising import estimated, on_simplex
from equipoise.queries.group import Group
from equipoise.queries.workload import Workload

__all__ = ["Merging", "Parted", "merge_values", "merging_of", "moved"]

LEAST = 0.05
"""Share of the rows that a part should have: less than that does not rise above the noise of a pair's cells where
merging pays at all."""

STEP = 1.15
"""By which that share is raised until there are few enough parts."""


@dataclass(frozen=True, eq=False)
class Merging:
    """Columns whose values are merged into parts.

    Attributes:
        domain: The columns as they are.
        parts: For each column, the part that each value belongs to.
        known: For each column, its distribution, as far as it is known.
    """

    domain: Domain
    parts: tuple[IntArray, ...]
    known: tuple[FloatArray, ...]

    @classmethod
    def chosen(cls, domain: Domain, noisy: Sequence[FloatArray | None], stddevs: Sequence[float], most: int) -> Merging:
        """Merge each column as its noisy shares say; all values of one that was not measured are one part.

        Args:
            domain: The columns.
            noisy: Their noisy shares; None: not measured.
            stddevs: Of the noise of each.
            most: Parts of a column at most.
        """
        parts, every = [], []
        for size, shares, stddev in zip(domain.sizes, noisy, stddevs, strict=True):
            if shares is None:
                part, known = np.zeros(size, dtype=np.int64), np.full(size, 1.0 / size)
            else:
                shares = shares + (1.0 - shares.sum()) / size
                known = on_simplex(estimated(shares, stddev).values)
                part = merge_values(known, most)
                known = _smoothed_within(part, known, shares, stddev)
            parts.append(part)
            every.append(known)
        return cls(domain, tuple(parts), tuple(every))

    @cached_property
    def merged(self) -> Domain:
        """The columns with a value for each part."""
        return Domain(self.domain.columns, tuple(int(part.max()) + 1 for part in self.parts))

    @cached_property
    def within(self) -> tuple[FloatArray, ...]:
        """For each column, how likely each value is within its part; all alike in a part that is thought empty."""
        result = []
        for part, known in zip(self.parts, self.known, strict=True):
            weights, alike = np.bincount(part, known)[part], 1.0 / np.bincount(part)[part]
            result.append(np.divide(known, weights, out=alike, where=weights > 0.0))
        return tuple(result)

    def workload(self, column_sets: Sequence[tuple[int, ...]]) -> Workload:
        """Marginals of the merged columns."""
        sizes = self.merged.sizes
        return Workload(self.merged, tuple(Group(c, tuple(sizes[i] for i in c)) for c in column_sets))

    def groups(self, column_sets: Sequence[tuple[int, ...]]) -> tuple[Group, ...]:
        """The same queries, in the same order, of the columns as they are."""
        sizes = self.domain.sizes
        return tuple(Group(c, tuple(sizes[i] for i in c), merged=tuple(self.parts[i] for i in c)) for c in column_sets)

    def distribution(self, played: Distribution) -> Parted:
        """A distribution of the columns as they are, as one of the merged columns."""
        return Parted(self, played)


@dataclass(frozen=True, eq=False)
class Parted:
    """A distribution, seen by parts of the columns' values; see `Distribution`."""

    merging: Merging
    whole: Distribution

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of parts of each column."""
        return self.merging.merged.sizes

    def marginal(self, columns: tuple[int, ...]) -> FloatArray:
        """Probabilities of the cells of a marginal."""
        (group,) = self.merging.groups([columns])
        answers = group.answers(self.whole.marginal(columns))
        return answers.reshape(tuple(self.shape[c] for c in columns))

    def sample(self, rng: np.random.Generator, num_rows: int) -> Codes:
        """Rows drawn from the distribution, each value replaced by its part."""
        rows = self.whole.sample(rng, num_rows)
        return np.stack([part[codes] for part, codes in zip(self.merging.parts, rows, strict=True)]).astype(rows.dtype)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """That of the whole: parts are what the game sees, not what is released."""
        return self.whole.to_arrays()


def _smoothed_within(part: IntArray, known: FloatArray, noisy: FloatArray, stddev: float) -> FloatArray:
    """What is known, but values that were merged share their part as their neighbours say; parts keep their sums."""
    merged = np.bincount(part)[part] > 1
    if not merged.any():
        return known
    smooth = known.copy()
    smooth[merged] = estimated(noisy[merged], stddev).values + 1e-9  # alike, where all of a part are thought empty
    sums = np.bincount(part, known)[part] / np.maximum(np.bincount(part, smooth)[part], 1e-300)
    return np.where(merged, smooth * sums, known)


def merging_of(asked: Workload, move: Move, num_rows: int, most: int) -> Merging:
    """The merging that a move of single columns' counts says; public, and the same for whoever asks."""
    sizes = asked.domain.sizes
    noisy: list[FloatArray | None] = [None] * len(sizes)
    stddevs = [1.0] * len(sizes)
    owners = asked.group_of(move.ids)
    noise = np.broadcast_to(np.asarray(move.stddev, dtype=np.float64), move.ids.shape)
    assert move.values is not None
    for owner in np.unique(owners):
        (column,), here = asked.groups[owner].columns, owners == owner
        noisy[column] = move.values[here] / num_rows
        stddevs[column] = float(noise[here][0]) / num_rows
    return Merging.chosen(asked.domain, noisy, stddevs, most)


def moved(move: Move, by: int) -> Move:
    """The move with its ids moved: from the merged columns' own queries to where they stand after all others."""
    return move._replace(ids=move.ids + by)


def merge_values(shares: FloatArray, most: int, least: float = LEAST) -> IntArray:
    """The part of each value: a value of at least that share is one by itself, the rest are merged in order.

    Example:
        >>> merge_values(np.array([0.5, 0.03, 0.02, 0.04, 0.3, 0.04, 0.03, 0.04]), most=9)
        array([0, 2, 2, 3, 1, 4, 4, 5])
        >>> merge_values(np.full(9, 1 / 9), most=3)
        array([0, 0, 0, 1, 1, 1, 2, 2, 2])
    """
    if len(shares) <= 2:
        return np.arange(len(shares))
    while True:
        large = shares >= least
        parts = np.cumsum(large) - 1
        small, first = np.flatnonzero(~large), int(large.sum())
        if len(small):
            weight = float(shares[small].sum())
            num_parts = max(1, int(weight / least))
            middles = np.cumsum(shares[small]) - shares[small] / 2
            places = np.minimum(middles / max(weight, 1e-300) * num_parts, num_parts - 1).astype(np.int64)
            parts[small] = first + np.unique(places, return_inverse=True)[1]
        if parts.max() < max(most, 1):
            return parts.astype(np.int64)
        least *= STEP
