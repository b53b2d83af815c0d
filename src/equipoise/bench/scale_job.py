"""One measurement of the scaling benchmark, in a process of its own: `python -m equipoise.bench.scale_job '{...}'`.

Prints one JSON object: seconds, CPU seconds, peak memory, and a digest of the counts.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import threading
import time
from itertools import combinations, islice
from pathlib import Path
from typing import Any

from equipoise.bench.contestants import NAMES, schema
from equipoise.bench.memory import peak_bytes
from equipoise.core import Progress, silent
from equipoise.data.table import Table, read
from equipoise.engines.scan import count
from equipoise.privacy.private import reveal
from equipoise.queries.build import build
from equipoise.queries.queries import Queries

__all__ = ["main", "measure"]

EXECUTOR = "CoarseGrainedExecutorBackend"


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """Counts a folder of Parquet files.

    Args:
        job: `path`; `num_columns` and `num_marginals` (default: all); `engine`, `threads`, `memory` in bytes; `warm`, a
            smaller folder to count first, so that nothing is timed that happens once; `kill`: end an executor by its
            process id in the middle.
    """
    names = NAMES[: job.get("num_columns", len(NAMES))]
    public = schema().select(names)
    sets = list(islice(combinations(names, 3), job.get("num_marginals")))
    workload = build(sets, public)
    if (warm := job.get("warm")) is not None:
        _count(_open(warm, public, job), workload, job, silent)
    table = _open(job["path"], public, job)
    num_rows = table.num_rows
    killed = threading.Event()
    progress = _killer(killed) if job.get("kill") else silent
    wall, cpu = time.perf_counter(), _cpu_seconds()
    counts = _count(table, workload, job, progress)
    return {
        "rows": num_rows,
        "marginals": len(sets),
        "columns": len(names),
        "wall": time.perf_counter() - wall,
        "cpu": _cpu_seconds() - cpu,
        "peak_mb": peak_bytes() / 2**20,
        "digest": hashlib.sha256(counts.tobytes()).hexdigest(),
        "killed": killed.is_set(),
    }


def _open(path: str, public: Any, job: dict[str, Any]) -> Table:
    return read(Path(path), schema=public, engine=job.get("engine"))


def _count(table: Table, workload: Queries, job: dict[str, Any], progress: Progress) -> Any:
    return reveal(count(table, workload, threads=job.get("threads"), memory=job.get("memory"), progress=progress))


def _cpu_seconds() -> float:
    """Of this process and of all it has started: Spark's Java processes and their Python workers."""
    import psutil

    me = psutil.Process()
    total = 0.0
    for process in [me, *me.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def _killer(killed: threading.Event) -> Progress:
    """Ends one executor, once, when a part of the tasks is done."""

    def progress(done: int, total: int) -> None:
        if not killed.is_set() and done > total // 5:
            import psutil

            for process in psutil.Process().children(recursive=True):
                if EXECUTOR in " ".join(process.cmdline()):
                    os.kill(process.pid, signal.SIGKILL)
                    killed.set()
                    return

    return progress


def main() -> None:
    """Measures what the first argument describes."""
    sys.stdout.write(json.dumps(measure(json.loads(sys.argv[1]))) + "\n")


if __name__ == "__main__":
    main()
