"""Counts of a marginal that has far more cells than the table has rows: only the cells that occur are kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from equipoise.core import Codes, IntArray
from equipoise.queries.cover import Columns

__all__ = ["SparseCounts", "SparseTally"]

COLLECTED = 2**20
"""Cells gathered before they are merged: the sort of a merge is then shared by many batches."""


class SparseCounts(NamedTuple):
    """Cells of a marginal, increasing, in C order of its columns, and how many rows each has."""

    cells: IntArray
    counts: IntArray

    @classmethod
    def merged(cls, parts: Sequence[SparseCounts]) -> SparseCounts:
        """The sum of several.

        Example:
            >>> one = SparseCounts(np.array([2, 9]), np.array([1, 4]))
            >>> [array.tolist() for array in SparseCounts.merged([one, one])]
            [[2, 9], [2, 8]]
        """
        cells, places = np.unique(np.concatenate([part.cells for part in parts]), return_inverse=True)
        counts = np.zeros(len(cells), dtype=np.int64)
        np.add.at(counts, places, np.concatenate([part.counts for part in parts]))
        return cls(cells, counts)


class SparseTally:
    """Running counts of one marginal over batches of rows."""

    def __init__(self, columns: Columns, sizes: Sequence[int]) -> None:
        self.columns = columns
        shape = [sizes[c] for c in columns]
        self._strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
        self._known = SparseCounts(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
        self._waiting: list[IntArray] = []
        self._num_waiting = 0

    def add(self, codes: Codes) -> None:
        """Counts rows, encoded, of all columns."""
        cells = np.zeros(codes.shape[1], dtype=np.int64)
        for column, stride in zip(self.columns, self._strides, strict=True):
            cells += codes[column].astype(np.int64) * stride
        self._waiting.append(cells)
        self._num_waiting += len(cells)
        if self._num_waiting >= COLLECTED:
            self._merge()

    def counts(self) -> SparseCounts:
        """The counts so far."""
        self._merge()
        return self._known

    def _merge(self) -> None:
        if self._waiting:
            fresh = SparseCounts(*np.unique(np.concatenate(self._waiting), return_counts=True))
            self._known = SparseCounts.merged([self._known, fresh])
            self._waiting, self._num_waiting = [], 0
