"""A series' runs as one self-contained page: plots over any size (epsilon, queries, columns), then the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

from markupsafe import Markup

from equipoise.bench.plot import NUM_COLOURS, STYLE, alone, draw, file_name, mark
from equipoise.bench.summary import Point
from equipoise.report.page import render

__all__ = ["Line", "Plot", "build", "pictures"]


@dataclass(frozen=True)
class Line:
    """Points joined by a line; dashed for what is not private, or to tell more lines apart than there are colours.

    Attributes:
        name: For the legend.
        points: (x, y), both positive.
        bars: The standard error of each y, 0 where there is none to be had; none at all unless given.
        dashed: Whether the line is broken.
    """

    name: str
    points: tuple[tuple[float, float], ...]
    bars: tuple[float, ...] = ()
    dashed: bool = False


@dataclass(frozen=True)
class Plot:
    """One plot.

    Attributes:
        title: What is shown.
        across: What the horizontal axis is.
        error: Which error the heights are, or "seconds", or "MiB".
        lines: What is drawn.
    """

    title: str
    across: str
    error: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Table:
    """Words, and the table that they are about."""

    words: tuple[str, ...]
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


def build(title: str, about: str, plots: Sequence[Plot], table: str) -> str:
    """The page; a line of the same name has the same colour in every plot, and plots without points are left out.

    The longest of the tables, with all that was measured, is the last thing on it; what it comes to is the first.
    """
    shown = [plot for plot in plots if any(line.points for line in plot.lines)]
    lines = {line.name: line for plot in shown for line in plot.lines}
    colours = {name: number % NUM_COLOURS for number, name in enumerate(lines)}
    drawn = [(plot.title, _drawn(plot, colours)) for plot in shown]
    tables = _tables(table)
    return render(
        "series.html",
        statement={"versions": {"equipoise": version("equipoise")}},
        title=title,
        about=about,
        style=STYLE,
        legend=[(mark(colours[name], dashed=line.dashed), name) for name, line in lines.items()],
        plots=drawn,
        tables=tables,
        longest=max(tables, key=lambda each: len(each.rows), default=None),
    )


def _tables(text: str) -> list[Table]:
    """The tables of a Markdown text, each with the words before it; words after the last have none.

    The title is the page's already, and is left out.
    """
    found: list[Table] = []
    words: list[str] = []
    rows: list[list[str]] = []
    for line in [*text.replace("`", "").splitlines(), ""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
            continue
        if rows:
            found.append(Table(tuple(words), rows[0], rows[2:]))
            words, rows = [], []
        if line and not line.startswith("#"):
            words.append(line.removeprefix("- "))
    return [*found, Table(tuple(words))] if words else found


def pictures(plots: Sequence[Plot]) -> dict[str, str]:
    """Each plot that has points as a file of its own, with its legend; by a file name made of its title."""
    found = {}
    for plot in plots:
        lines = [line for line in plot.lines if line.points]
        if lines:
            colours = {line.name: number % NUM_COLOURS for number, line in enumerate(lines)}
            legend = [(line.name, colours[line.name], line.dashed) for line in lines]
            found[file_name(plot.title)] = alone(_drawn(plot, colours), legend)
    return found


def _points(line: Line) -> list[Point]:
    bars = line.bars or (0.0,) * len(line.points)
    return [Point(x, y, bar, 1, 0.0) for (x, y), bar in sorted(zip(line.points, bars, strict=True))]


def _drawn(plot: Plot, colours: dict[str, int]) -> Markup:
    # A point's first field is its horizontal place, whatever is measured there.
    ready = [(line.name, colours[line.name], line.dashed, _points(line)) for line in plot.lines if line.points]
    return draw(ready, error=plot.error, title=plot.title, across_is=plot.across)
