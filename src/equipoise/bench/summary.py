"""What an experiment's runs say: points with error bars for each line, and whether the paper's claims hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.bench.experiment import Claim, Experiment, Line, Panel
from equipoise.bench.figures import Figure
from equipoise.bench.runs import Run

__all__ = ["Point", "Verdict", "failures", "own", "points", "verdicts"]


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
class Verdict:
    """Whether a claim holds, at each budget that was run: (epsilon, better, worse).

    Attributes:
        num_runs: The fewest that a mean in it is of.
    """

    claim: Claim
    compared: tuple[tuple[float, float, float], ...]
    num_runs: int = 1

    @property
    def broken(self) -> tuple[tuple[float, float, float], ...]:
        """Where it does not."""
        return tuple(each for each in self.compared if each[1] >= each[2])

    @property
    def words(self) -> str:
        """For people."""
        if not self.compared:
            return "not run"
        if not self.broken:
            return "holds at every epsilon run"
        where = ", ".join(f"{epsilon:g} ({better:.3g} against {worse:.3g})" for epsilon, better, worse in self.broken)
        most = "does NOT hold" if len(self.broken) == len(self.compared) else "holds but NOT"
        return f"{most} at epsilon {where}"

    @property
    def why(self) -> str:
        """What is known of the reason where it does not hold; nothing where it does."""
        if not self.broken:
            return ""
        chance = "" if self.num_runs > 1 else " One run each: it may be chance."
        return (self.claim.why or "Why is not known.") + chance


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
        compared = tuple((epsilon, both[0][epsilon].mean, both[1][epsilon].mean) for epsilon in shared)
        fewest = min((each[epsilon].num_runs for each in both for epsilon in shared), default=0)
        found.append(Verdict(claim, compared, fewest))
    return found


def failures(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """Runs that failed, with the last line they said."""
    return [(run["label"], run["failed"]) for run in runs if "failed" in run]
