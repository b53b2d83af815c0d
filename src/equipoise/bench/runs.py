"""One run of a method on a yardstick table, in a process of its own: errors of model and rows, seconds, memory.

Non-private by nature: it compares with the truth, on public tables. Each run draws its own noise. A process of its own
makes times and memory a user's, and a crash a row that failed instead of the end of a benchmark.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from equipoise.bench.figures import Figure
from equipoise.bench.public import PUBLIC_TABLES
from equipoise.data.public import read_public
from equipoise.data.table import Table, read
from equipoise.evaluation import Errors, evaluate
from equipoise.pipeline import Request, release
from equipoise.queries.build import columns_of
from equipoise.queries.workload import Workload

__all__ = ["Run", "measure", "once", "read_runs", "run_apart", "table_of", "write_parquet"]

Run = dict[str, Any]

ALONE = {name: "1" for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")} | {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
}
"""What holds a run to one core, so that several beside each other do not slow each other down."""


def measure(figure: Figure, data: Path) -> Run:
    """One run: errors of the model and of as many sampled rows as the table has, seconds, memory."""
    workload = data / "workloads" / f"{figure.table}.json"
    table = table_of(data, json.loads(workload.read_text())["table"], workload)
    public = None if figure.public is None else read_public(_public_rows(data, figure.public), table.schema)
    began, cpu_began = time.perf_counter(), time.process_time()
    request = Request(
        table,
        epsilon=figure.epsilon,
        workload=workload,
        method=figure.method,
        options=dict(figure.options),
        public=public,
    )
    made = release(request)
    rows = made.codes()
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu_began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    found = evaluate(made, table, rows=rows)
    run: Run = {"label": figure.label, "wall": wall, "cpu": cpu, "memory": peak}
    run |= _named("model", found.model) | _named("rows", found.rows)
    if figure.method == "hdmm":
        counts = made.unbiased()
        assert counts is not None
        stated = counts["stddev"].to_numpy() / made.num_rows
        off = counts["count"].to_numpy() / made.num_rows - found.truth
        run |= {"rmse": float(np.sqrt(np.mean(off**2))), "predicted rmse": float(np.sqrt(np.mean(stated**2)))}
        assert isinstance(made.workload, Workload)
        run |= {"separate rmse": _separate_rmse(made.workload, float(made.statement["guarantee"]["rho"]), table)}
    return run


def _named(of: str, errors: Errors) -> Run:
    return {
        f"{of} max": errors.max,
        f"{of} mean": errors.mean,
        f"{of} rmse": errors.rmse,
        f"{of} tv": errors.total_variation,
    }


def table_of(data: Path, name: str, workload: Path) -> Table:
    """The columns of a yardstick table that a workload file uses."""
    table = read(data / f"{name}.parquet", schema=data / f"{name}.domain.json")
    columns = columns_of(workload)
    return table if columns is None else table.select(columns)


def _public_rows(data: Path, name: str) -> pa.Table:
    made: Callable[[Path], pa.Table] | None = PUBLIC_TABLES.get(name)
    return pq.read_table(data / f"{name}.parquet") if made is None else made(data)


def _separate_rmse(workload: Workload, rho: float, table: Table) -> float:
    """Error when every marginal is measured by itself, with an equal share: each costs 1/stddev^2."""
    return float(np.sqrt(len(workload.groups) / rho) / table.num_rows)


def run_apart(figure: Figure, data: Path, *, compiled: bool = True, one_core: bool = False) -> Run:
    """One run in a process of its own; without `compiled`, nothing compiled earlier is found."""
    with tempfile.TemporaryDirectory() as empty:
        environment: Mapping[str, str] = os.environ
        environment = environment if compiled else {**environment, "NUMBA_CACHE_DIR": empty}
        environment = {**environment, **ALONE} if one_core else environment
        command = [sys.executable, "-m", "equipoise.bench.runs", str(data), json.dumps(asdict(figure))]
        done = subprocess.run(command, env=dict(environment), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return {"label": figure.label, "failed": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def read_runs(kept: Path) -> list[Run]:
    """The runs that a file of JSON lines holds; none when there is no file.

    A line that a kill cut short is left out, so that its run is made again.
    """
    runs = []
    for line in kept.read_text().splitlines() if kept.exists() else ():
        try:
            runs.append(dict(json.loads(line)))
        except json.JSONDecodeError:
            continue
    return runs


def once(kept: Path, label: str, make: Callable[[], Run]) -> Run:
    """The run of that label which a file of JSON lines holds; made, and kept there, where it holds none."""
    for run in read_runs(kept):
        if run["label"] == label:
            return run
    made: Run = {"label": label} | make()
    with kept.open("a") as log:
        log.write(json.dumps(made) + "\n")
    return made


def write_parquet(runs: Sequence[Run], path: Path) -> None:
    """The runs as a table: a row each, a column for everything that any of them has."""
    names = list(dict.fromkeys(name for run in runs for name in run))
    pq.write_table(pa.table({name: [run.get(name) for run in runs] for name in names}), path)


def main(data: str, figure: str) -> None:
    """Measure the figure that is given as JSON, and print the run as JSON."""
    fields = json.loads(figure)
    fields["options"] = tuple((name, value) for name, value in fields["options"])
    sys.stdout.write(json.dumps(measure(Figure(**fields), Path(data))) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
