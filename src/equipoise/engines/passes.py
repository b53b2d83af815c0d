"""How a workload is counted within a memory limit: in one pass over the table if its counts fit, else in several.

A pass counts some blocks of the workload's cover. A marginal whose cells do not fit, or that has far more cells than
the table has rows, is counted sparsely. All of it is decided from public quantities.
"""

from __future__ import annotations

import math
import os
import resource
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from equipoise.core import Codes, IntArray, code_type
from equipoise.errors import CapacityError
from equipoise.queries.counting import Tally
from equipoise.queries.cover import Block, Columns, cover
from equipoise.queries.sparse import SparseCounts, SparseTally
from equipoise.queries.workload import Workload

__all__ = ["COUNT_BYTES", "Counts", "Pass", "READ_BYTES", "RESULT_BYTES", "plan_passes", "resident_bytes", "room_for"]

COUNT_BYTES = 4  # of a cell in a tally
SUM_BYTES = 3 * 8  # of a cell of the block whose marginals are summed out: its tensor, and the sums on the way
SPARSE_BYTES = 48  # of a row in a sparse tally: cell and count, twice while they are merged, and the sort's index
RESULT_BYTES = 8  # of a query in the result

READ_BYTES = 96 * 2**20
"""Kept free for reading: pages or CSV blocks of a batch, unpacked, and Arrow's and numpy's arrays on the way."""


@dataclass(frozen=True)
class Pass:
    """What one pass over the table counts.

    Attributes:
        blocks: Marginals counted densely, and what is summed out of each.
        sparse: Marginals of which only the cells that occur are counted.
    """

    blocks: tuple[Block, ...]
    sparse: tuple[Columns, ...] = ()


def room_for(workload: Workload, memory: int, *, threads: int, batch_rows: int) -> int:
    """Bytes that are left of the limit for counts, when the process, the batches and the result have theirs.

    Raises:
        CapacityError: Nothing is.
    """
    sizes = workload.domain.sizes
    width = np.dtype(code_type(max(sizes))).itemsize
    Tally([Block((0,), ((0,),))], sizes).add(np.zeros((len(sizes), 1), dtype=f"u{width}"))  # compiles, once
    batches = 2 * threads * batch_rows * len(sizes) * width
    fixed = resident_bytes() + READ_BYTES + batches + RESULT_BYTES * workload.num_queries
    if fixed >= memory:
        raise CapacityError(
            f"--memory must be more than {_megabytes(fixed)}: that is what the program, its batches of rows and the"
            f" counts of {workload.num_queries:,} queries take; raise it, or ask for a smaller workload"
        )
    return memory - fixed


def plan_passes(workload: Workload, *, num_rows: int, room: int | None) -> tuple[Pass, ...]:
    """Which marginals are counted in which pass.

    Args:
        workload: Their queries.
        num_rows: Rows of the table, to plan for.
        room: Bytes for counts; None for no limit: one pass.

    Raises:
        CapacityError: A single marginal does not fit.

    Example:
        >>> from functools import partial
        >>> from equipoise.queries.build import build
        >>> from equipoise.data.domain import Domain
        >>> workload = build("1-way", Domain(("a", "b"), (9, 9)))
        >>> plan = partial(plan_passes, workload, num_rows=100)
        >>> len(plan(room=28 * 9)), len(plan(room=None))
        (2, 1)
    """
    sizes = workload.domain.sizes
    blocks = list(cover(workload.column_sets, sizes, num_rows))
    passes: list[Pass] = []
    dense: list[Block] = []
    sparse: list[Columns] = []
    used = largest = 0
    while blocks:
        block = blocks.pop(0)
        cells = _num_cells(block.columns, sizes)
        is_sparse = SPARSE_BYTES * num_rows < COUNT_BYTES * cells and len(block.wanted) == 1
        cost = SPARSE_BYTES * num_rows if is_sparse else COUNT_BYTES * cells
        peak = 0 if is_sparse else max(largest, SUM_BYTES * cells)
        if room is not None and cost + (0 if is_sparse else SUM_BYTES * cells) > room:
            if len(block.wanted) == 1 and block.wanted[0] == block.columns:
                raise _too_large(block.columns, workload, cost, room)
            blocks[:0] = [Block(columns, (columns,)) for columns in block.wanted]
            continue
        if room is not None and used + cost + max(peak, largest) > room:
            passes.append(Pass(tuple(dense), tuple(sparse)))
            dense, sparse, used, largest = [], [], 0, 0
        used, largest = used + cost, max(largest, peak)
        if is_sparse:
            sparse.append(block.columns)
        else:
            dense.append(block)
    return (*passes, Pass(tuple(dense), tuple(sparse)))


def _too_large(columns: Columns, workload: Workload, cost: int, room: int) -> CapacityError:
    names = ", ".join(repr(workload.domain.columns[c]) for c in columns)
    more = _megabytes(cost + SUM_BYTES * _num_cells(columns, workload.domain.sizes) - room)
    return CapacityError(
        f"the counts of columns {names} together do not fit the memory limit; raise --memory by {more}, or declare"
        " fewer bins for them"
    )


class Counts:
    """Running counts of one pass, dense and sparse."""

    def __init__(self, counted: Pass, sizes: Sequence[int]) -> None:
        self._sparse = [SparseTally(columns, sizes) for columns in counted.sparse]
        self.dense = Tally(counted.blocks, sizes)

    def add(self, codes: Codes, *, pool: Executor | None = None, num_shares: int = 1) -> None:
        """Counts a batch of encoded rows."""
        self.dense.add(codes, pool=pool, num_shares=num_shares)
        for tally in self._sparse:
            tally.add(codes)

    def marginals(self, others: Sequence[Counts] = ()) -> Iterator[tuple[Columns, IntArray | SparseCounts]]:
        """Each wanted marginal with its counts, those of other `Counts` of the same pass included."""
        yield from self.dense.marginals([other.dense for other in others])
        for i, tally in enumerate(self._sparse):
            yield tally.columns, SparseCounts.merged([tally.counts(), *(o._sparse[i].counts() for o in others)])

    def sparse_counts(self) -> list[SparseCounts]:
        """The sparse marginals' counts, in the order of the pass."""
        return [tally.counts() for tally in self._sparse]


def _num_cells(columns: Columns, sizes: Sequence[int]) -> int:
    return math.prod(sizes[c] for c in columns)


def resident_bytes() -> int:
    """Memory of this process now."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # not Linux: the most it ever took, in kilobytes or, on a Mac, bytes
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if os.uname().sysname == "Darwin" else most * 1024


def _megabytes(num_bytes: int) -> str:
    return f"{-(-num_bytes // 2**20):,} MB"
