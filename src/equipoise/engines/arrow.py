"""Counting on this machine: a streaming pass over the table, or several when its counts do not fit in memory.

Memory is bounded by a batch a thread plus the counts of a pass, whatever the number of rows. Counts are whole numbers,
so the result does not depend on batches, threads, passes or order.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from equipoise.core import Codes, IntArray, Progress, silent
from equipoise.data.table import Table
from equipoise.engines.bits import count_conjunctions
from equipoise.engines.passes import COUNT_BYTES, Counts, Pass, plan_passes, room_for
from equipoise.errors import DataError, QueryError, SettingError
from equipoise.privacy import Private
from equipoise.queries.conjunctions import Conjunctions
from equipoise.queries.cover import Columns
from equipoise.queries.queries import Queries
from equipoise.queries.sparse import SparseCounts
from equipoise.queries.workload import Workload

__all__ = ["count", "count_codes"]

BATCH_ROWS = 2**17
"""Rows of a batch: their codes (1.7 MB for 13 columns) are read from the shared cache once for each block of the cover,
while that block's counts stay in the core's own. Measured best between 2**14 and 2**20."""

TALLY_BYTES = 2**28
"""Beyond this much memory for one tally a thread, the threads share a tally and split its blocks instead of rows."""

Marginal = tuple[Columns, IntArray | SparseCounts]


def count(
    table: Table,
    workload: Queries,
    *,
    threads: int | None = None,
    memory: int | None = None,
    batch_rows: int = BATCH_ROWS,
    progress: Progress = silent,
) -> Private:
    """The true count of every query, sealed.

    Args:
        table: The private table; of its rows nothing else is ever read.
        workload: Queries over the table's columns.
        threads: How many to use; by default, one for each processor this process may run on.
        memory: Bytes that this process may take; what does not fit is counted in further passes. None for no limit.
        batch_rows: Rows held at a time by each thread.
        progress: Told the number of rows done, of all passes.

    Raises:
        QueryError: The workload is over other columns than the table's.
        DataError: A row does not fit the schema, or the table changed while it was read.
        CapacityError: The limit is too low for the counts; nothing was read.
    """
    if workload.domain != table.schema.domain:
        raise QueryError("the workload was built over other columns than the table's; build it from the table's schema")
    threads = _num_threads(threads)
    if isinstance(workload, Conjunctions):
        return Private(count_conjunctions(table, workload, threads=threads, memory=memory, progress=progress), workload)
    assert isinstance(workload, Workload)
    if memory is not None and table.bounding is not None:
        memory -= table.memory
    room = None if memory is None else room_for(workload, memory, threads=threads, batch_rows=batch_rows)
    passes = plan_passes(workload, num_rows=table.num_rows, room=room)

    def marginals() -> Iterator[Marginal]:
        for number, counted in enumerate(passes):
            heard = _of_all(progress, number, len(passes))
            batches = table.batches(batch_rows=batch_rows, progress=heard)
            yield from _count_pass(batches, counted, workload, table.num_rows, threads, room)

    return Private(workload.from_marginals(marginals()), workload)


def count_codes(batches: Iterable[Codes], workload: Workload, *, num_rows: int, threads: int | None = None) -> IntArray:
    """The true count of every query over batches of encoded rows. Not sealed: for public tables.

    Args:
        batches: Encoded rows.
        workload: Queries over their columns.
        num_rows: How many rows there are in all.
        threads: As for `count`.
    """
    (counted,) = plan_passes(workload, num_rows=num_rows, room=None)
    return workload.from_marginals(_count_pass(batches, counted, workload, num_rows, _num_threads(threads), None))


def _count_pass(
    batches: Iterable[Codes], counted: Pass, workload: Workload, num_rows: int, threads: int, room: int | None
) -> Iterator[Marginal]:
    sizes = workload.domain.sizes
    counts, others = Counts(counted, sizes), list[Counts]()
    if threads == 1:
        seen = _add_all(counts, batches)
    elif COUNT_BYTES * counts.dense.num_cells * threads > min(TALLY_BYTES, TALLY_BYTES if room is None else room // 2):
        with ThreadPoolExecutor(threads) as pool:
            seen = _add_all(counts, batches, pool, threads)
    else:
        others = [Counts(counted, sizes) for _ in range(threads - 1)]
        stream = _Stream(batches)
        with ThreadPoolExecutor(threads) as pool:
            seen = sum(pool.map(lambda mine: _add_all(mine, stream), [counts, *others]))
    if seen != num_rows:
        raise DataError("the table changed while it was read: it does not have as many rows as it had before")
    yield from counts.marginals(others)


def _of_all(progress: Progress, number: int, num_passes: int) -> Progress:
    """What to tell while one of several passes runs."""
    if progress is silent or num_passes == 1:
        return progress
    return lambda done, total: progress(number * total + done, num_passes * total)


def _num_threads(threads: int | None) -> int:
    if threads is None:
        # Containers often allow fewer processors than the machine has.
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if threads < 1:
        raise SettingError("the number of threads must be at least 1")
    return threads


def _add_all(tally: Counts, batches: Iterable[Codes], pool: ThreadPoolExecutor | None = None, shares: int = 1) -> int:
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
