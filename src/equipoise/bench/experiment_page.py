"""An experiment as one self-contained page: plots, figures, which claims of the paper hold, how long it took."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from equipoise.bench.experiment import Experiment, Panel
from equipoise.bench.plot import NUM_COLOURS, STYLE, alone, draw, file_name, mark
from equipoise.bench.runner import missing
from equipoise.bench.runs import Run
from equipoise.bench.summary import failures, left_out, own, points, verdicts
from equipoise.report.page import render
from equipoise.report.references import entries

__all__ = ["build", "pictures"]

NAMES = {"max": "largest", "mean": "mean", "rmse": "root mean square", "tv": "total variation"}


def build(experiment: Experiment, runs: Sequence[Run]) -> str:
    """The page of an experiment's runs, complete or not."""
    runs = own(experiment, runs)
    colours = _colours(experiment)
    panels = [_panel(experiment, panel, runs, colours) for panel in experiment.panels]
    drawn = {row["line"].name: row["line"] for each in panels for one in each["shown"] for row in one["rows"]}
    legend = [
        (mark(colours[name], dashed=not line.is_private), name, line.label)
        for name, line in sorted(drawn.items(), key=lambda each: list(colours).index(each[0]))
    ]
    return render(
        "experiment.html",
        statement={"versions": {"equipoise": version("equipoise")}},
        experiment=experiment,
        style=STYLE,
        legend=legend,
        panels=panels,
        verdicts=verdicts(experiment, runs),
        failures=failures(runs),
        num_runs=len(runs),
        num_wanted=len(missing(experiment, [], quick=False)),
        left_out=left_out(experiment) if missing(experiment, runs, quick=False) else [],
        cpu=sum(run.get("cpu", 0.0) for run in runs),
        reference=entries([experiment.paper])[0] if experiment.paper else "",
    )


def pictures(experiment: Experiment, runs: Sequence[Run]) -> dict[str, str]:
    """Each plot that has points as a file of its own, with its legend; by a file name made of its title."""
    colours, found = _colours(experiment), {}
    for panel in experiment.panels:
        for one in _panel(experiment, panel, own(experiment, runs), colours)["shown"]:
            lines = [row["line"] for row in one["rows"]]
            legend = [
                (line.name + ("" if line.is_private else f" ({line.label})"), colours[line.name], not line.is_private)
                for line in lines
            ]
            if legend:
                found[file_name(f"{panel.title} {one['name']}")] = alone(one["plot"], legend)
    return found


def _colours(experiment: Experiment) -> dict[str, int]:
    """A line has the same colour in every panel, and a grid search that of the method it is a search of."""
    lines = [line for panel in experiment.panels for line in panel.lines]
    drawn = list(dict.fromkeys(line.of or line.name for line in lines))
    return {line.name: drawn.index(line.of or line.name) % NUM_COLOURS for line in lines}


def _panel(experiment: Experiment, panel: Panel, runs: Sequence[Run], colours: dict[str, int]) -> dict[str, Any]:
    """A plot and a table for each error: a row a line, a column an epsilon."""
    shown = []
    for error in experiment.errors:
        found = {line.name: points(experiment, panel, line, runs, error) for line in panel.lines}
        lines = [(line.name, colours[line.name], not line.is_private, found[line.name]) for line in panel.lines]
        plot = draw(lines, error=NAMES[error], title=f"{panel.title}: {NAMES[error]} error against epsilon")
        epsilons = sorted({point.epsilon for each in found.values() for point in each})
        rows = [
            {"line": line, "cells": [at.get(epsilon) for epsilon in epsilons], "cpu": max(p.cpu for p in at.values())}
            for line in panel.lines
            if (at := {point.epsilon: point for point in found[line.name]})
        ]
        shown.append({"plot": plot, "name": NAMES[error], "epsilons": epsilons, "rows": rows})
    return {"panel": panel, "shown": shown}
