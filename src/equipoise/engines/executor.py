"""What runs on Spark's executors: a stream of record batches in, pieces of counts out.

The same encoder and the same compiled loops as on one machine. A failure becomes a piece too: an exception would send
its message, and what it quotes, to Spark's logs. An attempt of a task that Spark repeats or abandons leaves nothing
behind, since what is counted is what the surviving attempt gives on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from equipoise.core import Codes, IntArray
from equipoise.data.bounding import Bounding, Lists
from equipoise.data.schema import Schema
from equipoise.data.spark import READ_ROWS, fault_of
from equipoise.data.table import Table
from equipoise.data.units import choose_rows, hash_lists, hash_rows, hash_units
from equipoise.engines.bits import bits_of_lists
from equipoise.engines.passes import Counts, Pass
from equipoise.engines.pieces import Kind, Piece, batch_of, dense_pieces
from equipoise.errors import DataError
from equipoise.queries.bits import add_counts, pack_codes
from equipoise.queries.conjunctions import Conjunctions

__all__ = ["SHUFFLED", "Bounded", "CountRows", "Regroup", "Work"]

SHUFFLED = "high long, low long, payload binary, fault string"
"""The Spark schema of encoded rows on their way to the task that has all rows of their unit."""


@dataclass(frozen=True)
class Work:
    """What is counted: a pass of a workload's marginals, or conjunctions."""

    schema: Schema
    counted: Pass | Conjunctions

    def begin(self) -> _Marginals | _Cells:
        """Counts that are still zero."""
        if isinstance(self.counted, Conjunctions):
            return _Cells(self.counted, self.schema)
        return _Marginals(self.counted, self.schema)

    @property
    def batch_rows(self) -> int:
        """Rows counted at a time."""
        return self.counted.batch_rows(2**26) if isinstance(self.counted, Conjunctions) else READ_ROWS


class _Marginals:
    def __init__(self, counted: Pass, schema: Schema) -> None:
        self._counts, self._schema = Counts(counted, schema.domain.sizes), schema

    def add_codes(self, codes: Codes) -> None:
        self._counts.add(codes)

    def add_lists(self, lists: Lists) -> None:
        assert self._schema.items is not None
        self._counts.add(self._schema.items.dense(*lists))

    def pieces(self, task: int) -> Iterator[Piece]:
        # What is wanted is smaller than the blocks it is summed out of, often by ten times.
        tensors = dict(self._counts.dense.marginals())
        flat = [tensors[columns].reshape(-1) for columns in sorted(tensors)]
        yield from dense_pieces(np.concatenate(flat) if flat else np.zeros(0, dtype=np.int64), task)
        for key, found in enumerate(self._counts.sparse_counts()):
            yield Piece(Kind.SPARSE, key, task, np.stack(found).astype("<i8").tobytes())


class _Cells:
    def __init__(self, workload: Conjunctions, schema: Schema) -> None:
        self._workload, self._counts = workload, np.zeros(workload.num_queries, dtype=np.int64)

    def add_codes(self, codes: Codes) -> None:
        rows = self._workload.literal_rows
        add_counts(self._counts, pack_codes(codes, rows), codes.shape[1], rows.index)

    def add_lists(self, lists: Lists) -> None:
        bits = bits_of_lists(lists, self._workload)
        add_counts(self._counts, bits, len(lists[0]) - 1, self._workload.literal_rows.index)

    def pieces(self, task: int) -> Iterator[Piece]:
        return dense_pieces(self._counts, task)


def _finish(counts: _Marginals | _Cells, num_rows: int) -> Iterator[Any]:
    task = _task()
    yield batch_of([Piece(Kind.ROWS, 0, task, np.array([num_rows], dtype="<i8").tobytes())])
    if num_rows:
        for piece in counts.pieces(task):
            yield batch_of([piece])


def _failed(error: Exception) -> Any:
    return batch_of([Piece(Kind.FAULT, _task(), _task(), fault_of(error).encode())])


def _task() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())


class _Stream:
    """A task's record batches as a source: regrouped to batches as long as the counting loops like them."""

    def __init__(self, batches: Iterator[Any], names: tuple[str, ...]) -> None:
        self._batches, self.names = batches, names

    @property
    def num_rows(self) -> int:
        raise NotImplementedError("a task learns how many rows it has by reading them")

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        waiting: list[Any] = []
        number = 0
        for batch in self._batches:
            waiting.append(batch.select(list(columns)))
            number += batch.num_rows
            if number >= batch_rows:
                yield from _joined(waiting, batch_rows)
                waiting, number = [], 0
        if number:
            yield from _joined(waiting, batch_rows)


def _joined(batches: list[Any], batch_rows: int) -> Iterator[Any]:
    yield from pa.Table.from_batches(batches).combine_chunks().to_batches(max_chunksize=batch_rows)


@dataclass(frozen=True)
class CountRows:
    """Count the rows of a task."""

    work: Work

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """From record batches of rows to pieces of counts."""
        try:
            yield from self._count(batches)
        except Exception as error:
            yield _failed(error)

    def _count(self, batches: Iterator[Any]) -> Iterator[Any]:
        schema, counts, num_rows = self.work.schema, self.work.begin(), 0
        table = Table(schema, _Stream(batches, schema.source_columns))
        if schema.items is None:
            for codes in table.batches(batch_rows=self.work.batch_rows):
                counts.add_codes(codes)
                num_rows += codes.shape[1]
        else:
            for lists in table.baskets(batch_rows=self.work.batch_rows):
                counts.add_lists(lists)
                num_rows += len(lists[0]) - 1
        yield from _finish(counts, num_rows)


@dataclass(frozen=True)
class Regroup:
    """Encode a task's rows and label them with their unit's hash, by which Spark brings a unit's rows together."""

    schema: Schema
    bounding: Bounding

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """From record batches of rows to encoded rows."""
        try:
            for batch in batches:
                if batch.num_rows:
                    yield self._encode(batch)
        except Exception as error:
            columns = [pa.array([0]), pa.array([0]), pa.nulls(1, pa.binary()), pa.array([fault_of(error)])]
            yield pa.RecordBatch.from_arrays(columns, names=["high", "low", "payload", "fault"])

    def _encode(self, batch: Any) -> Any:
        hashes = hash_units(batch.column(batch.num_columns - 1), self.bounding.unit, self.bounding.seed).view("i8")
        if self.schema.items is None:
            rows = np.ascontiguousarray(Table(self.schema, _Stream(iter(()), ())).encode(batch).T)
            data, edges = rows.reshape(-1).view(np.uint8), np.arange(len(rows) + 1) * rows.shape[1] * rows.itemsize
        else:
            starts, items = self.schema.items.encode(batch.column(0))
            data, edges = np.ascontiguousarray(items).view(np.uint8), starts * items.itemsize
        buffers = [None, pa.py_buffer(edges.astype(np.int32)), pa.py_buffer(data)]
        payload = pa.BinaryArray.from_buffers(pa.binary(), batch.num_rows, buffers)
        faults = pa.nulls(batch.num_rows, pa.string())
        columns = [pa.array(hashes[:, 0]), pa.array(hashes[:, 1]), payload, faults]
        return pa.RecordBatch.from_arrays(columns, names=["high", "low", "payload", "fault"])


@dataclass(frozen=True)
class Bounded:
    """Count what remains of a task's units; their rows come sorted by unit, and no unit is in another task too."""

    work: Work
    bounding: Bounding

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """From encoded rows to pieces of counts."""
        counts, num_rows = self.work.begin(), 0
        try:
            for part in _whole_units(batches):
                num_rows += self._count(counts, part)
            yield from _finish(counts, num_rows)
        except Exception as error:
            yield _failed(error)

    def _count(self, counts: _Marginals | _Cells, part: Any) -> int:
        hashes = np.stack([part.column(i).to_numpy() for i in (0, 1)], axis=1).view(np.uint64)
        edges, data = _slices(part.column(2))
        if self.work.schema.items is None:
            dtype = Table(self.work.schema, _Stream(iter(()), ())).code_type
            codes = data.view(dtype).reshape(len(hashes), -1).T
            kept = self._choose(hashes, hash_rows(codes, hashes))
            counts.add_codes(np.ascontiguousarray(codes[:, kept]))
        else:
            starts, items = edges // 4, data.view(np.int32)
            kept = self._choose(hashes, hash_lists(starts, items, hashes))
            lengths = np.diff(starts)
            chosen = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths[kept])])
            counts.add_lists((chosen, items[np.repeat(kept, lengths)]))
        return int(np.count_nonzero(kept))

    def _choose(self, hashes: NDArray[np.uint64], rows: NDArray[np.uint64]) -> NDArray[np.bool_]:
        return choose_rows(hashes, rows, rows_per_unit=self.bounding.rows_per_unit)


def _whole_units(batches: Iterator[Any]) -> Iterator[Any]:
    """Tables of rows of which none has a unit that another has too, about `READ_ROWS` long where units are small."""
    waiting: list[Any] = []
    number = 0
    for batch in batches:
        faults = batch.column(3).drop_null()
        if len(faults):
            raise DataError(faults[0].as_py())
        if number >= READ_ROWS:
            # The first rows that belong to the last unit that waits go with it.
            last = tuple(waiting[-1].column(i)[-1].as_py() for i in (0, 1))
            same = (batch.column(0).to_numpy() == last[0]) & (batch.column(1).to_numpy() == last[1])
            cut = len(same) if same.all() else int(same.argmin())
            waiting.append(batch.slice(0, cut))
            batch = batch.slice(cut)
            if batch.num_rows:
                yield pa.Table.from_batches(waiting).combine_chunks()
                waiting, number = [], 0
        if batch.num_rows:
            waiting.append(batch)
            number += batch.num_rows
    if number:
        yield pa.Table.from_batches(waiting).combine_chunks()


def _slices(column: Any) -> tuple[IntArray, NDArray[np.uint8]]:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    array = array.chunk(0) if isinstance(array, pa.ChunkedArray) else array
    wide = pa.types.is_large_binary(array.type)
    _, places, content = array.buffers()
    edges = np.frombuffer(places, dtype=np.int64 if wide else np.int32)[array.offset : array.offset + len(array) + 1]
    edges = edges.astype(np.int64)
    data = np.zeros(0, np.uint8) if content is None else np.frombuffer(content, dtype=np.uint8)[edges[0] : edges[-1]]
    return edges - edges[0], data
