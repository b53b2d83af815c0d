"""The rows that remain of a table when each privacy unit keeps at most its share, within a bound on memory.

Units are dealt into groups by their hash. A pass over the table collects the rows of one group, chooses among them and
gives them on; as many groups are made, and passes, as memory demands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.core import Codes, IntArray
from equipoise.data.conversion import ArrowArray
from equipoise.data.siphash import Hashes
from equipoise.data.units import choose_rows, count_kept, hash_lists, hash_rows, hash_units
from equipoise.errors import CapacityError

__all__ = ["Bounding", "Lists", "count_bounded"]

Lists = tuple[IntArray, NDArray[np.int32]]
"""Rows as lists of items, as `Items.encode` gives them."""

SORTING = 3
"""Times the collected bytes that are held while rows are chosen: the pieces, the whole, and the sort's indices."""

MOST_PASSES = 1000

LIST_BYTES = 256
"""Bytes allowed for a row that is a list; longer ones on average take more memory than the limit."""


@dataclass(frozen=True)
class Bounding:
    """How units are bounded.

    Attributes:
        unit: The unit column.
        rows_per_unit: Most rows to keep of a unit.
        seed: Secret; chooses the rows.
        num_groups: Groups that units are dealt into, each of which fits in memory.
    """

    unit: str
    rows_per_unit: int
    seed: int
    num_groups: int

    @classmethod
    def within(
        cls, memory: int, *, num_rows: int, row_bytes: int, unit: str, rows_per_unit: int, seed: int
    ) -> Bounding:
        """With as many groups as it takes to hold one of them, of rows of `row_bytes`, in `memory` bytes.

        Raises:
            CapacityError: That would be too many passes over the table.
        """
        num_groups = max(1, -(-SORTING * num_rows * (row_bytes + 24) // max(memory, 1)))
        if num_groups > MOST_PASSES:
            raise CapacityError(
                f"the memory limit is so low that choosing the rows of each {unit!r} would take {num_groups:,} passes"
                " over the table; raise --memory"
            )
        return cls(unit, rows_per_unit, seed, num_groups)

    def _members(self, units: ArrowArray, group: int) -> tuple[Hashes, IntArray]:
        hashes = hash_units(units, self.unit, self.seed)
        mine = np.flatnonzero(hashes[:, 0] % np.uint64(self.num_groups) == np.uint64(group))
        return hashes[mine], mine

    def codes(self, batches: Callable[[], Iterable[tuple[ArrowArray, Codes]]]) -> Iterator[Codes]:
        """What remains of a table, one group after the other.

        Args:
            batches: Starts a pass over the table: batches of the unit column and of the codes.
        """
        for group in range(self.num_groups):
            hashes, rows, codes = [], [], []
            for units, batch in batches():
                mine_hashes, mine = self._members(units, group)
                chosen = batch[:, mine]
                hashes.append(mine_hashes)
                rows.append(hash_rows(chosen, mine_hashes))
                codes.append(chosen)
            if hashes:
                kept = self._choose(hashes, rows)
                yield np.concatenate(codes, axis=1)[:, kept]

    def lists(self, batches: Callable[[], Iterable[tuple[ArrowArray, Lists]]]) -> Iterator[Lists]:
        """The same of rows that are lists of items."""
        for group in range(self.num_groups):
            hashes, rows, lists = [], [], []
            for units, (starts, items) in batches():
                mine_hashes, mine = self._members(units, group)
                chosen = _take(starts, items, mine)
                hashes.append(mine_hashes)
                rows.append(hash_lists(*chosen, mine_hashes))
                lists.append(chosen)
            if hashes:
                kept = self._choose(hashes, rows)
                yield _take(*_joined(lists), np.flatnonzero(kept))

    def _choose(self, hashes: list[Hashes], rows: list[NDArray[np.uint64]]) -> NDArray[np.bool_]:
        return choose_rows(np.concatenate(hashes), np.concatenate(rows), rows_per_unit=self.rows_per_unit)


def count_bounded(batches: Callable[[], Iterable[ArrowArray]], bounding: Bounding) -> int:
    """How many rows remain, from the unit column alone; the same for every seed."""
    total = 0
    for group in range(bounding.num_groups):
        hashes = [bounding._members(units, group)[0] for units in batches()]
        total += count_kept(np.concatenate(hashes), rows_per_unit=bounding.rows_per_unit) if hashes else 0
    return total


def _take(starts: IntArray, items: NDArray[np.int32], rows: IntArray) -> Lists:
    lengths = np.diff(starts)[rows]
    ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    places = np.repeat(starts[rows] - ends[:-1], lengths) + np.arange(ends[-1])
    return ends, items[places]


def _joined(lists: list[Lists]) -> Lists:
    lengths = np.concatenate([np.diff(starts) for starts, _ in lists])
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    return starts, np.concatenate([items for _, items in lists])
