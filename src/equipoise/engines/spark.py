"""Counting on Spark: executors read, encode and count; the driver sees counts, added up in a tree.

Each task keeps one tally of all its rows and sends it on in pieces; tasks add up pieces of the same part, in groups of
`FAN_IN`, until one of each is left. Spark takes the result of exactly one attempt of each task, so a lost executor, a
repeated or a speculative attempt changes no count.
"""

from __future__ import annotations

import math
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from equipoise.core import IntArray, Progress, silent
from equipoise.data.sources import Distributed
from equipoise.data.spark import collected
from equipoise.data.spark_session import map_in_arrow
from equipoise.data.table import Table
from equipoise.engines.executor import SHUFFLED, Bounded, CountRows, Regroup, Work
from equipoise.engines.passes import Pass, plan_passes, room_for
from equipoise.engines.pieces import PIECE, Kind, Piece, SumPieces, numbers_of
from equipoise.errors import DataError, QueryError
from equipoise.privacy import Private
from equipoise.queries.conjunctions import Conjunctions
from equipoise.queries.queries import Queries
from equipoise.queries.sparse import SparseCounts
from equipoise.queries.workload import Workload

__all__ = ["count"]

FAN_IN = 32
"""Tallies that one task adds up."""

TASK_BYTES = 2**29
"""Counts that a task holds; more take passes. The driver gets less at once than Spark lets it (1 GB)."""


def count(table: Table, workload: Queries, *, memory: int | None = None, progress: Progress = silent) -> Private:
    """The true count of every query over a table whose rows are on a cluster, sealed. See `engines.arrow.count`.

    Args:
        table: Of a `Distributed` source.
        workload: Queries over the table's columns.
        memory: Bytes that the driver may take.
        progress: Told the share of the tasks that is done, in rows.

    Raises:
        QueryError: The workload is over other columns than the table's.
        DataError: A row does not fit the schema, the table changed while it was read, or Spark gave up.
        CapacityError: The limit is too low for the counts; nothing was read.
    """
    if workload.domain != table.schema.domain:
        raise QueryError("the workload was built over other columns than the table's; build it from the table's schema")
    num_rows = table.num_rows
    if isinstance(workload, Conjunctions):
        with _told(table, progress, num_rows, 0, 1):
            dense, _ = _count(table, Work(table.schema, workload), num_rows)
        return Private(dense, workload)
    assert isinstance(workload, Workload)
    room = TASK_BYTES
    if memory is not None:
        room = min(room, room_for(workload, memory, threads=1, batch_rows=1))
    passes = plan_passes(workload, num_rows=num_rows, room=room)

    def marginals() -> Iterator[Any]:
        for number, counted in enumerate(passes):
            with _told(table, progress, num_rows, number, len(passes)):
                found = _count(table, Work(table.schema, counted), num_rows)
            yield from _marginals(counted, workload, *found)

    return Private(workload.from_marginals(marginals()), workload)


def _marginals(counted: Pass, workload: Workload, dense: IntArray, sparse: list[SparseCounts]) -> Iterator[Any]:
    """The marginals of a pass from what the tasks sent: the dense ones, in order of their columns, then the sparse."""
    start, sizes = 0, workload.domain.sizes
    for columns in sorted(columns for block in counted.blocks for columns in block.wanted):
        shape = [sizes[c] for c in columns]
        yield columns, dense[start : start + math.prod(shape)].reshape(shape)
        start += math.prod(shape)
    yield from zip(counted.sparse, sparse, strict=True)


def _count(table: Table, work: Work, num_rows: int) -> tuple[IntArray, list[SparseCounts]]:
    source = table.source
    assert isinstance(source, Distributed)
    pieces = _collect(_counted(table, source, work), source.num_tasks)
    faults = sorted((piece.key, piece.payload.decode()) for piece in pieces if piece.kind == Kind.FAULT)
    if faults:
        raise DataError(faults[0][1])
    seen = sum(int(numbers_of(piece)[0]) for piece in pieces if piece.kind == Kind.ROWS)
    if seen != num_rows:
        raise DataError("the table changed while it was read: it does not have as many rows as it had before")
    dense = [numbers_of(piece) for piece in sorted(pieces) if piece.kind == Kind.DENSE]
    sparse = [SparseCounts(*numbers_of(piece).reshape(2, -1)) for piece in sorted(pieces) if piece.kind == Kind.SPARSE]
    return (np.concatenate(dense) if dense else np.zeros(0, dtype=np.int64)), sparse


def _counted(table: Table, source: Distributed, work: Work) -> Any:
    """A frame of each task's pieces."""
    columns = table.schema.source_columns
    bounding = table.bounding
    if bounding is None:
        return source.map_batches(columns, CountRows(work), PIECE)
    rows = source.map_batches((*columns, bounding.unit), Regroup(table.schema, bounding), SHUFFLED)
    together = rows.repartition(source.num_tasks, "high", "low").sortWithinPartitions("high", "low")
    return map_in_arrow(together, Bounded(work, bounding), PIECE)


def _collect(frame: Any, num_tasks: int) -> list[Piece]:
    from pyspark.sql import functions as f

    width = num_tasks
    while True:
        grouped = frame.withColumn("task", f.expr(f"task div {FAN_IN}"))
        frame = map_in_arrow(grouped.repartition(num_tasks, "kind", "key", "task"), SumPieces(), PIECE)
        width = -(-width // FAN_IN)
        if width == 1:
            return [Piece(row[0], row[1], row[2], bytes(row[3])) for row in collected(frame)]


@contextmanager
def _told(table: Table, progress: Progress, num_rows: int, number: int, num_passes: int) -> Iterator[None]:
    """Tell, while a pass runs, how many of its tasks are done; nothing for sessions that do not say."""
    session = getattr(table.source, "session", None)
    context = getattr(session, "sparkContext", None) if progress is not silent else None
    if context is None:
        yield
        return
    group, over = f"equipoise-{uuid.uuid4().hex}", threading.Event()
    context.setJobGroup(group, "Equipoise counts")
    watcher = threading.Thread(
        target=_watch,
        args=(context, group, over, lambda share: progress(int((number + share) * num_rows), num_passes * num_rows)),
        daemon=True,
    )
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
    progress((number + 1) * num_rows, num_passes * num_rows)


def _watch(context: Any, group: str, over: threading.Event, tell: Any) -> None:
    tracker, most = context.statusTracker(), 0.0
    while not over.wait(0.5):
        done = total = 0
        for job in tracker.getJobIdsForGroup(group):
            info = tracker.getJobInfo(job)
            for stage in info.stageIds if info is not None else ():
                state = tracker.getStageInfo(stage)
                if state is not None:
                    done, total = done + state.numCompletedTasks, total + state.numTasks
        # Spark plans in stages, and learns of later ones when earlier ones are done: the share may not go back.
        most = max(most, done / max(total, 1))
        tell(most)
