"""One column's part of the fit: all that was measured of it, and the step that fits its factors to that."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from equipoise.core import FloatArray, IntArray
from equipoise.data_players import mixture_kernels as kernels

__all__ = ["Block", "Columns", "Factors", "Measured", "Run", "Singles"]

Columns = tuple[int, ...]
Singles = NDArray[np.float32]
"""Single precision: measured shares are noisy to 1e-5 at best, and half the memory is twice the speed."""


class Run(Protocol):
    """Runs a kernel over a range, perhaps in parts at the same time."""

    def __call__(self, kernel: Callable[..., None], work: IntArray, *arguments: object) -> None:
        """`kernel(begin, end, *arguments)` for parts that make up all items.

        `work` says how much there is to do before each item, and last in all.
        """
        ...


class Measured(NamedTuple):
    """A noisy marginal: shares, their precisions (0 where not measured), and what `Block.apart` says, or None."""

    shares: FloatArray
    precisions: FloatArray
    apart: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Factors:
    """The distributions of every column in every component, and their nonzero entries.

    Attributes:
        tables: For each column an array (num_components, size), its rows on the simplex. Replaced, never changed.
        starts: Where each column's entries begin in the arrays that follow.
        codes: The values with a probability, for each component one column after the other.
        values: Their probabilities.
        counts: How many there are, columns by components.
    """

    tables: list[Singles]
    starts: IntArray
    codes: NDArray[np.int32]
    values: Singles
    counts: IntArray

    @classmethod
    def of(cls, tables: Sequence[FloatArray]) -> Factors:
        """From dense tables."""
        starts = np.concatenate([[0], np.cumsum([table.shape[1] for table in tables])]).astype(np.int64)
        shape = (len(tables[0]), int(starts[-1]))
        factors = cls(
            [np.ascontiguousarray(table, dtype=np.float32) for table in tables],
            starts,
            np.zeros(shape, dtype=np.int32),
            np.zeros(shape, dtype=np.float32),
            np.zeros((len(tables), len(tables[0])), dtype=np.int64),
        )
        for column, table in enumerate(factors.tables):
            factors.put(column, table)
        return factors

    @property
    def num_components(self) -> int:
        """K."""
        return len(self.codes)

    def put(self, column: int, table: Singles) -> tuple[NDArray[np.int32], Singles, IntArray]:
        """Take over a column's table; returns its nonzero entries."""
        self.tables[column] = table
        part = slice(self.starts[column], self.starts[column + 1])
        entries = self.codes[:, part], self.values[:, part], self.counts[column]
        kernels.compact(table, *entries)
        return entries


@dataclass(frozen=True, eq=False)
class Block:
    """Every measured marginal that has a given column, that column's axis last.

    Attributes:
        column: The column.
        others: The other columns of each marginal, `widths` of them, with the `strides` of their cells.
        firsts: The row at which each marginal begins in the tables that follow.
        targets: Noisy shares: a row for each cell of the other columns, a column for each value.
        precisions: 1/variance of each, 0 where not measured.
        apart: How far the targets are from a second set of noisy shares, to which the fit is compared; or empty.
        largest: The largest precision of each row.
        orders: Number of columns of each marginal.
    """

    column: int
    others: IntArray
    strides: IntArray
    widths: IntArray
    firsts: IntArray
    targets: Singles
    precisions: Singles
    apart: Singles
    largest: Singles
    orders: IntArray

    @classmethod
    def build(cls, column: int, sizes: Sequence[int], measured: Mapping[Columns, Measured]) -> Block:
        """From marginals that all have the column."""
        depth = max([1, *(len(columns) - 1 for columns in measured)])
        others = np.zeros((len(measured), depth), dtype=np.int64)
        strides = np.zeros((len(measured), depth), dtype=np.int64)
        firsts = np.zeros(len(measured) + 1, dtype=np.int64)
        for w, columns in enumerate(measured):
            stride = 1
            rest = [c for c in columns if c != column]
            for a in reversed(range(len(rest))):
                others[w, a], strides[w, a] = rest[a], stride
                stride *= sizes[rest[a]]
            firsts[w + 1] = firsts[w] + stride

        def rows(part: Callable[[Measured], FloatArray | None]) -> Singles:
            tables = [np.zeros((0, sizes[column]), dtype=np.float32)]
            for columns, marginal in measured.items():
                table = part(marginal)
                if table is not None:
                    moved = np.moveaxis(table, columns.index(column), -1)
                    tables.append(moved.reshape(-1, sizes[column]).astype(np.float32))
            return np.concatenate(tables)

        orders = np.array([len(columns) for columns in measured], dtype=np.int64)
        precisions = rows(lambda marginal: marginal.precisions)
        return cls(
            *(column, others, strides, orders - 1, firsts),
            targets=rows(lambda marginal: marginal.shares),
            precisions=precisions,
            apart=rows(lambda marginal: marginal.apart),
            largest=precisions.max(axis=1, initial=0.0),
            orders=orders,
        )

    def improve(self, factors: Factors, start: Singles, num_steps: int, run: Run) -> FloatArray:
        """Accelerated proximal steps on this column's factors from `start`, which they replace.

        The curvature of the loss in the factors has no negative entry, so the diagonal matrix of its row sums is an
        upper bound of it (their difference is a graph Laplacian): each component has its own safe step.

        Returns:
            The loss Σ (answer - share)² / variance at `start`, and the same against the second set of shares, up to a
            constant. Each marginal's part is divided by its number of columns: the sum over blocks counts it once.
        """
        num_components, size = start.shape
        shape = (num_components, kernels.filled_up(size))
        ends, rows, products = self._expanded(factors, run)
        by_component = np.arange(num_components + 1)
        by_marginal = ends[::num_components]
        residual = np.empty((len(self.targets), shape[1]), dtype=np.float32)
        losses = np.empty((len(self.orders), 2))
        point, slope = np.zeros(shape, dtype=np.float32), np.empty(shape, dtype=np.float32)
        point[:, :size] = start
        table, curvature, momentum, first = factors.tables[self.column], start[:, 0], 1.0, np.zeros(2)
        for step in range(num_steps):
            used = (point != 0.0).reshape(num_components, -1, kernels.LANES).any(axis=2)
            run(
                *(kernels.residuals, by_marginal, ends, rows, products, self.firsts, point, used),
                *(self.targets, self.precisions, self.apart, self.largest, residual, losses),
            )
            run(kernels.times, by_component, ends, rows, products, residual, slope)
            if step == 0:
                first = (losses / self.orders[:, None]).sum(axis=0)
                curvature = slope[:, size].copy()
            improved = np.empty_like(start)
            run(kernels.project, by_component, point, slope, curvature, improved)
            larger = (1.0 + math.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
            point[:, :size] = improved + np.float32((momentum - 1.0) / larger) * (improved - table)
            table, momentum = improved, larger
        factors.put(self.column, table)
        return first

    def _expanded(self, factors: Factors, run: Run) -> tuple[IntArray, NDArray[np.int32], Singles]:
        """S (see `mixture_kernels`)."""
        ends: IntArray = kernels.ends_of(self.others, self.widths, factors.counts)
        rows = np.empty(ends[-1], dtype=np.int32)
        products = np.empty(ends[-1], dtype=np.float32)
        run(
            *(kernels.expand, ends[:: factors.num_components], self.others, self.strides, self.widths, self.firsts),
            *(factors.starts, factors.codes, factors.values, factors.counts, ends, rows, products),
        )
        return ends, rows, products
