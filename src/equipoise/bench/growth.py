"""Cost growth: seconds and memory of every algorithm against rows, attributes, values, queries and rounds.

    python -m equipoise.bench.growth --out bench-out [--quick] [--only mixture]

Tables are made up. One size is changed at a time, the others stay as in `BASE`. Every algorithm has a process of its
own, one after the other. It makes a small release first, so that imports are not counted, then one of each size, twice
where JAX compiles for every shape: memory is the first one's, beyond what was held before, seconds are the last one's.
Processor seconds are what is fitted: other work on the machine disturbs them little.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from equipoise.algorithms.algorithm import uses_public
from equipoise.bench.exponents import Exponent, fit
from equipoise.bench.growth_cases import (
    AXES,
    BASE,
    CASES,
    METHODS,
    NAMES,
    ORDER,
    SMALL,
    Case,
    Size,
    across,
    has_rounds,
    line,
)
from equipoise.bench.memory import give_back, peak_bytes, reset_peak, resident_bytes
from equipoise.bench.plot import NUM_COLOURS
from equipoise.bench.runs import Run
from equipoise.bench.series import Series, averages
from equipoise.bench.series_page import Line, Plot, build, pictures
from equipoise.data.public import read_public
from equipoise.data.schema import Schema
from equipoise.data.table import Table, read
from equipoise.data.whole import Codes
from equipoise.pipeline import Request, release

__all__ = ["SERIES", "Findings", "made_up", "measure"]

EPSILON = 1.0
SEED = 0

NO_SUCH = "-"
"""In a table, for an axis that an algorithm does not have."""


def made_up(size: Size, seed: int) -> pa.Table:
    """Rows whose values follow the one before, or else are drawn anew."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(size.values, size=size.rows)]
    for _ in range(1, size.attributes):
        fresh = rng.integers(size.values, size=size.rows)
        columns.append(np.where(rng.random(size.rows) < 0.5, columns[-1], fresh))
    return pa.table({f"c{k}": column.astype(np.uint8) for k, column in enumerate(columns)})


def _release(method: str, size: Size, table: Table, public: Table | None) -> None:
    options = {"num_rounds": size.rounds} if has_rounds(method) else {}
    workload = f"random {size.marginals} {ORDER}-way seed {SEED}"
    request = Request(
        table, epsilon=EPSILON, workload=workload, method=method, options=options, public=public, seed=SEED
    )
    release(request).codes()


def _tables(method: str, size: Size) -> tuple[Table, Table | None]:
    """A table, and a quarter as many public rows for the algorithms that take any."""
    schema = Schema("growth", tuple(Codes(name=f"c{k}", size=size.values) for k in range(size.attributes)))
    table = read(made_up(size, SEED), schema=schema)
    algorithm = next(each for each in METHODS if each.name == method)
    if not uses_public(algorithm):
        return table, None
    return table, read_public(made_up(replace(size, rows=size.rows // 4), SEED + 1), schema)


def measure(case: Case, seed: int, out: Path, data: Path) -> Run:
    """One run: a release of each size. Nothing is read or written."""
    _release(case.method, SMALL, *_tables(case.method, SMALL))
    compiles_for_every_shape = "jax" in sys.modules
    run: Run = {"label": case.label}
    for size in case.sizes:
        tables = _tables(case.method, size)
        give_back()
        before = resident_bytes()
        reset_peak()
        wall, cpu = _seconds(case.method, size, tables)
        peak = peak_bytes() - before
        if compiles_for_every_shape:
            wall, cpu = _seconds(case.method, size, tables)
        run |= {f"wall, {size}": wall, f"cpu, {size}": cpu, f"MiB, {size}": peak / 2**20}
    return run


def _seconds(method: str, size: Size, tables: tuple[Table, Table | None]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    _release(method, size, *tables)
    return time.perf_counter() - wall, time.process_time() - cpu


@dataclass(frozen=True)
class Findings:
    """What the runs say."""

    runs: Sequence[Run]

    def points(self, method: str, axis: str, cost: str) -> tuple[tuple[float, float], ...]:
        """(size, cost) of an algorithm along an axis, where it was measured."""
        means = self.means.get(method, {})
        found = ((across(size, axis), means.get(f"{cost}, {size}")) for size in line(method, axis))
        return tuple((place, value) for place, value in found if value is not None)

    @cached_property
    def means(self) -> dict[str, dict[str, float]]:
        """By algorithm what was measured, over all runs and both parts."""
        parts = {
            method.name: [averages(self.runs, case.label) for case in CASES if case.method == method.name]
            for method in METHODS
        }
        return {method: quick | more for method, (quick, more) in parts.items()}

    def exponents(self, cost: str) -> dict[str, dict[str, Exponent]]:
        """By algorithm and axis, where there are two sizes or more."""
        found: dict[str, dict[str, Exponent]] = {}
        for algorithm in METHODS:
            fitted = {axis: fit(self.points(algorithm.name, axis, cost)) for axis in AXES}
            if known := {axis: exponent for axis, exponent in fitted.items() if exponent is not None}:
                found[algorithm.name] = known
        return found

    @property
    def markdown(self) -> str:
        """Exponents of seconds and of memory, then every measurement."""
        lines = ["# Cost growth", ""]
        for cost, title in (("cpu", "Processor seconds"), ("MiB", "Memory")):
            ranges = self._ranges()
            lines += [f"{title} ~ size ** exponent", "", "| | at the base | " + " | ".join(ranges.values()) + " |"]
            lines += ["|---" + "|---:" * (len(ranges) + 1) + "|"]
            for method, exponents in self.exponents(cost).items():
                at_base = self.means[method].get(f"{cost}, {BASE}")
                cells = [str(exponents.get(axis, "" if line(method, axis) else NO_SUCH)) for axis in ranges]
                lines.append(f"| {method} | {'' if at_base is None else f'{at_base:.2g}'} | {' | '.join(cells)} |")
            lines.append("")
        if alone := [method for method in self.means if self.means[method] and not has_rounds(method)]:
            lines += [
                f"{NO_SUCH}: no rounds to set, because everything is measured in one move ({', '.join(alone)}).",
                "",
            ]
        lines += ["| measured | wall s | CPU s | MiB |", "|---" + "|---:" * 3 + "|"]
        for method, means in self.means.items():
            for size in dict.fromkeys(size for axis in AXES for size in line(method, axis)):
                if f"cpu, {size}" in means:
                    used = " | ".join(f"{means[f'{cost}, {size}']:.3g}" for cost in ("wall", "cpu", "MiB"))
                    lines.append(f"| {method} {size} | {used} |")
        lines += [f"| {run['label']} | failed: {run['failed']} | | |" for run in self.runs if "failed" in run]
        return "\n".join(lines) + "\n"

    def _ranges(self) -> dict[str, str]:
        """Axes with the sizes that were measured."""
        found = {}
        for axis in AXES:
            sizes = [size for each in METHODS for size, _ in self.points(each.name, axis, "cpu")]
            if sizes:
                found[axis] = f"{NAMES[axis]} {min(sizes):,.0f} to {max(sizes):,.0f}"
        return found

    @property
    def plots(self) -> list[Plot]:
        """One for each axis and cost."""
        plots = []
        for cost, error in (("cpu", "seconds"), ("MiB", "MiB")):
            for axis in AXES:
                lines = [(each.name, self.points(each.name, axis, cost)) for each in METHODS]
                drawn = tuple(
                    Line(name, points if len(points) > 1 else (), dashed=number >= NUM_COLOURS)
                    for number, (name, points) in enumerate(lines)
                )
                plots.append(Plot(f"{TITLES[cost]} against {NAMES[axis]}", NAMES[axis], error, drawn))
        return plots

    @property
    def html(self) -> str:
        """The plots and the table."""
        told = ", ".join(f"{value:,} {name}" for name, value in asdict(BASE).items())
        about = (
            f"One size is changed at a time; the others stay at {told}. Processor seconds of a whole release with its"
            " rows, everything compiled; peak memory beyond what the process held before."
        )
        return build("Cost growth", about, self.plots, self.markdown)

    @property
    def met(self) -> bool:
        """Nothing is to be reached; nothing may fail."""
        return not any("failed" in run for run in self.runs)


TITLES = {"cpu": "processor seconds", "MiB": "memory"}


SERIES = Series(
    "growth",
    __doc__,
    CASES,
    measure,
    Findings,
    own_tables=(Case.table,),
    pictures=lambda runs: pictures(Findings(runs).plots),
)

if __name__ == "__main__":
    sys.exit(SERIES.main())
