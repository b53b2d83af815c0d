"""Accuracy on the yardstick tables: the mean of several runs of the defaults, beside the figures to reach.

    python -m equipoise.bench.accuracy --data ../shared/data --out bench-out

Non-private by nature: it compares with the truth, on public tables. Each run draws its own noise; nothing is tuned or
selected. Each run is a process of its own, the first of a row with nothing compiled, so that times and memory are a
user's. Runs are kept in accuracy.jsonl: an interrupted benchmark goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.bench.figures import FIGURES, ORDERINGS, Figure
from equipoise.bench.runs import Run, read_runs, run_apart

__all__ = ["averaged", "main", "markdown"]


def averaged(figure: Figure, runs: Sequence[Run]) -> dict[str, Any]:
    """A row of the table."""
    good = [run for run in runs if "failed" not in run]
    row: dict[str, Any] = {"figure": figure.label, "runs": len(good), "failed": len(runs) - len(good)}
    if not good:
        return row | {"met": "NO"}
    mean = {name: float(np.mean([run[name] for run in good])) for name in good[0] if name != "label"}
    goals = [(mean["rows max"], figure.largest), (mean["rows mean"], figure.mean)]
    set_goals = [(got, goal) for got, goal in goals if goal is not None]
    row |= {"max": mean["rows max"], "max to reach": figure.largest, "mean": mean["rows mean"]}
    row |= {"mean to reach": figure.mean, "tv": mean["rows tv"]}
    row |= {
        "max / model's": mean["rows max"] / mean["model max"],
        "mean / model's": mean["rows mean"] / mean["model mean"],
    }
    row |= {"spread of max": float(np.std([run["rows max"] for run in good]))}
    row |= {
        "first s": good[0]["wall"],
        "median s": float(np.median([run["wall"] for run in good])),
        "cpu s": mean["cpu"],
    }
    row |= {"GiB": max(run["memory"] for run in good)}
    row |= {name: mean[name] for name in ("rmse", "predicted rmse", "separate rmse") if name in mean}
    row["met"] = "" if not set_goals else "yes" if all(got <= goal for got, goal in set_goals) else "NO"
    return row


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """All rows, and the orderings, for people."""
    shown = list(
        dict.fromkeys(name for row in rows for name in row if name not in ("rmse", "predicted rmse", "separate rmse"))
    )
    lines = ["# Accuracy: errors of the sampled rows, defaults, one record replaced, delta = 1/n^2", ""]
    lines += ["| " + " | ".join(shown) + " |", "|" + "---|" * len(shown)]
    lines += ["| " + " | ".join(_cell(row.get(name)) for name in shown) + " |" for row in rows]
    lines += ["", "| ordering (largest error) | better | worse | holds |", "|---|---|---|---|"]
    found = {row["figure"]: row for row in rows}
    for ordering in ORDERINGS:
        better, worse = (found.get(figure.label, {}).get("max") for figure in (ordering.better, ordering.worse))
        holds = "not run" if better is None or worse is None else "yes" if better < worse else "NO"
        lines.append(f"| {ordering.claim} | {_cell(better)} | {_cell(worse)} | {holds} |")
    lines.append("")
    for row in rows:
        if "rmse" in row:
            told = ", ".join(f"{name} {row[name]:.4g}" for name in ("rmse", "predicted rmse", "separate rmse"))
            lines += [f"{row['figure']}: unbiased answers, {told}.", ""]
    return "\n".join(lines)


def _cell(value: object) -> str:
    return "" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)


def main(arguments: list[str] | None = None) -> int:
    """Measure what is missing, write `accuracy.md`; exit code 1 when a figure is not met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the yardstick tables")
    parser.add_argument("--out", type=Path, default=Path("bench-out"))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="", help="only rows whose label contains this text")
    chosen = parser.parse_args(arguments)
    if not chosen.data.is_dir():
        sys.stdout.write(f"accuracy: the yardstick tables are not at {chosen.data}; skipped\n")
        return 0
    chosen.out.mkdir(parents=True, exist_ok=True)
    kept = chosen.out / "accuracy.jsonl"
    for figure in (figure for figure in FIGURES if chosen.only in figure.label):
        for number in range(sum(run["label"] == figure.label for run in read_runs(kept)), chosen.runs):
            sys.stderr.write(f"{figure.label}: run {number + 1} of {chosen.runs}\n")
            run = run_apart(figure, chosen.data, compiled=number > 0)
            with kept.open("a") as log:
                log.write(json.dumps(run) + "\n")
    runs = read_runs(kept)
    labels = {run["label"] for run in runs}
    rows = [averaged(f, [run for run in runs if run["label"] == f.label]) for f in FIGURES if f.label in labels]
    text = markdown(rows)
    (chosen.out / "accuracy.md").write_text(text)
    sys.stdout.write(text)
    return 0 if all(row["met"] != "NO" for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
