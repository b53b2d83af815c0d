"""Cost growth: seconds and memory of every algorithm against rows, attributes, values, queries and rounds.

    python -m equipoise.bench.growth --out bench-out [--quick] [--only mixture]

Tables are made up. One size is changed at a time, the others stay as in `BASE`. Every measurement is a process of its
own, one after the other; it makes a small release first, so that imports are not counted, then the release twice:
memory is what the first took beyond that, seconds are the second's, with everything compiled. Processor seconds are
what is fitted: other work on the machine disturbs them little.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa

from equipoise.algorithms import ALGORITHMS
from equipoise.algorithms.algorithm import uses_public
from equipoise.bench.exponents import Exponent, fit
from equipoise.bench.memory import peak_bytes, reset_peak, resident_bytes
from equipoise.bench.plot import NUM_COLOURS
from equipoise.bench.runs import Run
from equipoise.bench.series import Series, averages
from equipoise.bench.series_page import Line, Plot, build
from equipoise.data.public import read_public
from equipoise.data.schema import Schema
from equipoise.data.table import Table, read
from equipoise.data.whole import Codes
from equipoise.pipeline import Request, release

__all__ = ["AXES", "CASES", "SERIES", "Findings", "Size", "measure"]

ORDER = 3
EPSILON = 1.0
SEED = 0


@dataclass(frozen=True)
class Size:
    """How large a problem is; queries are the cells of so many three-way marginals."""

    rows: int = 50_000
    attributes: int = 8
    values: int = 3
    marginals: int = 20
    rounds: int = 6


BASE = Size()
SMALL = Size(rows=200, attributes=4, values=2, marginals=4, rounds=2)
"""Of the release that only imports."""

AXES: dict[str, dict[str, tuple[int, ...]]] = {
    "rows": {"quick": (10_000, 250_000), "whole": (100_000, 1_000_000)},
    "attributes": {"quick": (6, 12), "whole": (7, 10)},
    "values": {"quick": (2, 6), "whole": (4, 5)},
    "marginals": {"quick": (10, 56), "whole": (30, 40)},
    "rounds": {"quick": (3, 18), "whole": (9, 12)},
}
"""What is changed, and to what besides the base; quick runs have two values more than the base, whole ones four."""

METHODS = tuple(algorithm for algorithm in ALGORITHMS if algorithm.name != "auto")
"""All but `auto`, which here is one of the others."""


@dataclass(frozen=True)
class Case:
    """An algorithm at one size."""

    table: ClassVar[str] = "made up"
    method: str
    size: Size
    quick: bool = True

    @property
    def label(self) -> str:
        """The row's name."""
        return " ".join([self.method, *(f"{name}={value}" for name, value in asdict(self.size).items())])


def has_rounds(method: str) -> bool:
    """Whether an algorithm's number of rounds can be set."""
    return any("num_rounds" in algorithm.__dataclass_fields__ for algorithm in METHODS if algorithm.name == method)


def line(method: str, axis: str) -> list[Case]:
    """An algorithm along an axis, the base among the others."""
    if axis == "rounds" and not has_rounds(method):
        return []
    cases = [Case(method, replace(BASE, **{axis: value})) for value in AXES[axis]["quick"]]
    cases += [Case(method, replace(BASE, **{axis: value}), quick=False) for value in AXES[axis]["whole"]]
    return sorted([Case(method, BASE), *cases], key=lambda case: int(getattr(case.size, axis)))


CASES = tuple(
    dict.fromkeys(case for algorithm in METHODS for axis in AXES for case in line(algorithm.name, axis)).keys()
)


def made_up(size: Size, seed: int) -> pa.Table:
    """Rows whose values follow the one before, or else are drawn anew."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(size.values, size=size.rows)]
    for _ in range(1, size.attributes):
        fresh = rng.integers(size.values, size=size.rows)
        columns.append(np.where(rng.random(size.rows) < 0.5, columns[-1], fresh))
    return pa.table({f"c{k}": column.astype(np.uint8) for k, column in enumerate(columns)})


def _release(case: Case, table: Table, public: Table | None) -> None:
    options = {"num_rounds": case.size.rounds} if has_rounds(case.method) else {}
    workload = f"random {case.size.marginals} {ORDER}-way seed {SEED}"
    request = Request(
        table, epsilon=EPSILON, workload=workload, method=case.method, options=options, public=public, seed=SEED
    )
    release(request).codes()


def _tables(case: Case) -> tuple[Table, Table | None]:
    """A table, and a quarter as many public rows for the algorithms that take any."""
    schema = Schema("growth", tuple(Codes(name=f"c{k}", size=case.size.values) for k in range(case.size.attributes)))
    table = read(made_up(case.size, SEED), schema=schema)
    algorithm = next(each for each in METHODS if each.name == case.method)
    if not uses_public(algorithm):
        return table, None
    return table, read_public(made_up(replace(case.size, rows=case.size.rows // 4), SEED + 1), schema)


def measure(case: Case, seed: int, out: Path, data: Path) -> Run:
    """One measurement; nothing is read or written."""
    small = replace(case, size=SMALL)
    _release(small, *_tables(small))
    tables = _tables(case)
    before = resident_bytes()
    reset_peak()
    _release(case, *tables)
    peak = peak_bytes() - before
    wall, cpu = time.perf_counter(), time.process_time()
    _release(case, *tables)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"label": case.label, "wall": wall, "cpu": cpu, "MiB": peak / 2**20}


@dataclass(frozen=True)
class Findings:
    """What the runs say."""

    runs: Sequence[Run]

    def points(self, method: str, axis: str, cost: str) -> tuple[tuple[float, float], ...]:
        """(size, cost) of an algorithm along an axis, where it was measured."""
        found = ((across(case, axis), self._means.get(case.label, {})) for case in line(method, axis))
        return tuple((size, means[cost]) for size, means in found if cost in means)

    @cached_property
    def _means(self) -> dict[str, dict[str, float]]:
        return {case.label: averages(self.runs, case.label) for case in CASES}

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
                at_base = self._means[Case(method, BASE).label].get(cost)
                cells = [str(exponents.get(axis, "")) for axis in ranges]
                lines.append(f"| {method} | {'' if at_base is None else f'{at_base:.2g}'} | {' | '.join(cells)} |")
            lines.append("")
        lines += ["| measured | runs | wall s | CPU s | MiB |", "|---" + "|---:" * 4 + "|"]
        for label, means in self._means.items():
            if "cpu" in means:
                used = f"{means['wall']:.3g} | {means['cpu']:.3g} | {means['MiB']:.3g}"
                lines.append(f"| {label} | {means['runs']:.0f} | {used} |")
        lines += [f"| {run['label']} | failed | {run['failed']} | | |" for run in self.runs if "failed" in run]
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
    def html(self) -> str:
        """A plot for each axis and cost."""
        plots = []
        for cost, error in (("cpu", "seconds"), ("MiB", "MiB")):
            for axis in AXES:
                lines = [(each.name, self.points(each.name, axis, cost)) for each in METHODS]
                drawn = tuple(
                    Line(name, points if len(points) > 1 else (), dashed=number >= NUM_COLOURS)
                    for number, (name, points) in enumerate(lines)
                )
                plots.append(Plot(f"{TITLES[cost]} against {NAMES[axis]}", NAMES[axis], error, drawn))
        told = ", ".join(f"{value:,} {name}" for name, value in asdict(BASE).items())
        about = (
            f"One size is changed at a time; the others stay at {told}. Processor seconds of a whole release with its"
            " rows, everything compiled; memory beyond that of a process that has made a small release."
        )
        return build("Cost growth", about, plots, self.markdown)

    @property
    def met(self) -> bool:
        """Nothing is to be reached; nothing may fail."""
        return not any("failed" in run for run in self.runs)


NAMES = {name: name for name in AXES} | {"marginals": "queries", "values": "values an attribute"}
TITLES = {"cpu": "processor seconds", "MiB": "memory"}


def across(case: Case, axis: str) -> float:
    """A case's place on an axis; marginals are counted by their cells, the queries."""
    value = float(getattr(case.size, axis))
    return value * case.size.values**ORDER if axis == "marginals" else value


SERIES = Series("growth", __doc__, CASES, measure, Findings, own_tables=(Case.table,))

if __name__ == "__main__":
    sys.exit(SERIES.main())
