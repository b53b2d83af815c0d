"""Counting on this machine: one streaming pass over the table, the only place that reads private rows.

Memory is bounded by a batch a thread plus the counts, whatever the number of rows. Counts are whole numbers, so the
result does not depend on batches, threads or order.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from equipoise.core import Codes, IntArray, Progress, silent
from equipoise.data.table import Table
from equipoise.engines.bits import count_conjunctions
from equipoise.errors import DataError, QueryError, SettingError
from equipoise.privacy import Private
from equipoise.queries.conjunctions import Conjunctions
from equipoise.queries.counting import Tally
from equipoise.queries.cover import cover
from equipoise.queries.queries import Queries
from equipoise.queries.workload import Workload

__all__ = ["count", "count_codes", "memory_bytes"]

BATCH_ROWS = 2**17
"""Rows of a batch: their codes (1.7 MB for 13 columns) are read from the shared cache once for each block of the cover,
while that block's counts stay in the core's own. Measured best between 2**14 and 2**20."""

TALLY_BYTES = 2**28
"""Beyond this much memory for one tally a thread, the threads share a tally and split its blocks instead of rows."""

COUNT_BYTES = 4  # of a cell in a tally
RESULT_BYTES = 8  # of a query in the result


def count(
    table: Table,
    workload: Queries,
    *,
    threads: int | None = None,
    batch_rows: int = BATCH_ROWS,
    progress: Progress = silent,
) -> Private:
    """The true count of every query, sealed.

    Args:
        table: The private table; of its rows nothing else is ever read.
        workload: Queries over the table's columns.
        threads: How many to use; by default, one for each processor this process may run on.
        batch_rows: Rows held at a time by each thread.
        progress: Told the number of rows done.

    Raises:
        QueryError: The workload is over other columns than the table's.
        DataError: A row does not fit the schema, or the table changed while it was read.
    """
    if workload.domain != table.schema.domain:
        raise QueryError("the workload was built over other columns than the table's; build it from the table's schema")
    if isinstance(workload, Conjunctions):
        return Private(count_conjunctions(table, workload, threads=_num_threads(threads), progress=progress), workload)
    assert isinstance(workload, Workload)
    batches = table.batches(batch_rows=batch_rows, progress=progress)
    return Private(count_codes(batches, workload, num_rows=table.num_rows, threads=threads), workload)


def count_codes(batches: Iterable[Codes], workload: Workload, *, num_rows: int, threads: int | None = None) -> IntArray:
    """The true count of every query over batches of encoded rows. Not sealed: for `count`, and for public tables.

    Args:
        batches: Encoded rows.
        workload: Queries over their columns.
        num_rows: How many rows there are in all.
        threads: As for `count`.
    """
    threads = _num_threads(threads)
    sizes = workload.domain.sizes
    blocks = cover(workload.column_sets, sizes, num_rows)
    tally = Tally(blocks, sizes)
    others: list[Tally] = []
    if threads == 1:
        seen = _add_all(tally, batches)
    elif _share_tally(tally.num_cells, threads):
        with ThreadPoolExecutor(threads) as pool:
            seen = _add_all(tally, batches, pool, threads)
    else:
        others = [Tally(blocks, sizes) for _ in range(threads - 1)]
        stream = _Stream(batches)
        with ThreadPoolExecutor(threads) as pool:
            seen = sum(pool.map(lambda mine: _add_all(mine, stream), [tally, *others]))
    if seen != num_rows:
        raise DataError("the table changed while it was read: it does not have as many rows as it had before")
    return workload.from_marginals(tally.marginals(others))


def memory_bytes(workload: Workload, *, num_rows: int, threads: int | None = None, batch_rows: int = BATCH_ROWS) -> int:
    """What `count` takes at most, beyond what reading the file takes; public quantities only."""
    threads = _num_threads(threads)
    sizes = workload.domain.sizes
    cells = [_num_cells(block.columns, sizes) for block in cover(workload.column_sets, sizes, num_rows)]
    copies = 1 if _share_tally(sum(cells), threads) else threads
    width = 1 if max(sizes) <= 2**8 else 2 if max(sizes) <= 2**16 else 4
    # Twice a batch: one being encoded, one being counted. Three times the largest block: its sums.
    rows = 2 * threads * min(batch_rows, num_rows) * len(sizes) * width
    return COUNT_BYTES * copies * sum(cells) + RESULT_BYTES * (3 * max(cells) + workload.num_queries) + rows


def _num_cells(columns: tuple[int, ...], sizes: tuple[int, ...]) -> int:
    number = 1
    for column in columns:
        number *= sizes[column]
    return number


def _num_threads(threads: int | None) -> int:
    if threads is None:
        # Containers often allow fewer processors than the machine has.
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if threads < 1:
        raise SettingError("the number of threads must be at least 1")
    return threads


def _share_tally(num_cells: int, threads: int) -> bool:
    return threads > 1 and COUNT_BYTES * num_cells * threads > TALLY_BYTES


def _add_all(tally: Tally, batches: Iterable[Codes], pool: ThreadPoolExecutor | None = None, shares: int = 1) -> int:
    num_rows = 0
    for codes in batches:
        tally.add(codes, pool=pool, num_shares=shares)
        num_rows += codes.shape[1]
    return num_rows


class _Stream:
    """An iterator that threads can take from in turn: while one waits for a batch, the others count theirs."""

    def __init__(self, batches: Iterable[Codes]) -> None:
        self._batches = iter(batches)
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[Codes]:
        return self

    def __next__(self) -> Codes:
        with self._lock:
            return next(self._batches)
