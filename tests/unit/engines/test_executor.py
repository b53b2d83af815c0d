"""What runs on executors, run here: tasks of any sizes and orders, through pickling, give the local engine's counts."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from equipoise.data.items import Items
from equipoise.data.schema import Schema
from equipoise.data.table import Table, read
from equipoise.data.whole import Codes
from equipoise.engines import executor
from equipoise.engines.executor import Bounded, CountRows, Regroup, Work
from equipoise.engines.passes import plan_passes
from equipoise.engines.pieces import Kind, Piece, SumPieces, numbers_of
from equipoise.engines.scan import count
from equipoise.privacy.private import reveal
from equipoise.queries.build import build
from equipoise.queries.conjunctions import Conjunctions
from equipoise.queries.sparse import SparseCounts

SIZES = (3, 4, 300, 2)
SCHEMA = Schema("t", tuple(Codes(name=f"c{i}", size=size) for i, size in enumerate(SIZES)), unit="who", rows_per_unit=3)
BASKETS = Schema("b", Items(40), unit="who", rows_per_unit=2)


def columns(num_rows: int = 900) -> pa.Table:
    rng = np.random.default_rng(2)
    # One person has a third of the rows, in every task.
    who = np.where(rng.random(num_rows) < 1 / 3, 0, rng.integers(1, 200, num_rows))
    return pa.table({**{f"c{i}": rng.integers(0, size, num_rows) for i, size in enumerate(SIZES)}, "who": who})


def baskets(num_rows: int = 300) -> pa.Table:
    rng = np.random.default_rng(3)
    lists = [np.flatnonzero(rng.random(40) < 0.2).tolist() for _ in range(num_rows)]
    return pa.table({"items": pa.array(lists, pa.list_(pa.int64())), "who": rng.integers(0, 60, num_rows)})


def tasks(rows: pa.Table, *names: str) -> list[list[Any]]:
    """Five tasks of batches of other sizes, one without rows."""
    edges = [0, 100, 101, 101, 250, rows.num_rows]
    parts = [rows.select(list(names)).slice(a, b - a) for a, b in pairwise(edges)]
    return [part.to_batches(max_chunksize=64) for part in parts]


def run(function: Any, batches: list[Any]) -> Iterator[Any]:
    return iter(pickle.loads(pickle.dumps(function))(iter(batches)))


def summed(results: list[list[Any]]) -> list[Piece]:
    """The pieces of all tasks, added up in one."""
    batches = [batch.set_column(2, "task", pa.array([0] * batch.num_rows)) for each in results for batch in each]
    return [Piece(*row.values()) for batch in run(SumPieces(), batches) for row in batch.to_pylist()]


def dense(pieces: list[Piece]) -> np.ndarray:
    return np.concatenate([numbers_of(piece) for piece in sorted(pieces) if piece.kind == Kind.DENSE])


def counts_of(pieces: list[Piece], work: Work, workload: Any) -> list[int]:
    from equipoise.engines.spark import _marginals

    if isinstance(workload, Conjunctions):
        return dense(pieces).tolist()
    sparse = [SparseCounts(*numbers_of(p).reshape(2, -1)) for p in sorted(pieces) if p.kind == Kind.SPARSE]
    found = _marginals(work.counted, workload, dense(pieces), sparse)
    return workload.from_marginals(found).tolist()


def work_of(schema: Schema, workload: Any, num_rows: int) -> Work:
    if isinstance(workload, Conjunctions):
        return Work(schema, workload)
    (counted,) = plan_passes(workload, num_rows=num_rows, room=None)
    return Work(schema, counted)


CASES = [
    (SCHEMA, columns, "1-way,3-way"),
    (SCHEMA, columns, ["c0 = 1 and c2 = 7", ("c1", "c3")]),
    (SCHEMA, columns, "random 2-way x 50"),
    (BASKETS, baskets, "random 3-way x 60"),
    (BASKETS, baskets, [("0", "1"), ("3", "7")]),
]
each_case = pytest.mark.parametrize(("schema", "make", "asked"), CASES)


@each_case
def test_tasks_add_up_to_the_local_counts(monkeypatch, schema, make, asked) -> None:
    monkeypatch.setattr("equipoise.engines.pieces.CHUNK_CELLS", 50)
    rows, workload = make(), build(asked, schema)
    work = work_of(schema, workload, rows.num_rows)
    pieces = summed([list(run(CountRows(work), batches)) for batches in tasks(rows, *schema.source_columns)])
    assert sum(int(numbers_of(p)[0]) for p in pieces if p.kind == Kind.ROWS) == rows.num_rows
    assert counts_of(pieces, work, workload) == reveal(count(read(rows, schema=schema), workload)).tolist()


@each_case
@pytest.mark.parametrize("read_rows", [1, 50, 10**6])
def test_units_are_bounded_like_the_local_ones(monkeypatch, schema, make, asked, read_rows) -> None:
    monkeypatch.setattr(executor, "READ_ROWS", read_rows)
    rows, workload = make(), build(asked, schema)
    table: Table = read(rows, schema=schema).bounded(7)
    work = work_of(schema, workload, table.num_rows)
    sent = [run(Regroup(schema, table.bounding), b) for b in tasks(rows, *schema.source_columns, "who")]
    together = pa.Table.from_batches([batch for each in sent for batch in each]).sort_by(
        [("high", "ascending"), ("low", "ascending")]
    )
    # What Spark's exchange does: all rows of a unit in one task, sorted.
    odd = pa.array((together["high"].to_numpy() % 2).astype(bool))
    shares = [together.filter(odd), together.filter(pa.compute.invert(odd))]
    results = [list(run(Bounded(work, table.bounding), s.to_batches(max_chunksize=37))) for s in shares]
    pieces = summed(results)
    assert sum(int(numbers_of(p)[0]) for p in pieces if p.kind == Kind.ROWS) == table.num_rows < rows.num_rows
    assert counts_of(pieces, work, workload) == reveal(count(table, workload)).tolist()


def test_a_failure_is_told_without_its_message() -> None:
    work = work_of(SCHEMA, build("1-way", SCHEMA), 10)

    def broken() -> Iterator[Any]:
        yield columns(10).select(["c0", "c1", "c2", "c3"]).to_batches()[0]
        raise KeyError("canary-4412")

    (batch,) = list(CountRows(work)(broken()))
    (row,) = batch.to_pylist()
    assert row["kind"] == Kind.FAULT
    assert b"KeyError" in row["payload"]
    assert b"canary" not in row["payload"]


def test_sparse_marginals_add_up() -> None:
    sizes = (40_000, 40_000)
    schema = Schema("wide", tuple(Codes(name=f"c{i}", size=size) for i, size in enumerate(sizes)))
    rng = np.random.default_rng(5)
    rows = pa.table({f"c{i}": rng.integers(0, 5, 500) * 7919 for i in range(2)})
    workload = build(["c0 = 7919 and c1 = 15838", "c0 < 8000 and c1 > 20000"], schema)
    work = work_of(schema, workload, 500)
    assert [len(work.counted.blocks), len(work.counted.sparse)] == [0, 1]
    pieces = summed([list(run(CountRows(work), batches)) for batches in tasks(rows, "c0", "c1")])
    a, b = (rows[f"c{i}"].to_numpy() for i in range(2))
    expected = [int(((a == 7919) & (b == 15838)).sum()), int(((a < 8000) & (b > 20000)).sum())]
    assert [piece.kind for piece in pieces if piece.kind == Kind.DENSE] == []
    found = [SparseCounts(*numbers_of(p).reshape(2, -1)) for p in pieces if p.kind == Kind.SPARSE]
    assert workload.from_marginals([(work.counted.sparse[0], found[0])]).tolist() == expected
    assert reveal(count(read(rows, schema=schema), workload)).tolist() == expected
