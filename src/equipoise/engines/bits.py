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
from equipoise.data.table import Table
from equipoise.errors import DataError
from equipoise.queries.bits import Bits, add_counts, pack_codes, set_bits, zero_bits
from equipoise.queries.conjunctions import Conjunctions

__all__ = ["count_conjunctions"]

BATCH_BYTES = 2**29
"""Bits held at a time. Larger batches take memory for nothing: with 300,000 literals it is 14,000 rows, long enough to
count fast."""


def count_conjunctions(table: Table, workload: Conjunctions, *, threads: int, progress: Progress = silent) -> IntArray:
    """The true count of every conjunction. Not sealed: for `engines.arrow.count`, which seals it.

    Raises:
        DataError: A row does not fit the schema, or the table changed while it was read.
    """
    counts = np.zeros(workload.num_queries, dtype=np.int64)
    seen = 0
    with ThreadPoolExecutor(threads) as pool:
        for bits, num_rows in _batches(table, workload, progress):
            add_counts(counts, bits, num_rows, workload.literal_rows.index, pool, threads)
            seen += num_rows
    if seen != table.num_rows:
        raise DataError("the table changed while it was read: it does not have as many rows as it had before")
    return counts


def _batches(table: Table, workload: Conjunctions, progress: Progress) -> Iterator[tuple[Bits, int]]:
    rows, step = workload.literal_rows, workload.batch_rows(BATCH_BYTES)
    if isinstance(table.source, BitSource):
        for first in range(0, table.num_rows, step):
            number = min(step, table.num_rows - first)
            yield table.source.bits(rows.columns, first, number), number
            progress(first + number, table.num_rows)
    elif table.schema.items is None:
        for codes in table.batches(batch_rows=step, progress=progress):
            yield pack_codes(codes, rows), codes.shape[1]
    else:
        places = np.full(len(table.schema.columns) + 1, -1, dtype=np.int32)  # the last one for ignored items
        places[rows.columns] = np.arange(rows.num_rows)
        for starts, items in table.baskets(batch_rows=step, progress=progress):
            bits = zero_bits(rows.num_rows, len(starts) - 1)
            set_bits(bits, starts, items, places)
            yield bits, len(starts) - 1
