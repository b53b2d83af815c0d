"""Who counts marginals in the counting benchmark. Each runs in a process of its own, started by bench/counting.py.

Every contestant starts from the same columns of unsigned bytes, loaded the way it likes best before the clock starts,
and warmed up on a small part of the job, so that compiling and lazy loading are not timed. Turning the rows of a
group-by into tensors, which ours are already, is not timed either.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.core import Codes, IntArray
from equipoise.data.schema import Schema
from equipoise.data.whole import Codes as CodesColumn
from equipoise.queries.build import build
from equipoise.queries.workload import Workload

__all__ = ["CONTESTANTS", "NAMES", "SIZES", "run", "schema"]

SIZES = (2, 2, 5, 6, 7, 9, 15, 16, 42, 16, 6, 10, 10)
"""Sizes of the columns of the Adult census table as the papers code it."""

NAMES = tuple(f"column_{i}" for i in range(len(SIZES)))
ORDER = 3
MAX_REPEATS = 3
SECONDS = 20.0
"""The job is repeated up to MAX_REPEATS times, but not again once it has taken this long; the fastest counts."""

SETS_TOGETHER = 26
"""Marginals in one DuckDB query of grouping sets: 20 to 40 are about equally fast, all 286 in one are slower."""

Job = Callable[[], Any]


def schema() -> Schema:
    """The public schema of the benchmark's table."""
    return Schema("bench", tuple(CodesColumn(name=name, size=size) for name, size in zip(NAMES, SIZES, strict=True)))


def _column_sets() -> list[tuple[int, ...]]:
    return list(itertools.combinations(range(len(SIZES)), ORDER))


def _dense(columns: tuple[int, ...], keys: list[Any], counts: Any) -> IntArray:
    """A group-by's rows as the tensor of all cells."""
    tensor = np.zeros([SIZES[c] for c in columns], dtype=np.int64)
    tensor[tuple(np.asarray(key).astype(np.int64) for key in keys)] = np.asarray(counts)
    return tensor


def _concatenated(marginals: Iterator[IntArray]) -> IntArray:
    return np.concatenate([tensor.reshape(-1) for tensor in marginals])


def _workload() -> Workload:
    workload = build(f"{ORDER}-way", schema())
    assert isinstance(workload, Workload)
    return workload


def _equipoise_codes(codes: Codes, threads: int) -> tuple[Job, Callable[[Any], IntArray]]:
    from equipoise.engines.arrow import BATCH_ROWS, count_codes

    workload, num_rows = _workload(), codes.shape[1]

    def job() -> IntArray:
        batches = (codes[:, start : start + BATCH_ROWS] for start in range(0, num_rows, BATCH_ROWS))
        return count_codes(batches, workload, num_rows=num_rows, threads=threads)

    workload.count_rows(np.zeros((len(SIZES), 1), dtype=np.uint8))  # Compiles.
    return job, lambda counts: counts


def _equipoise_table(source: Any, threads: int) -> tuple[Job, Callable[[Any], IntArray]]:
    from equipoise.data.table import read
    from equipoise.engines.arrow import count
    from equipoise.privacy.private import reveal

    workload = _workload()
    table = read(source, schema=schema())
    workload.count_rows(np.zeros((len(SIZES), 1), dtype=np.uint8))  # Compiles.
    return lambda: count(table, workload, threads=threads), reveal


def _equipoise_arrow(codes: Codes, threads: int) -> tuple[Job, Callable[[Any], IntArray]]:
    import pyarrow as pa

    return _equipoise_table(pa.table(dict(zip(NAMES, codes, strict=True))), threads)


def _equipoise_parquet(codes: Codes, threads: int) -> tuple[Job, Callable[[Any], IntArray]]:
    import tempfile

    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "table.parquet"
    pq.write_table(pa.table(dict(zip(NAMES, codes, strict=True))), path)
    job, dense = _equipoise_table(path, threads)

    def clean(counts: Any) -> IntArray:
        folder.cleanup()
        return dense(counts)

    return job, clean


def _duckdb(codes: Codes, threads: int) -> Any:
    import duckdb
    import pyarrow as pa

    connection = duckdb.connect()
    connection.execute(f"SET threads = {threads}")
    connection.register("source", pa.table(dict(zip(NAMES, codes, strict=True))))
    connection.execute("CREATE TABLE bench AS SELECT * FROM source")
    connection.unregister("source")
    return connection


def _listed(columns: tuple[int, ...]) -> str:
    return ", ".join(NAMES[c] for c in columns)


def _duckdb_queries(codes: Codes, threads: int) -> tuple[Job, Callable[[Any], IntArray]]:
    connection, sets = _duckdb(codes, threads), _column_sets()

    def ask(columns: tuple[int, ...]) -> Any:
        named = _listed(columns)
        return connection.execute(f"SELECT {named}, count(*) AS n FROM bench GROUP BY {named}").fetchnumpy()

    def dense(results: list[Any]) -> IntArray:
        return _concatenated(_dense(c, [r[NAMES[i]] for i in c], r["n"]) for c, r in zip(sets, results, strict=True))

    ask(sets[0])
    return lambda: [ask(columns) for columns in sets], dense


def _duckdb_sets(codes: Codes, threads: int) -> tuple[Job, Callable[[Any], IntArray]]:
    connection, sets = _duckdb(codes, threads), _column_sets()
    parts = [sets[start : start + SETS_TOGETHER] for start in range(0, len(sets), SETS_TOGETHER)]

    def ask(some: list[tuple[int, ...]]) -> Any:
        used = _listed(tuple(sorted({c for columns in some for c in columns})))
        grouping = ", ".join(f"({_listed(columns)})" for columns in some)
        query = f"SELECT {used}, count(*) AS n FROM bench GROUP BY GROUPING SETS ({grouping})"
        return connection.execute(query).fetchnumpy()

    def dense(results: list[Any]) -> IntArray:
        return _concatenated(
            _of_set(columns, result) for some, result in zip(parts, results, strict=True) for columns in some
        )

    ask(parts[0][:1])
    return lambda: [ask(some) for some in parts], dense


def _of_set(columns: tuple[int, ...], result: Any) -> IntArray:
    """One grouping set's rows: those in which its columns, and no others, are not null."""
    rows = np.ones(len(result["n"]), dtype=np.bool_)
    for c, name in enumerate(NAMES):
        if name in result:
            rows &= np.ma.getmaskarray(np.ma.asarray(result[name])) != (c in columns)
    return _dense(columns, [np.ma.getdata(result[NAMES[c]])[rows] for c in columns], result["n"][rows])


def _polars_dense(results: list[Any]) -> IntArray:
    return _concatenated(
        _dense(columns, [frame[NAMES[c]].to_numpy() for c in columns], frame["len"].to_numpy())
        for columns, frame in zip(_column_sets(), results, strict=True)
    )


def _polars(codes: Codes, engine: str) -> tuple[Job, Callable[[Any], IntArray]]:
    import polars as pl

    frame = pl.DataFrame(dict(zip(NAMES, codes, strict=True)))
    queries = [frame.lazy().group_by([NAMES[c] for c in columns]).len() for columns in _column_sets()]
    if engine == "together":
        pl.collect_all(queries[:2])
        return lambda: pl.collect_all(queries), _polars_dense
    queries[0].collect(engine="streaming")
    return lambda: [query.collect(engine="streaming") for query in queries], _polars_dense


def _polars_together(codes: Codes, threads: int) -> tuple[Job, Callable[[Any], IntArray]]:
    return _polars(codes, "together")


def _polars_streaming(codes: Codes, threads: int) -> tuple[Job, Callable[[Any], IntArray]]:
    return _polars(codes, "streaming")


CONTESTANTS: dict[str, Callable[[Codes, int], tuple[Job, Callable[[Any], IntArray]]]] = {
    "equipoise, columns of codes": _equipoise_codes,
    "equipoise, Arrow table checked against its schema": _equipoise_arrow,
    "equipoise, Parquet file checked against its schema": _equipoise_parquet,
    "DuckDB, one GROUP BY a marginal": _duckdb_queries,
    "DuckDB, GROUPING SETS of 26 marginals": _duckdb_sets,
    "Polars, lazy group_by, collect_all": _polars_together,
    "Polars, lazy group_by, streaming engine": _polars_streaming,
}


def run(name: str, data: Path, threads: int) -> dict[str, Any]:
    """Times one contestant in this process; Polars reads its number of threads from the environment."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    job, dense = CONTESTANTS[name](np.load(data), threads)
    best, result, started = (float("inf"), float("inf")), None, time.perf_counter()
    for _ in range(MAX_REPEATS):
        result = None
        wall, cpu = time.perf_counter(), time.process_time()
        result = job()
        best = min(best, (time.perf_counter() - wall, time.process_time() - cpu))
        if time.perf_counter() - started > SECONDS:
            break
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    digest = hashlib.sha256(dense(result).astype("<i8").tobytes()).hexdigest()
    return {"contestant": name, "threads": threads, "wall": best[0], "cpu": best[1], "peak_mb": peak, "digest": digest}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))) + "\n")
