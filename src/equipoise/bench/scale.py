"""The scaling benchmark: what a scan costs against rows, marginals and columns, here and on Spark.

    python -m equipoise.bench.scale --out bench-out [--rows 100000000] [--folder DIR] [--skip-spark]

Makes up Parquet files of 13 columns (26 bytes a row), counts three-way marginals of them in processes of their own, and
writes scale.json, scale.md and scale.svg. Rates are per CPU second, so that other work on the machine disturbs them
little. The exit code is 1 when a requirement is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from equipoise.bench.contestants import NAMES
from equipoise.bench.counting import make_codes
from equipoise.bench.plot import alone, draw
from equipoise.bench.summary import Point

__all__ = ["fit", "main", "make_files"]

FILE_ROWS = 1_000_000
BASE_ROWS = 5_000_000
MEMORY = 2 * 2**30

SLOWER_ALLOWED = 1.2
"""Times the CPU seconds a row-marginal of the base that the largest table may cost."""

SPARK_SHARE = 0.5
"""Share of the local engine's rate that Spark on the same cores has to reach."""

ROWS = (10**5, 10**6, BASE_ROWS, 10**7)
MARGINALS = (36, 72, 143, 286)
COLUMNS = (5, 7, 9, 11, 13)


def make_files(folder: Path, num_rows: int) -> Path:
    """A folder of Parquet files of up to a million rows each; the same rows every time. Kept files are kept."""
    target = folder / f"rows-{num_rows}"
    target.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, num_rows, FILE_ROWS)):
        path = target / f"part-{number:05d}.parquet"
        if path.exists():
            continue
        codes = make_codes(np.random.default_rng(number), min(FILE_ROWS, num_rows - start))
        pq.write_table(pa.table(dict(zip(NAMES, codes, strict=True))), path.with_suffix(".tmp"), row_group_size=2**18)
        path.with_suffix(".tmp").rename(path)
    return target


def _run(job: dict[str, Any]) -> dict[str, Any]:
    command = [sys.executable, "-m", "equipoise.bench.scale_job", json.dumps(job)]
    threads = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, env={**os.environ, **threads}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"a measurement failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    per = 1e9 / (found["rows"] * found["marginals"])
    return {**found, "job": job, "cpu_ns": found["cpu"] * per, "wall_ns": found["wall"] * per}


def fit(sizes: Sequence[float], seconds: Sequence[float]) -> tuple[float, float, float]:
    """Fixed seconds, seconds a unit, and the share of the variation that the line explains.

    Weighted by 1/seconds: what matters is by how many per cent a measurement is off the line.

    Example:
        >>> [round(number, 6) for number in fit([1, 2, 4], [3.0, 5.0, 9.0])]
        [1.0, 2.0, 1.0]
    """
    x, y = np.asarray(sizes, dtype=float), np.asarray(seconds, dtype=float)
    slope, fixed = np.polyfit(x, y, 1, w=1 / y)
    off = ((fixed + slope * x - y) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    return float(fixed), float(slope), float(1 - off)


def _local(folder: Path, num_rows: int) -> dict[str, list[dict[str, Any]]]:
    """Costs on one core, against each of the three sizes, and on all cores for the largest table."""
    base = make_files(folder, min(BASE_ROWS, num_rows))
    job = {"threads": 1, "memory": MEMORY, "warm": str(make_files(folder, 100_000))}
    sizes = [size for size in ROWS if size < num_rows] + [num_rows]
    return {
        "rows": [_run({**job, "path": str(make_files(folder, size))}) for size in sizes],
        "marginals": [_run({**job, "path": str(base), "num_marginals": number}) for number in MARGINALS],
        "columns": [_run({**job, "path": str(base), "num_columns": number}) for number in COLUMNS],
        "all cores": [_run({**job, "path": str(make_files(folder, num_rows)), "threads": None})],
    }


def _spark(folder: Path, num_rows: int) -> dict[str, list[dict[str, Any]]]:
    path, warm = str(make_files(folder, num_rows)), str(make_files(folder, 100_000))
    return {
        "spark": [_run({"path": path, "warm": warm, "engine": f"local[{os.cpu_count()}]"})],
        "lost executor": [_run({"path": path, "engine": "local-cluster[2,1,1024]", "kill": True})],
    }


def _failures(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    failures = []
    rows, whole = found["rows"], found["all cores"][0]
    base = min(rows, key=lambda run: abs(run["rows"] - BASE_ROWS))
    if rows[-1]["cpu_ns"] > SLOWER_ALLOWED * base["cpu_ns"]:
        failures.append(f"a row-marginal costs {rows[-1]['cpu_ns'] / base['cpu_ns']:.2f} times that of the base")
    if max(rows[-1]["peak_mb"], whole["peak_mb"]) > MEMORY / 2**20:
        failures.append("the largest table took more than its memory limit")
    if "spark" not in found:
        return failures
    spark, lost = found["spark"][0], found["lost executor"][0]
    if spark["wall"] * SPARK_SHARE > whole["wall"]:
        failures.append(f"Spark reaches only {whole['wall'] / spark['wall']:.0%} of the local engine's rate")
    if not lost["killed"]:
        failures.append("no executor was killed")
    if {run["digest"] for run in (rows[-1], whole, spark, lost)} != {whole["digest"]}:
        failures.append("the engines' counts differ")
    return failures


AGAINST = {"rows": "rows", "marginals": "marginals", "columns": "marginals of the columns"}


def _text(found: dict[str, list[dict[str, Any]]], failures: list[str]) -> str:
    heads = ("against", "rows", "columns", "marginals", "wall s", "CPU s", "CPU ns a row-marginal", "peak MB")
    lines = ["# What a scan costs", "", f"Machine: {platform.machine()}, {os.cpu_count()} cores.", ""]
    lines += ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    for name, runs in found.items():
        for run in runs:
            numbers = (f"{run['rows']:,}", run["columns"], run["marginals"], f"{run['wall']:.1f}", f"{run['cpu']:.2f}")
            cells = (name, *numbers, f"{run['cpu_ns']:.3f}", f"{run['peak_mb']:.0f}")
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    lines.append("")
    for name, what in AGAINST.items():
        key = "rows" if name == "rows" else "marginals"
        fixed, slope, share = fit([run[key] for run in found[name]], [run["cpu"] for run in found[name]])
        lines.append(f"- Against {what}: {fixed:.2f} s + {slope:.3g} s each; R² = {share:.4f}.")
    return "\n".join([*lines, "", *(f"MISSED: {failure}." for failure in failures)]) + "\n"


def _plot(found: dict[str, list[dict[str, Any]]]) -> str:
    points = [Point(run["rows"], run["cpu"], 0.0, 1, run["cpu"]) for run in found["rows"]]
    drawn = draw([("286 marginals", 0, False, points)], error="seconds", title="A scan's CPU time", across_is="rows")
    return alone(drawn)


def main(arguments: list[str] | None = None) -> int:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m equipoise.bench.scale", description="Scaling benchmark.")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--folder", type=Path, help="where the tables are made and kept; a temporary one by default")
    parser.add_argument("--skip-spark", action="store_true")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        found = _local(folder, options.rows)
        if not options.skip_spark:
            found |= _spark(folder, options.rows)
    failures = _failures(found)
    (options.out / "scale.json").write_text(json.dumps({"runs": found, "failures": failures}, indent=1) + "\n")
    (options.out / "scale.md").write_text(_text(found, failures), encoding="utf-8")
    (options.out / "scale.svg").write_text(_plot(found), encoding="utf-8")
    sys.stdout.write(_text(found, failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
