"""An experiment as one self-contained page: plots, figures, which claims of the paper hold, how long it took."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from equipoise.bench.experiment import Experiment, Panel
from equipoise.bench.plot import NUM_COLOURS, STYLE, draw, mark
from equipoise.bench.runs import Run
from equipoise.bench.summary import failures, own, points, verdicts
from equipoise.report.page import render
from equipoise.report.references import entries

__all__ = ["build"]

NAMES = {"max": "largest", "mean": "mean", "rmse": "root mean square", "tv": "total variation"}


def build(experiment: Experiment, runs: Sequence[Run]) -> str:
    """The page of an experiment's runs, complete or not."""
    runs = own(experiment, runs)
    lines = [line for panel in experiment.panels for line in panel.lines]
    # A line has the same colour in every panel, and a grid search that of the method it is a search of.
    drawn = list(dict.fromkeys(line.of or line.name for line in lines))
    numbers = {name: number % NUM_COLOURS for number, name in enumerate(drawn)}
    colours = {line.name: numbers[line.of or line.name] for line in lines}
    legend = [
        (mark(colours[line.name], dashed=not line.is_private), line.name, line.label)
        for line in {line.name: line for line in lines}.values()
    ]
    return render(
        "experiment.html",
        statement={"versions": {"equipoise": version("equipoise")}},
        experiment=experiment,
        style=STYLE,
        legend=legend,
        panels=[_panel(experiment, panel, runs, colours) for panel in experiment.panels],
        verdicts=verdicts(experiment, runs),
        failures=failures(runs),
        num_runs=len(runs),
        cpu=sum(run.get("cpu", 0.0) for run in runs),
        reference=entries([experiment.paper])[0] if experiment.paper else "",
    )


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
