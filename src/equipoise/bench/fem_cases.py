"""The cases of FEM's experiments, as declared in experiments/series/s000.toml."""

from __future__ import annotations

from dataclasses import dataclass

from equipoise.bench.experiment import Declared, declared

__all__ = ["BASELINE", "CASES", "DEFAULT", "FIGURES", "FILE", "GRID", "Case", "Key", "Lines"]


class Quick(Declared):
    """The budgets and numbers of marginals of a quick run."""

    epsilons: tuple[float, ...]
    numbers: tuple[int, ...]


class Panel(Declared):
    """One plot: marginals of so many columns of a table, in several numbers or at several budgets.

    Attributes:
        stand_in: What the paper had here, if this is another table.
        whole_if_quick: Whether a quick run has all of it.
    """

    figure: int
    table: str
    order: int
    numbers: tuple[int, ...]
    epsilons: tuple[float, ...]
    stand_in: str | None = None
    whole_if_quick: bool = False


class File(Declared):
    """The file; what its constants mean is said there."""

    runs: int
    methods: tuple[str, str]
    most_cells: int
    few: int
    most_rounds: int
    most_fitted: int
    grid: dict[str, tuple[float, ...]]
    quick: Quick
    panel: tuple[Panel, ...]


FILE = declared(File, "series/s000")
DEFAULT, BASELINE = FILE.methods
GRID = f"{DEFAULT}, grid: NON-PRIVATE"


@dataclass(frozen=True)
class Case:
    """A table, some of its marginals, a budget, and who plays.

    Attributes:
        table: A yardstick table's name.
        order: Columns of a marginal.
        number: How many marginals.
        epsilon: The budget.
        method: DEFAULT, GRID or BASELINE.
        quick: Whether it is one of a few that take minutes together.
    """

    table: str
    order: int
    number: int
    epsilon: float
    method: str
    quick: bool = False

    @property
    def label(self) -> str:
        """The row's name."""
        return f"{self.table} {self.order}-way x {self.number}, epsilon {self.epsilon:g}, {self.method}"


Key = tuple[str, int]
"""A panel's table and the order of its marginals."""

Lines = dict[str, tuple[Case, ...]]
"""A panel's cases, by method."""


def _is_quick(panel: Panel, number: int, epsilon: float, method: str) -> bool:
    return method != GRID and (
        panel.whole_if_quick or (epsilon in FILE.quick.epsilons and number in FILE.quick.numbers)
    )


def _lines(panel: Panel) -> Lines:
    return {
        method: tuple(
            Case(panel.table, panel.order, number, epsilon, method, _is_quick(panel, number, epsilon, method))
            for number in panel.numbers
            for epsilon in panel.epsilons
        )
        for method in (DEFAULT, BASELINE, GRID)
    }


FIGURES: dict[int, dict[Key, Lines]] = {
    figure: {(panel.table, panel.order): _lines(panel) for panel in FILE.panel if panel.figure == figure}
    for figure in (1, 2)
}

_ALL = [case for panels in FIGURES.values() for lines in panels.values() for line in lines.values() for case in line]
CASES = tuple({case.label: case for case in sorted(_ALL, key=lambda case: case.quick)}.values())
"""Each once: what both figures have belongs to the quick part when either says so."""
