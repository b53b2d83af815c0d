"""The cases of DualQuery's experiments, as declared in experiments/series/s002.toml."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from equipoise.bench.experiment import Declared, declared

__all__ = ["CASES", "DEFAULT", "FIGURES", "FILE", "GRID", "Case", "Lines"]

DEFAULT = "dual_query"
GRID = f"{DEFAULT}, grid: NON-PRIVATE"


class Panel(Declared):
    """One plot: a table, numbers of random three-way marginals, budgets and, of a made-up table, attributes.

    Attributes:
        stand_in: What the paper had here, if this is another table.
        quick_epsilons: Those of a quick run.
        quick_attributes: Those of a quick run.
    """

    figure: int
    table: str
    queries: tuple[int, ...]
    epsilons: tuple[float, ...]
    attributes: tuple[int | None, ...] = (None,)
    stand_in: str | None = None
    quick_epsilons: tuple[float, ...] = ()
    quick_attributes: tuple[int, ...] = ()


class Limit(Declared):
    """The most that a release at epsilon 1 may have of an error, of seconds or of memory."""

    table: str
    queries: int
    attributes: int | None = None
    most: dict[str, float]


class File(Declared):
    """The file; what its constants mean is said there."""

    runs: int
    rows: int
    delta: float
    flat: float
    same: int
    grid: dict[str, tuple[float, ...]]
    panel: tuple[Panel, ...]
    limit: tuple[Limit, ...]


FILE = declared(File, "series/s002")


@dataclass(frozen=True)
class Case:
    """A table, a workload, who plays, and what is to be reached.

    Attributes:
        table: A yardstick table's name, "ratings", or "biased".
        num_queries: Three-way marginals, at random.
        epsilon: At the file's delta.
        num_attributes: Of the biased table.
        method: DEFAULT or GRID.
        quick: Whether it is one of a few that take minutes.
    """

    table: str
    num_queries: int
    epsilon: float = 1.0
    num_attributes: int | None = None
    method: str = DEFAULT
    quick: bool = False

    @property
    def label(self) -> str:
        """The row's name."""
        name = self.table if self.num_attributes is None else f"{self.table} {self.num_attributes}"
        told = ("" if self.epsilon == 1 else f", epsilon {self.epsilon:g}") + (
            ", " + GRID if self.method == GRID else ""
        )
        return f"{name} x {self.num_queries}{told}"

    @property
    def limits(self) -> dict[str, float]:
        """Largest mean error, max error, seconds and GiB to reach, where they are set."""
        here = (self.table, self.num_queries, self.num_attributes)
        if self.method == GRID or self.epsilon != 1:
            return {}
        return {name: m for x in FILE.limit if (x.table, x.queries, x.attributes) == here for name, m in x.most.items()}


Lines = dict[str, tuple[Case, ...]]
"""A panel's cases, by method."""


def _cases(panel: Panel, method: str) -> Iterator[Case]:
    for queries in panel.queries:
        for epsilon in panel.epsilons:
            for attributes in panel.attributes:
                quick = epsilon in panel.quick_epsilons or attributes in panel.quick_attributes
                yield Case(panel.table, queries, epsilon, attributes, method, quick and method != GRID)


FIGURES: dict[int, dict[str, Lines]] = {
    figure: {
        panel.table: {method: tuple(_cases(panel, method)) for method in (DEFAULT, GRID)}
        for panel in FILE.panel
        if panel.figure == figure
    }
    for figure in (4, 3, 2)
}

_ALL = [case for panels in FIGURES.values() for lines in panels.values() for line in lines.values() for case in line]
CASES = tuple({case.label: case for case in _ALL}.values())
"""Each once, those of figure 4 first."""
