"""Counting conjunctions on this machine: a streaming pass that turns each batch into bits, then AND and count.

Only the literals that occur are kept of a batch, an eighth of a byte a row each, however many columns the table has and
however full they are: memory depends on public quantities only.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from equipoise.core import IntArray, Progress, silent
from equipoise.data.baskets import BitSource
from equipoise.data.bounding import Lists
from equipoise.data.table import Table
from equipoise.engines.passes import READ_BYTES, RESULT_BYTES, resident_bytes
from equipoise.errors import CapacityError, DataError
from equipoise.queries.bits import Bits, add_counts, pack_codes, set_bits, zero_bits
from equipoise.queries.conjunctions import Conjunctions

__all__ = ["batches_of_bits", "bits_of_lists", "count_conjunctions"]

BATCH_BYTES = 2**29
"""Bits held at a time. Larger batches take memory for nothing: with 300,000 literals it is 14,000 rows, long enough to
count fast."""


def count_conjunctions(
    table: Table, workload: Conjunctions, *, threads: int, memory: int | None = None, progress: Progress = silent
) -> IntArray:
    """The true count of every conjunction. Not sealed: for `engines.arrow.count`, which seals it.

    Raises:
        DataError: A row does not fit the schema, or the table changed while it was read.
        CapacityError: The memory limit is too low.
    """
    limit = BATCH_BYTES if memory is None else min(BATCH_BYTES, bits_room(workload, memory))
    counts = np.zeros(workload.num_queries, dtype=np.int64)
    seen = 0
    with ThreadPoolExecutor(threads) as pool:
        for bits, num_rows in batches_of_bits(table, workload, workload.batch_rows(limit), progress):
            add_counts(counts, bits, num_rows, workload.literal_rows.index, pool, threads)
            seen += num_rows
    if seen != table.num_rows:
        raise DataError("the table changed while it was read: it does not have as many rows as it had before")
    return counts


def bits_room(workload: Conjunctions, memory: int) -> int:
    """Bytes of a batch's bits, of which there may be two, within a limit on the whole process.

    Raises:
        CapacityError: Nothing is left for them.
    """
    room = (memory - resident_bytes() - READ_BYTES - RESULT_BYTES * workload.num_queries) // 3
    if room < 64 * workload.literal_rows.num_rows:
        raise CapacityError("the memory limit leaves too little for the counts; raise --memory, or ask for fewer cells")
    return room


def batches_of_bits(
    table: Table, workload: Conjunctions, step: int, progress: Progress = silent
) -> Iterator[tuple[Bits, int]]:
    """The table as bits of the literals that occur, `step` rows at a time, and the number of rows of each batch."""
    rows = workload.literal_rows
    if isinstance(table.source, BitSource):
        for first in range(0, table.num_rows, step):
            number = min(step, table.num_rows - first)
            yield table.source.bits(rows.columns, first, number), number
            progress(first + number, table.num_rows)
    elif table.schema.items is None:
        for codes in table.batches(batch_rows=step, progress=progress):
            yield pack_codes(codes, rows), codes.shape[1]
    else:
        for lists in table.baskets(batch_rows=step, progress=progress):
            yield bits_of_lists(lists, workload), len(lists[0]) - 1


def bits_of_lists(lists: Lists, workload: Conjunctions) -> Bits:
    """The bits of rows that are lists of items."""
    (starts, items), rows = lists, workload.literal_rows
    places = np.full(len(workload.domain.sizes) + 1, -1, dtype=np.int32)  # the last one for ignored items
    places[rows.columns] = np.arange(rows.num_rows)
    bits = zero_bits(rows.num_rows, len(starts) - 1)
    set_bits(bits, starts, items, places)
    return bits
