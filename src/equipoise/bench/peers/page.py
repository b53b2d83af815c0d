"""The comparison as one self-contained page: who, exceptions, a table and a plot for each data set."""

from __future__ import annotations

from importlib.metadata import version

from markupsafe import Markup

from equipoise.bench.peers.findings import Findings
from equipoise.bench.peers.peer import OURS
from equipoise.bench.plot import NUM_COLOURS, STYLE, draw, mark
from equipoise.bench.summary import Point
from equipoise.report.page import render

__all__ = ["build"]

NAMES = {"max": "largest", "mean": "mean"}
"""The errors that are drawn."""


def build(findings: Findings) -> str:
    """The page of the results that are there."""
    colours = {peer.name: number % NUM_COLOURS for number, peer in enumerate(findings.peers)}
    tables = list(dict.fromkeys(table for table, _ in findings.contests))
    return render(
        "peers.html",
        statement={"versions": {"equipoise": version("equipoise")}},
        style=STYLE,
        findings=findings,
        ours=OURS,
        marks={name: mark(number, dashed=False) for name, number in colours.items()},
        sections=[
            (
                table,
                [_plot(findings, table, colours, error) for error in NAMES],
                [(epsilon, findings.rows(table, epsilon)) for name, epsilon in findings.contests if name == table],
            )
            for table in tables
        ],
    )


def _plot(findings: Findings, table: str, colours: dict[str, int], error: str) -> Markup:
    found: dict[str, list[Point]] = {}
    for name, epsilon in sorted(findings.contests):
        for row in findings.rows(name, epsilon) if name == table else ():
            if row.measured.get(error, 0.0) > 0:  # logarithmic axes
                spread = row.spreads.get(error, 0.0)
                point = Point(epsilon, row.measured[error], spread, row.num_runs, row.measured["cpu"])
                found.setdefault(row.peer, []).append(point)
    lines = [(name, colours[name], False, points) for name, points in found.items()]
    return draw(lines, error=NAMES[error], title=f"{table}: {NAMES[error]} error against epsilon")
