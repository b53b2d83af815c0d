"""Accuracy on the yardstick tables: the mean of several runs of the defaults, beside the figures to beat.

    python -m equipoise.bench.accuracy --data ../shared/data --out bench-out

Non-private by nature: it compares with the truth, on public tables. Each run draws its own noise; nothing is tuned
or selected.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from equipoise.data.table import read
from equipoise.evaluation import evaluate
from equipoise.pipeline import Request, release
from equipoise.queries.build import columns_of

__all__ = ["FIGURES", "Figure", "main"]


@dataclass(frozen=True)
class Figure:
    """What one method has to reach on one table: largest and mean error of the synthetic rows."""

    table: str
    method: str
    epsilon: float
    largest: float | None
    mean: float | None


FIGURES = (
    Figure("adult_reduced", "pep", 1.0, 0.0065, 3.3e-4),
    Figure("adult_reduced", "pep", 0.1, 0.047, None),
    Figure("adult_reduced", "mwem", 1.0, 0.025, None),
    Figure("adult_reduced", "mwem", 0.1, 0.07, None),
)


def measure(figure: Figure, data: Path, runs: int) -> dict[str, float | str | None]:
    """Run one figure several times; errors of the model and of as many sampled rows as the table has."""
    workload = data / "workloads" / f"{figure.table}.json"
    source = json.loads(workload.read_text())["table"]
    table = read(data / f"{source}.parquet", schema=data / f"{source}.domain.json")
    columns = columns_of(workload)
    if columns is not None:
        table = table.select(columns)
    errors, seconds = [], []
    for _ in range(runs):
        began = time.perf_counter()
        made = release(Request(table, epsilon=figure.epsilon, workload=workload, method=figure.method))
        rows = made.codes()
        seconds.append(time.perf_counter() - began)
        found = evaluate(made, table, rows=rows)
        errors.append((found.model.max, found.model.mean, found.rows.max, found.rows.mean))
    model_largest, model_mean, largest, mean = np.mean(errors, axis=0)
    return {
        "table": figure.table,
        "method": figure.method,
        "epsilon": figure.epsilon,
        "max (rows)": largest,
        "max to reach": figure.largest,
        "mean (rows)": mean,
        "mean to reach": figure.mean,
        "max (model)": model_largest,
        "mean (model)": model_mean,
        "spread of max": float(np.std([e[2] for e in errors])),
        "seconds (first)": seconds[0],
        "seconds (median)": float(np.median(seconds)),
    }


def met(row: dict[str, float | str | None]) -> bool:
    """Whether a row reaches its figures."""
    return all(
        row[goal] is None or float(row[got] or 0) <= float(row[goal] or 0)
        for got, goal in (("max (rows)", "max to reach"), ("mean (rows)", "mean to reach"))
    )


def markdown(rows: list[dict[str, float | str | None]], runs: int) -> str:
    """The table, for people."""
    shown = ["table", "method", "epsilon", "max (rows)", "max to reach", "mean (rows)", "mean to reach"]
    shown += ["max (model)", "mean (model)", "spread of max", "seconds (first)", "seconds (median)"]
    lines = [
        f"# Accuracy: mean of {runs} runs, defaults, one record replaced, delta = 1/n^2",
        "",
        "| " + " | ".join([*shown, "met"]) + " |",
        "|" + "---|" * (len(shown) + 1),
    ]
    for row in rows:
        cells = ["" if row[k] is None else f"{row[k]:.3g}" if isinstance(row[k], float) else str(row[k]) for k in shown]
        lines.append("| " + " | ".join([*cells, "yes" if met(row) else "NO"]) + " |")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return "\n".join([*lines, "", f"Peak memory of the whole process: {peak:.2f} GiB.", ""])


def main(arguments: list[str] | None = None) -> int:
    """Measure and write `accuracy.md` and `accuracy.json`; exit code 1 when a figure is not met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the yardstick tables")
    parser.add_argument("--out", type=Path, default=Path("bench-out"))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="", help="only rows whose 'table method epsilon' contains this text")
    chosen = parser.parse_args(arguments)
    if not chosen.data.is_dir():
        sys.stdout.write(f"accuracy: the yardstick tables are not at {chosen.data}; skipped\n")
        return 0
    rows = []
    for figure in FIGURES:
        label = f"{figure.table} {figure.method} {figure.epsilon:g}"
        if chosen.only not in label:
            continue
        sys.stderr.write(f"{label} ...\n")
        rows.append(measure(figure, chosen.data, chosen.runs))
    text = markdown(rows, chosen.runs)
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "accuracy.md").write_text(text)
    (chosen.out / "accuracy.json").write_text(json.dumps(rows, indent=1))
    sys.stdout.write(text)
    return 0 if all(met(row) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
