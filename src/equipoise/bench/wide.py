"""Wide tables through the command line: time and memory of a whole release, and of the first result on a new domain.

    python -m equipoise.bench.wide --out bench-out [--columns 100] [--rows 1000000]

Writes wide.md and wide.json. The table is made up, with real dependence: hidden classes, and a chain from column to
column. Every release is the `equipoise` command in a process of its own, whose CPU seconds and peak memory are taken
from the operating system. The first result is asked for with 1,000 marginals and one sweep of the fit: by a process
that must compile, by one that finds everything compiled for another domain, and by one with nothing to compile.
What compiling takes is the difference, in wall seconds: most of the rest is exact noise for a million cells.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from equipoise.core import Codes

__all__ = ["Timing", "main", "make_codes", "markdown", "timed"]

SIZE = 10
NUM_CLASSES = 8

REQUIRED_SECONDS = 600.0
REQUIRED_GB = 8.0
REQUIRED_FIRST = 10.0


@dataclass(frozen=True)
class Timing:
    """What a command took, or took more than another; a limit of None was not asked for."""

    name: str
    wall: float
    cpu: float
    peak_gb: float
    exit_code: int
    limit_seconds: float
    limit_gb: float | None = None

    @property
    def met(self) -> bool:
        """Whether it worked within its limits."""
        fits = self.limit_gb is None or self.peak_gb <= self.limit_gb
        return self.exit_code == 0 and self.wall <= self.limit_seconds and fits

    def beyond(self, name: str, other: Timing, *, limit_seconds: float) -> Timing:
        """What it took more than another command."""
        wall, cpu = self.wall - other.wall, self.cpu - other.cpu
        return Timing(name, wall, cpu, self.peak_gb, self.exit_code or other.exit_code, limit_seconds)


def make_codes(rng: np.random.Generator, num_rows: int, num_columns: int) -> Codes:
    """Made-up rows: a value follows the one before it (0.4), or else the row's hidden class."""
    classes = rng.choice(NUM_CLASSES, num_rows, p=rng.dirichlet(np.full(NUM_CLASSES, 2.0)))
    codes = np.empty((num_columns, num_rows), dtype=np.uint8)
    before = rng.integers(SIZE, size=num_rows)
    for column in range(num_columns):
        cumulative = np.cumsum(rng.dirichlet(np.full(SIZE, 0.5), size=NUM_CLASSES), axis=1)
        own = np.minimum((rng.random(num_rows)[:, None] > cumulative[classes]).sum(axis=1), SIZE - 1)
        follows = rng.random(num_rows) < 0.4
        before = np.where(follows, (before + rng.integers(SIZE)) % SIZE, own)
        codes[column] = before
    return codes


def write_table(folder: Path, name: str, num_rows: int, num_columns: int) -> list[str]:
    """A table and its domain in files; returns the arguments that name them."""
    names = [f"c{column:03d}" for column in range(num_columns)]
    codes = make_codes(np.random.default_rng(num_columns), num_rows, num_columns)
    pq.write_table(pa.table(dict(zip(names, codes, strict=True))), folder / f"{name}.parquet")
    (folder / f"{name}.domain.json").write_text(json.dumps(dict.fromkeys(names, SIZE)))
    return [str(folder / f"{name}.parquet"), "--domain", str(folder / f"{name}.domain.json")]


def timed(
    name: str,
    arguments: Sequence[str],
    *,
    limit_seconds: float,
    limit_gb: float | None = None,
    environment: dict[str, str] | None = None,
) -> Timing:
    """Run the `equipoise` command in a process of its own."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "equipoise.cli", *arguments]
    process = os.posix_spawn(sys.executable, command, os.environ | (environment or {}))
    _, status, usage = os.wait4(process, 0)
    wall = time.perf_counter() - began
    cpu, peak = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20
    return Timing(name, wall, cpu, peak, os.waitstatus_to_exitcode(status), limit_seconds, limit_gb)


def _measure(folder: Path, num_columns: int, num_rows: int) -> list[Timing]:
    wide = write_table(folder, "wide", num_rows, num_columns)
    small = write_table(folder, "small", 20_000, 25)
    common = ["--epsilon", "1", "--quiet"]
    first = ["--workload", "random 1000 3-way seed 0", "--method", "mixture", "--option", "num_sweeps=1"]
    fewer = ["--columns", ",".join(f"c{column:03d}" for column in range(24))]
    fresh = {"NUMBA_CACHE_DIR": str(folder / "compiled")}
    pairs = [*common, "--workload", "2-way", "--memory", "8GB"]
    out = str(folder / "out")

    def first_result(name: str, table: list[str], folder_name: str) -> Timing:
        asked = ["release", *table, *common, *first, "-o", str(folder / folder_name)]
        return timed(f"first result, 1,000 marginals, {name}", asked, limit_seconds=REQUIRED_SECONDS, environment=fresh)

    cold = first_result("nothing compiled", small, "first")
    new = first_result("a new domain", [*small, *fewer], "second")
    warm = first_result("the same again", [*small, *fewer], "third")
    return [
        cold,
        new,
        warm,
        cold.beyond("of it compiling, nothing compiled", warm, limit_seconds=REQUIRED_FIRST),
        new.beyond("of it compiling, a new domain", warm, limit_seconds=REQUIRED_FIRST),
        timed("plan", ["plan", *wide, *pairs], limit_seconds=60.0),
        timed(
            "release, method auto, with rows and report",
            ["release", *wide, *pairs, "-o", out],
            limit_seconds=REQUIRED_SECONDS,
            limit_gb=REQUIRED_GB,
        ),
        timed("evaluate", ["evaluate", out, wide[0]], limit_seconds=REQUIRED_SECONDS, limit_gb=REQUIRED_GB),
    ]


def markdown(timings: Sequence[Timing], num_columns: int, num_rows: int, load: float) -> str:
    """The results as a page; `load` is that of the machine before they were taken."""
    pairs = num_columns * (num_columns - 1) // 2
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    lines = [
        f"# {num_columns} columns of {SIZE} values, {num_rows:,} rows, all {pairs:,} pairs",
        "",
        f"Machine: {machine}. Load when it began: {load:.1f}.",
        "",
        "| what | wall s | limit s | CPU s | peak GB | limit GB | met |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for t in timings:
        limit = "" if t.limit_gb is None else f"{t.limit_gb:g}"
        numbers = f"{t.wall:.1f} | {t.limit_seconds:g} | {t.cpu:.1f} | {t.peak_gb:.2f} | {limit}"
        lines.append(f"| {t.name} | {numbers} | {'yes' if t.met else 'NO'} |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Runs the benchmark; the exit code is 1 when a limit is missed."""
    parser = argparse.ArgumentParser(prog="python -m equipoise.bench.wide", description="Wide tables.")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        timings = _measure(Path(folder), options.columns, options.rows)
    page = markdown(timings, options.columns, options.rows, load)
    (options.out / "wide.md").write_text(page, encoding="utf-8")
    (options.out / "wide.json").write_text(json.dumps([asdict(t) for t in timings], indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(page)
    return 0 if all(t.met for t in timings) else 1


if __name__ == "__main__":
    sys.exit(main())
