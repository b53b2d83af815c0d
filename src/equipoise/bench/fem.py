"""FEM's own experiments against the matrix mechanism: figures 1 and 2 of vietri2020new (arXiv v1), table and plots.

    python -m equipoise.bench.fem --out bench-out --only "adult_star 3-way"

Figure 1: 64 marginals, epsilon 0.1 to 1. Figure 2: 2 to 4,096 marginals at epsilon 0.1. Delta is 1/n^2. FEM runs with
its defaults, which look at public quantities only; hdmm's error is that of its unbiased answers, as published, and that
of the model beside it. The papers' grid search, which keeps the best of many runs by its true error, is a series of its
own, labelled NON-PRIVATE: nobody may do that with data that is to be protected.

Tables, marginals, budgets, runs and the grid are declared in experiments/series/s000.toml.
"""

from __future__ import annotations

import itertools
import json
import math
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from equipoise.bench.fem_cases import BASELINE, CASES, DEFAULT, FIGURES, FILE, GRID, Case, Key, Lines
from equipoise.bench.runs import Run
from equipoise.bench.series import Series, averages, spread
from equipoise.bench.series_page import Line, Plot, build, pictures
from equipoise.data.schema import Schema
from equipoise.data.table import Table, read
from equipoise.data.whole import Codes
from equipoise.evaluation import evaluate
from equipoise.pipeline import Request, release

__all__ = ["SERIES", "Findings", "marginals", "measure"]


def marginals(sizes: Sequence[int], order: int, number: int, seed: int) -> list[tuple[int, ...]]:
    """Sets of `order` columns, at random among those whose marginal is not too large.

    Example:
        >>> marginals((2, 300, 200, 3), 2, 2, seed=0)
        [(0, 3), (2, 3)]
    """
    sets = [
        s for s in itertools.combinations(range(len(sizes)), order) if math.prod(sizes[c] for c in s) <= FILE.most_cells
    ]
    chosen = np.random.default_rng(seed).permutation(len(sets))[:number]
    return sorted(sets[i] for i in chosen)


def _table(case: Case, data: Path) -> Table:
    """The table; for five-way marginals, with neighbouring codes of long columns taken together."""
    if case.order < 5:
        return read(data / f"{case.table}.parquet", schema=data / f"{case.table}.domain.json")
    sizes: dict[str, int] = json.loads((data / f"{case.table}.domain.json").read_text())
    rows = pq.read_table(data / f"{case.table}.parquet")
    codes = {name: rows[name].to_numpy() * min(size, FILE.few) // size for name, size in sizes.items()}
    columns = tuple(Codes(name=name, size=min(size, FILE.few)) for name, size in sizes.items())
    return read(pa.table(codes), schema=Schema(case.table, columns))


def measure(case: Case, seed: int, folder: Path, data: Path) -> Run:
    """One release, or for GRID one for each point of the grid, of which the best by its true error is kept."""
    table = _table(case, data)
    domain = table.schema.domain
    workload = [tuple(domain.columns[c] for c in s) for s in marginals(domain.sizes, case.order, case.number, seed)]

    def errors(method: str, options: dict[str, object]) -> dict[str, float]:
        request = Request(table, epsilon=case.epsilon, workload=workload, method=method, options=options, seed=seed)
        made = release(request)
        found = evaluate(made, table, rows=made.codes(1000))
        result = {"max": found.model.max, "mean": found.model.mean, "queries": float(made.workload.num_queries)}
        if (unbiased := made.unbiased()) is not None:
            off = np.abs(unbiased["count"].to_numpy() / made.num_rows - found.truth)
            result |= {"max": float(off.max()), "mean": float(off.mean())}
            result |= {} if options else {"max of the model": found.model.max}
        return result

    wall, cpu = time.perf_counter(), time.process_time()
    tried = [errors(DEFAULT if case.method == GRID else case.method, options) for options in _grid(case, table)]
    best = min(tried, key=lambda result: result["max"])
    spent = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"label": case.label} | best | spent | {"GiB": peak, "releases": len(tried)}


def _grid(case: Case, table: Table) -> list[dict[str, object]]:
    if case.method != GRID:
        return [{"num_components": 1} if case.method == BASELINE and case.number > FILE.most_fitted else {}]
    from equipoise.privacy import accountant

    rho = accountant.rho_of(epsilon=case.epsilon, delta=table.num_rows**-2)
    return [
        {"selection_epsilon": each, "noise_scale": scale}
        for each in FILE.grid["selection_epsilon"]
        for scale in FILE.grid["noise_scale"]
        if 1 <= 8 * rho / each**2 <= FILE.most_rounds
    ]


@dataclass(frozen=True)
class Findings:
    """What the runs say."""

    runs: Sequence[Run]

    def of(self, case: Case) -> dict[str, float]:
        """Means over the runs of a case."""
        return averages(self.runs, case.label)

    @property
    def markdown(self) -> str:
        """A row a case, then the paper's two trends for each panel."""
        names = ("max", "max of the model", "mean", "queries", "wall", "cpu", "GiB", "releases")
        lines = ["# FEM against HDMM (vietri2020new, figures 1 and 2): largest error, delta = 1/n^2", ""]
        lines += ["| table, marginals, epsilon, method | runs | " + " | ".join(names) + " |"]
        lines += ["|" + "---|" * (len(names) + 2)]
        for case in CASES:
            if found := self.of(case):
                failed = f", {found['failed']} failed" if found["failed"] else ""
                shown = " | ".join(f"{found[name]:.4g}" if name in found else "" for name in names)
                lines.append(f"| {case.label} | {found['runs']}{failed} | {shown} |")
        lines += [
            "",
            "| trend of the largest error | fem grows | hdmm grows | fem grows more slowly |",
            "|---|---|---|---|",
        ]
        return "\n".join([*lines, *self.trends(), ""])

    def trends(self) -> list[str]:
        """Growth from the easiest to the hardest setting that both were measured in."""
        found = [
            self._trend(f"{name(key)}: as epsilon falls", lines, hard_first=True) for key, lines in FIGURES[1].items()
        ]
        found += [
            self._trend(f"{name(key)}: as the workload grows", lines, hard_first=False)
            for key, lines in FIGURES[2].items()
        ]
        return [line for line in found if line is not None]

    def _trend(self, title: str, lines: Lines, *, hard_first: bool) -> str | None:
        pairs = [(self.of(ours), self.of(theirs)) for ours, theirs in zip(lines[DEFAULT], lines[BASELINE], strict=True)]
        both = [(ours["max"], theirs["max"]) for ours, theirs in pairs if "max" in ours and "max" in theirs]
        if len(both) < 2:
            return None
        easy, hard = (both[-1], both[0]) if hard_first else (both[0], both[-1])
        ours, theirs = hard[0] / easy[0], hard[1] / easy[1]
        return f"| {title} | {ours:.3g} times | {theirs:.3g} times | {'yes' if ours < theirs else 'NO'} |"

    @property
    def plots(self) -> list[Plot]:
        """The paper's figures."""
        plots = [self._plot(f"Figure 1, {name(k)}: 64 marginals", "epsilon", lines) for k, lines in FIGURES[1].items()]
        plots += [
            self._plot(f"Figure 2, {name(k)}: epsilon 0.1", "marginals", lines) for k, lines in FIGURES[2].items()
        ]
        return plots

    @property
    def html(self) -> str:
        """The figures and the table."""
        about = (
            "FEM's defaults and HDMM's unbiased answers. The line called NON-PRIVATE keeps, of many releases, the one"
            " with the smallest true error, as vietri2020new does; it shows what tuning could give, and may not be done"
            " with data that is to be protected."
        )
        return build("FEM against HDMM", about, self.plots, self.markdown)

    def _plot(self, title: str, across: str, lines: Lines) -> Plot:
        drawn = []
        for method, cases in lines.items():
            at = [(c.epsilon if across == "epsilon" else float(c.number), self.of(c)) for c in cases]
            points = tuple((x, found["max"]) for x, found in at if "max" in found)
            bars = tuple(
                spread(self.runs, c.label, "max") for c, (_, found) in zip(cases, at, strict=True) if "max" in found
            )
            drawn.append(Line(method, points, bars, dashed=method == GRID))
        return Plot(title, across, "largest", tuple(drawn))

    @property
    def met(self) -> bool:
        """No trend that was measured is against the paper's."""
        return "| NO |" not in self.markdown


def name(panel: Key) -> str:
    """A panel's name."""
    return f"{panel[0]}, {panel[1]}-way"


SERIES = Series(
    "fem",
    __doc__,
    CASES,
    measure,
    Findings,
    pictures=lambda runs: pictures(Findings(runs).plots),
    kind="accuracy",
    runs=FILE.runs,
)

if __name__ == "__main__":
    sys.exit(SERIES.main())
