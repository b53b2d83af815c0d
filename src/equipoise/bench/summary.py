"""What an experiment's runs say: points with error bars for each line, and whether the paper's claims hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.bench.experiment import Claim, Experiment, Line, Panel
from equipoise.bench.figures import Figure
from equipoise.bench.runs import Run

__all__ = ["Compared", "Point", "Verdict", "failures", "left_out", "own", "points", "verdicts"]

SPREAD_OF_ONE = 0.2
"""Standard deviation of a largest error, as a share of it, where there is one run: five runs each of PEP and
RAP-softmax on Adult reduced have 0.06 to 0.20."""


@dataclass(frozen=True)
class Point:
    """Mean and standard error of the runs at one budget.

    Attributes:
        chosen: Of a grid search: the options that won, by the true largest error.
    """

    epsilon: float
    mean: float
    standard_error: float
    num_runs: int
    cpu: float
    chosen: str = ""


@dataclass(frozen=True)
class Compared:
    """Two lines at one budget, the one that the paper has below first."""

    epsilon: float
    better: Point
    worse: Point

    @property
    def holds(self) -> bool:
        """Whether they lie as the paper says."""
        return self.better.mean < self.worse.mean

    @property
    def settled(self) -> bool:
        """Whether they differ by more than two standard errors."""
        return abs(self.better.mean - self.worse.mean) > 2 * math.hypot(_spread(self.better), _spread(self.worse))

    @property
    def words(self) -> str:
        """The budget and both errors."""
        return f"{self.epsilon:g} ({self.better.mean:.3g} against {self.worse.mean:.3g})"


def _spread(point: Point) -> float:
    return point.standard_error if point.num_runs > 1 else SPREAD_OF_ONE * point.mean


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds, at each budget that was run."""

    claim: Claim
    compared: tuple[Compared, ...]

    @property
    def broken(self) -> tuple[Compared, ...]:
        """Where it does not."""
        return tuple(each for each in self.compared if not each.holds)

    @property
    def words(self) -> str:
        """For people."""
        if not self.compared:
            return "not run"
        told = "holds at every epsilon run"
        if self.broken:
            most = "does NOT hold" if len(self.broken) == len(self.compared) else "holds but NOT"
            told = f"{most} at epsilon {_listed(self.broken)}"
        close = [each for each in self.compared if each.holds and not each.settled]
        return told + (f"; closely, and not settled by so few runs, at {_listed(close)}" if close else "")

    @property
    def num_runs(self) -> str:
        """Of how many runs the means are that it compares."""
        found = [point.num_runs for each in self.compared for point in (each.better, each.worse)]
        if not found or max(found) == 1:
            return "one run each" if found else ""
        return f"{max(found)} runs each" if min(found) == max(found) else f"{min(found)} to {max(found)} runs each"

    @property
    def why(self) -> str:
        """What is known of the reason where it does not hold; nothing where it does."""
        if not self.broken:
            return ""
        chance = [each for each in self.broken if not each.settled]
        where = "It" if len(chance) == len(self.broken) else f"At {_listed(chance)} it"
        told = f" {where} may be chance: so few runs do not settle it." if chance else ""
        return (self.claim.why or "Why is not known.") + told


def _listed(compared: Sequence[Compared]) -> str:
    return ", ".join(each.words for each in compared)


def own(experiment: Experiment, runs: Sequence[Run]) -> list[Run]:
    """The runs that the experiment shows: its folder may hold those of other panels too."""
    labels = {
        figure.label for quick in (False, True) for line in experiment.figures(quick=quick).values() for figure in line
    }
    return [run for run in runs if run["label"] in labels]


def points(experiment: Experiment, panel: Panel, line: Line, runs: Sequence[Run], error: str) -> list[Point]:
    """A line's points for one error ("max", "mean", ...) of the sampled rows; budgets without a run are left out.

    Of a grid the combination with the smallest mean of the largest errors is shown, as the papers do, whatever error is
    asked for.
    """
    found = []
    for epsilon in experiment.epsilons_of(panel):
        tried = [(_good(panel, line, epsilon, options, runs), options) for options in line.combinations()]
        tried = [(good, options) for good, options in tried if good]
        if tried:
            good, options = min(tried, key=lambda each: float(np.mean([run["rows max"] for run in each[0]])))
            chosen = ", ".join(f"{name} {options[name]}" for name in line.grid)
            found.append(_point(epsilon, good, error, chosen))
    return found


def _good(panel: Panel, line: Line, epsilon: float, options: Mapping[str, object], runs: Sequence[Run]) -> list[Run]:
    label = Figure(panel.table, line.method, epsilon, options=tuple(options.items()), public=line.public).label
    return [run for run in runs if run["label"] == label and "failed" not in run]


def _point(epsilon: float, good: Sequence[Run], error: str, chosen: str) -> Point:
    values = np.array([run[f"rows {error}"] for run in good])
    spread = float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0
    return Point(epsilon, float(values.mean()), spread, len(values), float(np.mean([r["cpu"] for r in good])), chosen)


def verdicts(experiment: Experiment, runs: Sequence[Run]) -> list[Verdict]:
    """Each claim of the paper, judged by the largest error."""
    found = []
    for claim in experiment.claims:
        panel = next(panel for panel in experiment.panels if panel.title == claim.panel)
        lines = {line.name: line for line in panel.lines}
        both = [
            {point.epsilon: point for point in points(experiment, panel, lines[name], runs, "max")}
            for name in (claim.better, claim.worse)
        ]
        shared = [epsilon for epsilon in both[0] if epsilon in both[1]]
        compared = tuple(Compared(epsilon, both[0][epsilon], both[1][epsilon]) for epsilon in shared)
        found.append(Verdict(claim, compared))
    return found


def failures(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """Runs that failed, with the last line they said."""
    return [(run["label"], run["failed"]) for run in runs if "failed" in run]


def left_out(experiment: Experiment) -> list[str]:
    """What a whole run has and a quick one has not, in words: of everything, then of each panel."""
    repeated = experiment.runs - experiment.quick.runs
    told = [f"{repeated} of {experiment.runs} runs of everything"] if repeated > 0 else []
    if fewer := [epsilon for epsilon in experiment.epsilons if epsilon not in experiment.quick.epsilons]:
        told.append(f"epsilon {_numbers(fewer)}")
    for panel in experiment.panels:
        if not panel.quick:
            told.append(f"{panel.title}: all of it")
        elif absent := [words for line in panel.lines for words in _absent(experiment, panel, line)]:
            told.append(f"{panel.title}: {'; '.join(absent)}")
    return told


def _absent(experiment: Experiment, panel: Panel, line: Line) -> list[str]:
    if not line.quick:
        return [line.name]
    told = []
    has = experiment.epsilons_of(panel, line, quick=True)
    if fewer := [each for each in experiment.epsilons_of(panel, quick=True) if each not in has]:
        told.append(f"{line.name} at epsilon {_numbers(fewer)}")
    tried, whole = (len(list(line.combinations(quick=quick))) for quick in (True, False))
    if tried < whole:
        told.append(f"{line.name}: {whole - tried} of {whole} points of the grid, so that its best may be worse")
    return told


def _numbers(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)
