"""Running an experiment: what is missing is run, what was run is kept, an interruption loses only what was under way.

Runs go to `runs.jsonl`, one line each as it ends. Accuracy runs go beside each other, one core each; timing runs are
alone and may use every core.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from equipoise.bench.experiment import Experiment
from equipoise.bench.figures import Figure
from equipoise.bench.runs import Run, read_runs, run_apart, write_parquet
from equipoise.core import Progress, silent
from equipoise.errors import DataError

__all__ = ["Runner", "missing", "run"]

Runner = Callable[..., Run]
"""What makes one run of a figure: `run_apart`, or a test's."""


def missing(experiment: Experiment, done: Sequence[Run], *, quick: bool, only: str = "") -> list[Figure]:
    """What is to be run, once for each time; the first run of everything before the second of anything.

    A figure that two lines share is run for one of them. With `only`, those whose label contains that text.
    """
    wanted = experiment.quick.runs if quick else experiment.runs
    made = Counter(run["label"] for run in done)
    unique = {figure.label: figure for figures in experiment.figures(quick=quick).values() for figure in figures}
    chosen = [figure for figure in unique.values() if only in figure.label]
    return [figure for number in range(wanted) for figure in chosen if made[figure.label] <= number]


def run(
    experiment: Experiment,
    *,
    data: Path,
    out: Path,
    quick: bool = False,
    only: str = "",
    jobs: int | None = None,
    progress: Progress = silent,
    told: Callable[[str], None] = lambda text: None,
    run_one: Runner = run_apart,
) -> list[Run]:
    """Run what is missing, and return all runs of the experiment that are kept.

    Args:
        experiment: What to run.
        data: The folder of tables.
        out: Where runs are kept.
        quick: Fewer budgets and repetitions.
        only: Run nothing but those whose label contains this text.
        jobs: Accuracy runs beside each other; one for each core unless given.
        progress: Told how many runs are done, of how many.
        told: Told what was run, as it ends.
        run_one: Makes one run.

    Raises:
        DataError: The folder lacks a table; nothing was run.
    """
    _require_tables(experiment, data, quick=quick)
    out.mkdir(parents=True, exist_ok=True)
    kept = out / "runs.jsonl"
    todo = missing(experiment, read_runs(kept), quick=quick, only=only)
    alone = experiment.kind == "timing"
    num_workers = 1 if alone else jobs or os.cpu_count() or 1
    for number, found in enumerate(_made(todo, data, num_workers, one_core=not alone, run_one=run_one), start=1):
        with kept.open("a") as log:
            log.write(json.dumps(found) + "\n")
        progress(number, len(todo))
        told(f"{number} of {len(todo)}: {found['label']}" + (f": {found['failed']}" if "failed" in found else ""))
    runs = read_runs(kept)
    if runs:
        write_parquet(runs, out / "runs.parquet")
    return runs


def _made(todo: list[Figure], data: Path, num_workers: int, *, one_core: bool, run_one: Runner) -> Iterator[Run]:
    """Runs as they end. On an interruption those under way end with their processes, and no other begins."""
    with ThreadPoolExecutor(num_workers) as pool:
        waiting: set[Future[Run]] = {pool.submit(run_one, figure, data, one_core=one_core) for figure in todo}
        try:
            while waiting:
                ended, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in ended)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _require_tables(experiment: Experiment, data: Path, *, quick: bool) -> None:
    tables = {panel.table for panel in experiment.panels if panel.quick or not quick}
    lacking = sorted(name for name in tables if not (data / "workloads" / f"{name}.json").is_file())
    if lacking:
        raise DataError(
            f"{data} has no workloads/{lacking[0]}.json: the experiment needs {', '.join(sorted(tables))}. Name the"
            " folder of tables with --data; docs/bench.md says what is in it and where the tables come from."
        )
