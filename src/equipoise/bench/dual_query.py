"""DualQuery's own experiments: figures 2, 3 and 4 of gaboardi2014dual (arXiv v2), as a table and plots.

    python -m equipoise.bench.dual_query --out bench-out --only 512000

Figure 2: 500,000 three-way marginals at epsilon 0.25 to 5, of Adult and KDD99 in one-hot form (a query is a cell: it
never asks for two values of a column) and of a table shaped like film ratings. Figure 3: 40,000 to 2 million marginals
of KDD99; each release is also asked the 40,000 of the smallest workload, so that its errors can be told from those of
other queries. Figure 4: 50 to 512,000 attributes with random biases. The whole run is measured, counting included;
making up a table is not. DualQuery's own defaults; the paper's search over rounds and draws, which keeps the best of
many releases by its true error, is a series of its own, labelled NON-PRIVATE. Tables, workloads, budgets, runs and the
grid are declared in experiments/series/s002.toml.
"""

from __future__ import annotations

import itertools
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from equipoise import evaluation, pipeline
from equipoise.bench.dual_query_cases import CASES, DEFAULT, FIGURES, FILE, GRID, Case, Lines
from equipoise.bench.runs import Run
from equipoise.bench.series import Series, averages, spread
from equipoise.bench.series_page import Line, Plot, build, pictures
from equipoise.bench.wide_tables import BiasedBits, write_ratings
from equipoise.core import Progress, silent
from equipoise.data.items import Items
from equipoise.data.schema import Schema
from equipoise.data.table import Table, read
from equipoise.privacy import accountant
from equipoise.privacy.store import IN_MEMORY
from equipoise.queries.build import build as build_workload

__all__ = ["SERIES", "SHARED", "Findings", "measure"]

SHARED = f"mean of {FILE.same:,}"
"""Mean error of the queries that every release of figure 3 is asked."""


def _table(case: Case, seed: int, folder: Path, data: Path) -> Table:
    if case.num_attributes is not None:
        return read(BiasedBits(FILE.rows, seed), schema=Schema("biased", Items(case.num_attributes)))
    if case.table == "ratings":
        path = folder / "ratings.parquet"
        if not path.exists():
            write_ratings(path.with_suffix(".part"), np.random.default_rng(seed))
            path.with_suffix(".part").rename(path)
        return read(path, schema=Schema("ratings", Items(17_770)))
    return read(data / f"{case.table}.parquet", schema=data / f"{case.table}.domain.json")


def measure(case: Case, seed: int, folder: Path, data: Path) -> Run:
    """One release, or for GRID one for each point of the grid, of which the best by its true error is kept.

    Not private: the tables are made up or public.
    """
    table = _table(case, seed, folder, data)
    delta = min(FILE.delta, 0.9 / table.num_rows)
    rho = accountant.rho_of(epsilon=case.epsilon, delta=FILE.delta)
    request = pipeline.Request(
        table,
        epsilon=accountant.epsilon_of(rho=rho, delta=delta),
        delta=delta,
        workload=f"random 3-way x {case.num_queries} seed {seed}",
        method=DEFAULT,
        seed=seed,
        ledger=IN_MEMORY,
        memory_limit=14 * 2**30,
    )
    tried = [_released(case, replace(request, options=options), folder) for options in _grid(case, request)]
    best = min(tried, key=lambda run: float(run["max"]))
    spent = {name: sum(run[name] for run in tried) for name in ("wall", "cpu")}
    return best | spent | {"releases": len(tried)}


def _grid(case: Case, request: pipeline.Request) -> list[dict[str, object]]:
    if case.method == DEFAULT:
        return [{}]
    usual = pipeline.prepare(request).plan
    draws = int(str(usual.options["num_draws"]))
    return [
        {"num_rounds": max(2, round(more * usual.num_rounds)), "num_draws": max(1, round(wider * draws))}
        for more, wider in itertools.product(FILE.grid["num_rounds"], FILE.grid["num_draws"])
    ]


def _released(case: Case, request: pipeline.Request, folder: Path) -> Run:
    """A release and its true errors."""
    spent: dict[str, float] = {}

    @contextmanager
    def timed(name: str) -> Iterator[Progress]:
        start = time.perf_counter()
        yield silent
        spent[name.lower()] = time.perf_counter() - start

    start, cpu = time.perf_counter(), time.process_time()
    made = pipeline.run(request, folder / "release", overwrite=True, steps=timed)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    rows = evaluation.stored_rows(folder / "release", made.schema)
    judged = evaluation.evaluate(made, request.table, rows=rows)
    found, truth = judged.model, judged.truth
    run = {"label": case.label, "wall": wall, "cpu": cpu, "GiB": peak, "mean": found.mean, "max": found.max}
    if any(case in cases for cases in FIGURES[3]["kdd99"].values()):
        same = build_workload(f"random 3-way x {FILE.same} seed {request.seed}", made.schema)
        run[SHARED] = evaluation.evaluate(replace(made, workload=same), request.table, rows=rows).model.mean
    return run | spent | {"all zero": float(truth.mean()), "rounds": made.statement["method"]["num_rounds"]}


@dataclass(frozen=True)
class Findings:
    """What the runs say."""

    runs: Sequence[Run]

    def of(self, case: Case) -> dict[str, float]:
        """Means over the runs of a case."""
        return averages(self.runs, case.label)

    @property
    def markdown(self) -> str:
        """A row a case, then the paper's claims."""
        names = (
            "wall",
            "counting",
            "playing",
            "writing",
            "cpu",
            "GiB",
            "mean",
            SHARED,
            "all zero",
            "max",
            "rounds",
            "releases",
        )
        lines = ["# DualQuery, by rho at delta 0.001 (gaboardi2014dual, figures 2 to 4)", ""]
        lines += ["| table x queries | runs | " + " | ".join(names) + " | reached |", "|" + "---|" * (len(names) + 3)]
        for case in CASES:
            if not (found := self.of(case)):
                continue
            shown = " | ".join(f"{found[name]:.4g}" if name in found else "" for name in names)
            failed = f", {found['failed']} failed" if found["failed"] else ""
            lines.append(f"| {case.label} | {found['runs']}{failed} | {shown} | {_reached(case, found)} |")
        lines += ["", "| claim | found | holds |", "|---|---|---|"]
        return "\n".join([*lines, *(f"| {claim} | {said} | {holds} |" for claim, said, holds in self.claims()), ""])

    def claims(self) -> list[tuple[str, str, str]]:
        """What the paper reports, where the runs to judge it by are there."""
        found = [each for case in FIGURES[3]["kdd99"][DEFAULT] if "mean" in (each := self.of(case))]
        told = {
            f"mean error on KDD99 stays within {FILE.flat - 1:.0%} as queries are added (figure 3)": [
                f["mean"] for f in found
            ],
            f"that of the same {FILE.same:,} queries does": [f[SHARED] for f in found if SHARED in f],
            "mean error over that of answering 0 does": [f["mean"] / f["all zero"] for f in found if "all zero" in f],
        }
        judged = [(claim, *_judged(errors)) for claim, errors in told.items() if len(errors) > 1]
        for table, lines in FIGURES[2].items():
            errors = [each["max"] for case in lines[DEFAULT] if "max" in (each := self.of(case))]
            if len(errors) > 1:
                falls = all(later < earlier for earlier, later in itertools.pairwise(errors))
                said = f"{errors[0]:.3g} to {errors[-1]:.3g} at {len(errors)} budgets"
                judged.append((f"largest error on {table} falls as epsilon grows (figure 2)", said, _yes(falls)))
        widths = [(case, each) for case in FIGURES[4]["biased"][DEFAULT] if "max" in (each := self.of(case))]
        if len(widths) > 1:
            (narrow, least), (wide, most) = widths[0], widths[-1]
            wider, worse = (wide.num_attributes or 1) / (narrow.num_attributes or 1), most["max"] / least["max"]
            longer = most["cpu"] / least["cpu"]
            said = f"attributes {wider:,.0f} times, largest error {worse:.3g} times, CPU {longer:.3g} times"
            slowly = worse < wider and longer < wider
            judged.append(("error and time grow more slowly than attributes (figure 4)", said, _yes(slowly)))
        return judged

    @property
    def plots(self) -> list[Plot]:
        """The paper's figures."""
        plots = [
            self._plot(f"Figure 2, {table}: 500,000 marginals", "epsilon", lines, lambda case: case.epsilon)
            for table, lines in FIGURES[2].items()
        ]
        sizes = ("queries", FIGURES[3]["kdd99"], lambda case: float(case.num_queries))
        widths = ("attributes", FIGURES[4]["biased"], lambda case: float(case.num_attributes or 0))
        return [
            *plots,
            self._plot("Figure 3: KDD99, epsilon 1", *sizes),
            self._plot("Figure 3: KDD99, time", *sizes, times=True),
            self._plot("Figure 4: random biases, 100,000 queries, epsilon 1", *widths),
            self._plot("Figure 4: time", *widths, times=True),
        ]

    @property
    def html(self) -> str:
        """The figures and the table."""
        about = (
            "DualQuery's own defaults; delta 0.001, one record replaced. Figures of gaboardi2014dual. The table of"
            " ratings is made up in the shape of the Netflix ratings, which are not to be had. Lines called NON-PRIVATE"
            " keep, of many releases, the one with the smallest true largest error; nobody may do that with data that"
            " is to be protected."
        )
        return build("DualQuery on wide tables", about, self.plots, self.markdown)

    def _plot(
        self, title: str, across: str, lines: Lines, place: Callable[[Case], float], *, times: bool = False
    ) -> Plot:
        """Largest and mean error, or the times of a release: of a grid search these would be of all its releases."""
        names = {"wall": "whole run", "cpu": "CPU"} if times else {"max": "max error", "mean": "mean error"}
        drawn = []
        for method, cases in lines.items():
            if times and method == GRID:
                continue
            for name, words in names.items():
                there = [(case, found[name]) for case in cases if name in (found := self.of(case))]
                points = tuple((place(case), value) for case, value in there)
                bars = tuple(spread(self.runs, case.label, name) for case, _ in there)
                told = words if method == DEFAULT else f"{words}, grid: NON-PRIVATE"
                drawn.append(Line(told, points, bars, dashed=method == GRID))
        return Plot(title, across, "seconds" if times else "max, mean", tuple(drawn))

    @property
    def met(self) -> bool:
        """Nothing that was measured misses what is to be reached."""
        return "| NO |" not in self.markdown


def _judged(errors: Sequence[float]) -> tuple[str, str]:
    ratio = max(errors) / min(errors)
    found = f"{errors[0]:.3g} to {errors[-1]:.3g} in {len(errors)} sizes, largest / smallest {ratio:.3g}"
    return found, _yes(ratio <= FILE.flat)


def _yes(holds: bool) -> str:
    return "yes" if holds else "NO"


def _reached(case: Case, found: dict[str, float]) -> str:
    if not case.limits:
        return ""
    return _yes(found["runs"] > 0 and all(found[name] <= limit for name, limit in case.limits.items()))


SERIES = Series(
    "dual_query",
    __doc__,
    CASES,
    measure,
    Findings,
    own_tables=("biased", "ratings"),
    pictures=lambda runs: pictures(Findings(runs).plots),
    runs=FILE.runs,
)

if __name__ == "__main__":
    sys.exit(SERIES.main())
