"""Cases measured, each run in a process of its own: accuracy beside each other, one core each, times alone.

What was measured is kept in NAME.jsonl in the output folder: an interrupted benchmark goes on where it stopped. The
runs as Parquet (NAME.parquet), a table (NAME.md) and a page of plots (NAME.html) are written from what is there.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Literal, Protocol, TypeVar

import numpy as np

from equipoise.bench.runs import ALONE, Run, read_runs, write_parquet

__all__ = ["Case", "Report", "Series", "averages", "spread"]


class Case(Protocol):
    """What is measured: a table, a workload, a method."""

    @property
    def label(self) -> str:
        """The row's name: all that tells it from the others."""
        ...

    @property
    def table(self) -> str:
        """The table's name."""
        ...

    @property
    def quick(self) -> bool:
        """Whether it belongs to the part that takes minutes."""
        ...


class Report(Protocol):
    """What a benchmark makes of its runs."""

    @property
    def markdown(self) -> str:
        """The table."""
        ...

    @property
    def html(self) -> str:
        """The page of plots."""
        ...

    @property
    def met(self) -> bool:
        """Whether everything that is to be reached, and was measured, is."""
        ...


AnyCase = TypeVar("AnyCase", bound=Case)


@dataclass(frozen=True)
class Series(Generic[AnyCase]):
    """A benchmark.

    Attributes:
        name: Of the module in this package, and of the files.
        about: What it is, for --help.
        cases: What is measured.
        measure: One run: case, seed, output folder, folder of the yardstick tables.
        report: The table and the plots.
        pictures: The plots as files, by name, for other documents; written to a folder NAME-figures.
        own_tables: Tables that the benchmark makes up; the others are skipped where the yardstick folder is absent.
        kind: "accuracy" runs beside each other, one core each; "timing" runs are alone on the machine.
        runs: Repetitions, of all but a quick run.
    """

    name: str
    about: str
    cases: Sequence[AnyCase]
    measure: Callable[[AnyCase, int, Path, Path], Run]
    report: Callable[[Sequence[Run]], Report]
    own_tables: tuple[str, ...] = ()
    pictures: Callable[[Sequence[Run]], dict[str, str]] | None = None
    kind: Literal["accuracy", "timing"] = "timing"
    runs: int = 3

    def main(self, arguments: list[str] | None = None) -> int:
        """Measure what is missing, write the files; exit code 1 when something that was measured is not reached."""
        chosen = self._parser().parse_args(arguments)
        chosen.out.mkdir(parents=True, exist_ok=True)
        if chosen.one:
            case = next(case for case in self.cases if case.label == chosen.one)
            sys.stdout.write(json.dumps(self.measure(case, chosen.seed, chosen.out, chosen.data)) + "\n")
            return 0
        kept = chosen.out / f"{self.name}.jsonl"
        todo = self._missing(chosen, read_runs(kept))
        jobs = 1 if self.kind == "timing" else chosen.jobs or os.cpu_count() or 1
        with ThreadPoolExecutor(jobs) as pool:
            made = [pool.submit(self._apart, case, seed, chosen.out, chosen.data) for case, seed in todo]
            try:
                for number, future in enumerate(as_completed(made), start=1):
                    run = future.result()
                    with kept.open("a") as log:
                        log.write(json.dumps(run) + "\n")
                    failed = f": {run['failed']}" if "failed" in run else ""
                    sys.stderr.write(f"{number} of {len(todo)}: {run['label']}{failed}\n")
            finally:
                pool.shutdown(wait=False, cancel_futures=True)  # an interruption begins no other
        return self._written(read_runs(kept), chosen.out)

    def _missing(self, chosen: argparse.Namespace, done: Sequence[Run]) -> list[tuple[AnyCase, int]]:
        """What is to be run, with its seed; the first run of everything before the second of anything."""
        wanted = [case for case in self.cases if chosen.only in case.label and (case.quick or not chosen.quick)]
        there = []
        for case in wanted:
            if case.table in self.own_tables or (chosen.data / f"{case.table}.parquet").exists():
                there.append((case, sum(run["label"] == case.label for run in done)))
            else:
                sys.stderr.write(f"{case.label}: the yardstick tables are not at {chosen.data}; skipped\n")
        runs = 1 if chosen.quick else chosen.runs
        return [(case, seed) for seed in range(runs) for case, already in there if already <= seed]

    def _written(self, runs: Sequence[Run], out: Path) -> int:
        if runs:
            write_parquet(runs, out / f"{self.name}.parquet")
        made = self.report(runs)
        (out / f"{self.name}.md").write_text(made.markdown)
        (out / f"{self.name}.html").write_text(made.html)
        self._draw(runs, out / f"{self.name}-figures")
        sys.stdout.write(made.markdown)
        return 0 if made.met else 1

    def _parser(self) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(description=self.about, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the yardstick tables")
        parser.add_argument("--out", type=Path, default=Path("bench-out"))
        parser.add_argument("--runs", type=int, default=self.runs)
        parser.add_argument("--jobs", type=int, default=None, help="accuracy runs at a time; default: one a core")
        parser.add_argument("--only", default="", help="only rows whose label contains this text")
        parser.add_argument("--quick", action="store_true", help="one run of the rows that take minutes together")
        parser.add_argument("--one", default="", help="one run of the row with this label, printed as JSON")
        parser.add_argument("--seed", type=int, default=0)
        return parser

    def _draw(self, runs: Sequence[Run], folder: Path) -> None:
        for name, picture in (self.pictures(runs) if self.pictures is not None else {}).items():
            folder.mkdir(exist_ok=True)
            (folder / name).write_text(picture, encoding="utf-8")

    def _apart(self, case: AnyCase, seed: int, out: Path, data: Path) -> Run:
        command = [sys.executable, "-m", f"equipoise.bench.{self.name}", "--out", str(out), "--data", str(data)]
        command += ["--one", case.label, "--seed", str(seed)]
        environment = {**os.environ, **ALONE} if self.kind == "accuracy" else dict(os.environ)
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return {"label": case.label, "failed": (done.stderr.strip().splitlines() or ["no message"])[-1]}
        return dict(json.loads(done.stdout.splitlines()[-1]))


def averages(runs: Sequence[Run], label: str) -> dict[str, float]:
    """Means over the good runs of a case, with "runs" and "failed"; nothing when it was not measured.

    Example:
        >>> averages([{"label": "a", "max": 1.0}, {"label": "a", "max": 3.0}, {"label": "a", "failed": "no"}], "a")
        {'runs': 2, 'failed': 1, 'max': 2.0}
    """
    mine = [run for run in runs if run["label"] == label]
    good = [run for run in mine if "failed" not in run]
    if not mine:
        return {}
    numbers = [name for name in (good[0] if good else {}) if name != "label"]
    means = {name: float(np.mean([run[name] for run in good])) for name in numbers}
    return {"runs": len(good), "failed": len(mine) - len(good)} | means


def spread(runs: Sequence[Run], label: str, name: str) -> float:
    """The standard error of a mean over the good runs of a case; 0 of a single one.

    Example:
        >>> spread([{"label": "a", "max": 1.0}, {"label": "a", "max": 3.0}], "a", "max")
        1.0
    """
    values = [run[name] for run in runs if run["label"] == label and "failed" not in run]
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0
