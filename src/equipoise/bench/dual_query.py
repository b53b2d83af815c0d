"""DualQuery on wide binary tables: time, memory and errors, each run in a process of its own.

Attributes with random biases, 50 to 512,000 of them (gaboardi2014dual, figure 4); a table shaped like film ratings
(figure 2's third panel); KDD99's cells (figure 3). What was measured is kept in wide_binary.jsonl, so an interrupted
benchmark goes on where it stopped. The whole run is measured, counting included; making up the table is not.

DualQuery's own defaults throughout: nothing is chosen by a true error here.

    python -m equipoise.bench.wide_binary --out bench-out --only 512000
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from equipoise import evaluation, pipeline
from equipoise.bench.wide_tables import BiasedBits, write_ratings
from equipoise.core import Progress, silent
from equipoise.data.items import Items
from equipoise.data.schema import Schema
from equipoise.data.table import Table, read
from equipoise.privacy import accountant
from equipoise.privacy.store import IN_MEMORY

__all__ = ["CASES", "Case", "main", "markdown", "measure"]

ROWS = 100_000
DELTA = 0.001
"""The paper's. It is above 1/n, which a release refuses; the same rho is asked for at a smaller delta instead."""


@dataclass(frozen=True)
class Case:
    """A table, a workload and what is to be reached.

    Attributes:
        num_attributes: Attributes of random bias; None for the named table.
        limits: Largest mean error, max error, seconds and GiB to reach, where they are set.
    """

    name: str
    num_queries: int
    num_attributes: int | None = None
    limits: tuple[tuple[str, float], ...] = ()

    @property
    def label(self) -> str:
        """The row's name."""
        return f"{self.name} x {self.num_queries}"


WIDEST = (("mean", 0.03), ("max", 0.15), ("wall", 300.0), ("GiB", 16.0))


CASES = (
    *(Case(f"biased {d}", 100_000, d) for d in (128, 512, 2_000, 8_000, 32_000, 128_000)),
    Case("biased 512000", 100_000, 512_000, WIDEST),
    Case("ratings", 100_000),
    *(Case("kdd99", number, limits=(("wall", 300.0),)) for number in (40_000, 500_000, 2_000_000)),
)


def _table(case: Case, seed: int, folder: Path, data: Path) -> Table:
    if case.num_attributes is not None:
        return read(BiasedBits(ROWS, seed), schema=Schema("biased", Items(case.num_attributes)))
    if case.name == "ratings":
        path = folder / "ratings.parquet"
        if not path.exists():
            write_ratings(path.with_suffix(".part"), np.random.default_rng(seed))
            path.with_suffix(".part").rename(path)
        return read(path, schema=Schema("ratings", Items(17_770)))
    return read(data / f"{case.name}.parquet", schema=data / f"{case.name}.domain.json")


def measure(case: Case, seed: int, folder: Path, data: Path) -> dict[str, Any]:
    """One release and its true errors. Not private: the tables are made up or public."""
    table = _table(case, seed, folder, data)
    delta = min(DELTA, 0.9 / table.num_rows)
    rho = accountant.rho_of(epsilon=1.0, delta=DELTA)
    spent: dict[str, float] = {}

    @contextmanager
    def timed(name: str) -> Iterator[Progress]:
        start = time.perf_counter()
        yield silent
        spent[name.lower()] = time.perf_counter() - start

    start, cpu = time.perf_counter(), time.process_time()
    request = pipeline.Request(
        table,
        epsilon=accountant.epsilon_of(rho=rho, delta=delta),
        delta=delta,
        workload=f"random 3-way x {case.num_queries} seed {seed}",
        method="dual_query",
        seed=seed,
        ledger=IN_MEMORY,
        memory_limit=14 * 2**30,
    )
    made = pipeline.run(request, folder / "release", overwrite=True, steps=timed)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    found = evaluation.evaluate(made, table, rows=evaluation.stored_rows(folder / "release", made.schema)).model
    rounds = made.statement["method"]["num_rounds"]
    run = {"label": case.label, "wall": wall, "cpu": cpu, "GiB": peak, "mean": found.mean, "max": found.max}
    return run | spent | {"rounds": rounds, "records": made.statement.get("synthetic_rows")}


def _apart(case: Case, seed: int, folder: Path, data: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "equipoise.bench.wide_binary", "--out", str(folder), "--data", str(data)]
    done = subprocess.run([*command, "--one", case.label, "--seed", str(seed)], capture_output=True, text=True)
    if done.returncode != 0:
        return {"label": case.label, "failed": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def markdown(runs: Sequence[dict[str, Any]]) -> str:
    """Means over the runs of each case, and what was to be reached."""
    names = ("wall", "counting", "playing", "writing", "cpu", "GiB", "mean", "max", "rounds")
    lines = ["# DualQuery on wide binary tables, (1, 0.001)-differential privacy by rho", ""]
    lines += ["| table x queries | runs | " + " | ".join(names) + " | reached |", "|" + "---|" * (len(names) + 3)]
    for case in CASES:
        mine = [run for run in runs if run["label"] == case.label]
        good = [run for run in mine if "failed" not in run]
        if not mine:
            continue
        means = {name: float(np.mean([run.get(name, 0.0) for run in good])) for name in names} if good else {}
        failed = f", {len(mine) - len(good)} failed" if len(good) < len(mine) else ""
        shown = " | ".join(f"{means[name]:.4g}" if means else "" for name in names)
        reached = "" if not case.limits else "yes" if _reached(case, means) else "NO"
        lines.append(f"| {case.label} | {len(good)}{failed} | {shown} | {reached} |")
    return "\n".join([*lines, ""])


def _reached(case: Case, means: dict[str, float]) -> bool:
    return bool(means) and all(means[name] <= limit for name, limit in case.limits)


def main(arguments: list[str] | None = None) -> int:
    """Measure what is missing, write wide_binary.md; exit code 1 when something is not reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the yardstick tables")
    parser.add_argument("--out", type=Path, default=Path("bench-out"))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="", help="only rows whose label contains this text")
    parser.add_argument("--one", default="", help="one run of the row with this label, printed as JSON")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    chosen.out.mkdir(parents=True, exist_ok=True)
    if chosen.one:
        case = next(case for case in CASES if case.label == chosen.one)
        sys.stdout.write(json.dumps(measure(case, chosen.seed, chosen.out, chosen.data)) + "\n")
        return 0
    kept = chosen.out / "wide_binary.jsonl"
    for case in (case for case in CASES if chosen.only in case.label):
        if case.name == "kdd99" and not chosen.data.is_dir():
            sys.stderr.write(f"{case.label}: the yardstick tables are not at {chosen.data}; skipped\n")
            continue
        for seed in range(sum(run["label"] == case.label for run in _load(kept)), chosen.runs):
            sys.stderr.write(f"{case.label}: run {seed + 1} of {chosen.runs}\n")
            run = _apart(case, seed, chosen.out, chosen.data)
            with kept.open("a") as log:
                log.write(json.dumps(run) + "\n")
    runs = _load(kept)
    text = markdown(runs)
    (chosen.out / "wide_binary.md").write_text(text)
    sys.stdout.write(text)
    return 0 if "| NO |" not in text else 1


def _load(kept: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []


if __name__ == "__main__":
    sys.exit(main())
