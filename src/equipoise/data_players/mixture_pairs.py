"""A mixture's column when everything measured is a pair or a single column: dense, and fast for many columns.

Row k of the matrix S of `mixture_kernels` is then just the other columns' tables of component k, one after the other.
All columns share one such matrix, each reading its own part with precision 0, and the inner loops run along whole rows
of it. With 100 columns of 10 values that is several times faster than entry by entry, though half of the entries are
zero.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from equipoise.core import FloatArray, IntArray
from equipoise.data_players import mixture_kernels as kernels
from equipoise.data_players.mixture_block import Columns, Factors, Measured, Run, Singles

__all__ = ["PairBlock", "pair_blocks", "suits"]

LARGEST_MEAN_SIZE = 24
"""Values a column in the mean. A component keeps a few of them, so larger ones are better done by entries."""


def suits(sizes: Sequence[int], measured: Collection[Columns]) -> bool:
    """Whether the dense form is the faster one: pairs, most of them measured, of columns that are not large."""
    num_cells = sum(math.prod(sizes[c] for c in columns) for columns in measured)
    return (
        len(sizes) > 2
        and all(len(columns) <= 2 for columns in measured)
        and sum(sizes) <= LARGEST_MEAN_SIZE * len(sizes)
        and num_cells >= sum(sizes) ** 2 / 8
    )


@numba.njit(cache=True, nogil=True, fastmath=kernels.FAST)  # type: ignore[untyped-decorator]
def _times(begin: int, end: int, rows: NDArray[Any], table: NDArray[Any], result: NDArray[Any]) -> None:
    """Rows `begin` to `end` - 1 times the transpose of a table, into the same rows of `result`."""
    size, length = table.shape
    for k in range(begin, end):
        row = rows[k]
        for v in range(size):
            line, total = table[v], np.float32(0.0)
            for r in range(length):
                total += row[r] * line[r]
            result[k, v] = total


class _Tables:
    """All columns' tables side by side, and a last cell that is always 1: what a single column is paired with."""

    def __init__(self, factors: Factors) -> None:
        self.starts = factors.starts
        self.by_component = np.ones((factors.num_components, int(factors.starts[-1]) + 1), dtype=np.float32)
        self.by_cell = np.ones(self.by_component.shape[::-1], dtype=np.float32)
        for column, table in enumerate(factors.tables):
            self.put(column, table)

    def part(self, column: int) -> slice:
        return slice(int(self.starts[column]), int(self.starts[column + 1]))

    def put(self, column: int, table: Singles) -> None:
        self.by_component[:, self.part(column)] = table
        self.by_cell[self.part(column)] = table.T


@dataclass(frozen=True, eq=False)
class PairBlock:
    """Every measured pair that has a given column; see `mixture_block.Block`.

    Attributes:
        column: The column.
        tables: Shared by all blocks.
        targets: Noisy shares: a row for each cell of each column (and one for the column alone), a column a value.
        precisions: 1/variance of each, 0 where not measured; as in the loss, and divided by the marginal's order.
        apart: As in `Block`, or None.
        orders: Number of columns of each marginal.
    """

    column: int
    tables: _Tables
    targets: Singles
    precisions: Singles
    counted: Singles
    apart: Singles | None
    orders: IntArray

    def improve(self, factors: Factors, start: Singles, num_steps: int, run: Run) -> FloatArray:
        """See `Block.improve`: the same steps."""
        num_components = factors.num_components
        by_component, by_cell = np.arange(num_components + 1), np.arange(len(self.targets) + 1)
        answers, slope = np.empty_like(self.targets), np.empty_like(start)
        curvature = np.empty((num_components, 1), dtype=np.float32)
        table, point, momentum, first = factors.tables[self.column], start, 1.0, np.zeros(2)
        for step in range(num_steps):
            run(_times, by_cell, self.tables.by_cell, np.ascontiguousarray(point.T), answers)
            answers *= np.float32(1.0 / num_components)
            off = answers - self.targets
            if step == 0:
                first = self._losses(off)
                bound = answers.sum(axis=1) * self.precisions.max(axis=1)
                run(_times, by_component, self.tables.by_component, bound[None, :], curvature)
            weighted = np.ascontiguousarray((self.precisions * off).T)
            run(_times, by_component, self.tables.by_component, weighted, slope)
            improved = np.empty_like(start)
            run(kernels.project, by_component, point, slope, curvature[:, 0], improved)
            larger = (1.0 + math.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
            point = improved + np.float32((momentum - 1.0) / larger) * (improved - table)
            table, momentum = improved, larger
        factors.put(self.column, table)
        self.tables.put(self.column, table)
        return first

    def _losses(self, off: Singles) -> FloatArray:
        weighted = (self.counted * off).astype(np.float64)
        loss = float((weighted * off).sum())
        return np.array([loss, loss if self.apart is None else loss + 2.0 * float((weighted * self.apart).sum())])


def pair_blocks(factors: Factors, measured: Mapping[Columns, Measured]) -> list[PairBlock]:
    """A block for each column."""
    tables = _Tables(factors)
    return [
        _block(column, tables, {columns: marginal for columns, marginal in measured.items() if column in columns})
        for column in range(len(factors.tables))
    ]


def _block(column: int, tables: _Tables, measured: Mapping[Columns, Measured]) -> PairBlock:
    part = tables.part(column)
    shape = (len(tables.by_cell), part.stop - part.start)
    targets, precisions, counted, apart = (np.zeros(shape, dtype=np.float32) for _ in range(4))
    for columns, marginal in measured.items():
        other = [c for c in columns if c != column]
        rows = tables.part(other[0]) if other else slice(shape[0] - 1, shape[0])

        def placed(values: FloatArray, axis: int = columns.index(column)) -> FloatArray:
            return np.moveaxis(values, axis, -1).reshape(-1, shape[1])

        targets[rows] = placed(marginal.shares)
        precisions[rows] = placed(marginal.precisions)
        counted[rows] = precisions[rows] / np.float32(len(columns))
        if marginal.apart is not None:
            apart[rows] = placed(marginal.apart)
    judged = any(marginal.apart is not None for marginal in measured.values())
    orders = np.array([len(columns) for columns in measured], dtype=np.int64)
    return PairBlock(column, tables, targets, precisions, counted, apart if judged else None, orders)
