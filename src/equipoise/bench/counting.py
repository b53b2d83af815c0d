"""The counting benchmark: every three-way marginal of 13 columns, against DuckDB and Polars, on one and on two cores.

    python -m equipoise.bench.counting --out bench-out [--rows 5000000] [--large-rows 50000000] [--skip-large]

Writes counting.md, counting.csv and counting.json. The data are made up, skewed and correlated. All contestants
must give identical counts. Then a large Parquet file is counted, and the peak memory of the process that does it is
measured.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from equipoise.bench.contestants import CONTESTANTS, NAMES, SIZES, schema
from equipoise.core import Codes, IntArray

__all__ = ["main", "make_codes"]

CHUNK_ROWS = 1_000_000
LARGE_COLUMNS = (5, 7, 8)
"""The marginal of the large file that is checked against an independent count."""

REQUIRED_RATIO = 5.0
REQUIRED_MB = 2000.0
OURS = "equipoise, columns of codes"


def make_codes(rng: np.random.Generator, num_rows: int) -> Codes:
    """Made-up rows: small codes are common, and half of a row's values follow one hidden number."""
    hidden = rng.integers(2**16, size=num_rows, dtype=np.uint16)
    codes = np.empty((len(SIZES), num_rows), dtype=np.uint8)
    for column, size in enumerate(SIZES):
        own = rng.integers(2**16, size=num_rows, dtype=np.uint16)
        follows = rng.integers(2, size=num_rows, dtype=np.uint8).view(np.bool_)
        skewed = (size * (np.arange(2**16) / 2**16) ** 3).astype(np.uint8)
        codes[column] = skewed[np.where(follows, hidden, own)]
    return codes


def main(arguments: list[str] | None = None) -> int:
    """Runs the benchmark; the exit code is 1 when a requirement is missed or two contestants disagree."""
    parser = argparse.ArgumentParser(prog="python -m equipoise.bench.counting", description="Counting benchmark.")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--large-rows", type=int, default=50_000_000)
    parser.add_argument("--skip-large", action="store_true")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    console = Console()
    with tempfile.TemporaryDirectory() as folder, Progress(console=console, transient=True) as progress:
        results = _race(Path(folder), options.rows, options.threads, progress)
        large = None if options.skip_large else _count_large(Path(folder), options.large_rows, progress)
    failures = _failures(results, large)
    report = {"rows": options.rows, "machine": _machine(), "results": results, "large": large, "failures": failures}
    _write(report, options.out)
    _show(report, console)
    return 1 if failures else 0


def _race(folder: Path, num_rows: int, threads: list[int], progress: Progress) -> list[dict[str, Any]]:
    data = folder / "codes.npy"
    np.save(data, make_codes(np.random.default_rng(0), num_rows))
    task = progress.add_task("counting", total=len(threads) * len(CONTESTANTS))
    results = []
    for number in threads:
        for name in CONTESTANTS:
            progress.update(task, description=f"{name} ({number} cores)")
            results.append(_child("equipoise.bench.contestants", [name, str(data), str(number)], number))
            progress.advance(task)
    for result in results:
        ours = next(r for r in results if r["contestant"] == OURS and r["threads"] == result["threads"])
        result["ratio"] = result["wall"] / ours["wall"]
    return results


def _child(module: str, arguments: list[str], threads: int) -> dict[str, Any]:
    environment = {**os.environ, "POLARS_MAX_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments[:1])} failed:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _count_large(folder: Path, num_rows: int, progress: Progress) -> dict[str, Any]:
    path = folder / "large.parquet"
    task = progress.add_task("writing the large file", total=num_rows)
    expected = np.zeros(int(np.prod([SIZES[c] for c in LARGE_COLUMNS])), dtype=np.int64)
    arrow_schema = pa.schema([(name, pa.uint8()) for name in NAMES])
    with pq.ParquetWriter(path, arrow_schema) as writer:
        for codes in _chunks(num_rows):
            writer.write_table(pa.table(dict(zip(NAMES, codes, strict=True)), schema=arrow_schema))
            cells = np.ravel_multi_index(
                tuple(codes[c].astype(np.int64) for c in LARGE_COLUMNS), [SIZES[c] for c in LARGE_COLUMNS]
            )
            expected += np.bincount(cells, minlength=len(expected))
            progress.advance(task, codes.shape[1])
    progress.update(task, description="counting the large file")
    result = _child("equipoise.bench.counting", ["--count-large", str(path)], 2)
    result["file_mb"] = path.stat().st_size / 2**20
    result["exact"] = result.pop("checked") == expected.tolist()
    return result


def _chunks(num_rows: int) -> Iterator[Codes]:
    rng = np.random.default_rng(1)
    for start in range(0, num_rows, CHUNK_ROWS):
        yield make_codes(rng, min(CHUNK_ROWS, num_rows - start))


def _count_file(path: Path) -> dict[str, Any]:
    """Counts a file the way a release does; runs in a process of its own so that the peak is its own."""
    from equipoise.data.table import read
    from equipoise.engines.arrow import count
    from equipoise.privacy.private import reveal
    from equipoise.queries.build import build
    from equipoise.queries.workload import Workload

    workload = build("3-way", schema())
    assert isinstance(workload, Workload)
    table = read(path, schema=schema())
    wall, cpu = time.perf_counter(), time.process_time()
    counts: IntArray = reveal(count(table, workload))
    group = next(g for g, group in enumerate(workload.groups) if group.columns == LARGE_COLUMNS)
    return {
        "rows": table.num_rows,
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "checked": counts[workload.starts[group] : workload.starts[group + 1]].tolist(),
    }


def _failures(results: list[dict[str, Any]], large: dict[str, Any] | None) -> list[str]:
    failures = []
    if len({result["digest"] for result in results}) != 1:
        failures.append("the contestants' counts differ")
    for result in results:
        if not result["contestant"].startswith("equipoise") and result["ratio"] < REQUIRED_RATIO:
            failures.append(f"{result['contestant']}, {result['threads']} cores: only {result['ratio']:.1f}x slower")
    if large is not None and not large["exact"]:
        failures.append("the large file's counts are wrong")
    if large is not None and large["peak_mb"] > REQUIRED_MB:
        failures.append(f"the large file took {large['peak_mb']:.0f} MB")
    return failures


def _machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


HEADINGS = ("contestant", "cores", "wall s", "CPU s", "times ours", "peak MB")


def _rows(results: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    for r in results:
        numbers = (f"{r['wall']:.2f}", f"{r['cpu']:.2f}", f"{r['ratio']:.1f}", f"{r['peak_mb']:.0f}")
        yield (r["contestant"], str(r["threads"]), *numbers)


def _summary(report: dict[str, Any]) -> list[str]:
    same = len({result["digest"] for result in report["results"]}) == 1
    lines = [f"All contestants gave identical counts: {'yes' if same else 'NO'}."]
    if (large := report["large"]) is not None:
        lines.append(
            f"Large Parquet file: {large['rows']:,} rows ({large['file_mb']:.0f} MB) in {large['wall']:.1f} s,"
            f" peak memory {large['peak_mb']:.0f} MB, counts {'exact' if large['exact'] else 'WRONG'}."
        )
    return lines + [f"MISSED: {failure}." for failure in report["failures"]]


def _title(report: dict[str, Any]) -> str:
    return f"286 three-way marginals of {report['rows']:,} rows x 13 columns"


def _write(report: dict[str, Any], out: Path) -> None:
    (out / "counting.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    rows = list(_rows(report["results"]))
    with (out / "counting.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([HEADINGS, *rows])
    lines = [f"# {_title(report)}", "", f"Machine: {report['machine']}.", ""]
    lines += ["| " + " | ".join(cells) + " |" for cells in (HEADINGS, ("---",) * len(HEADINGS), *rows)]
    lines += ["", *_summary(report)]
    (out / "counting.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _show(report: dict[str, Any], console: Console) -> None:
    table = Table(*HEADINGS, title=_title(report))
    for cells in _rows(report["results"]):
        table.add_row(*cells)
    console.print(table)
    for line in _summary(report):
        console.print(line)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--count-large"]:
        sys.stdout.write(json.dumps(_count_file(Path(sys.argv[2]))) + "\n")
    else:
        sys.exit(main())
