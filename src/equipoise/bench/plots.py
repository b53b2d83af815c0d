"""Line plots of benchmarks as one offline page: SVG by the report's own means, no script, no network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from equipoise.report.svg import Axis, picture, tag

__all__ = ["Line", "Plot", "page"]

WIDTH, HEIGHT, LEFT, RIGHT, TOP, FOOT = 450.0, 300.0, 58.0, 438.0, 14.0, 252.0
COLOURS = ("#1f5597", "#c2570c", "#2d7d46", "#7a3e9d")
STYLE = """
html { background: #fff; color: #1b222c; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(27rem, 1fr)); gap: 1.4rem 1.2rem; }
figure { margin: 0; } figcaption { font-size: 0.9rem; color: #56606e; } figcaption b { color: #1b222c; }
.chart { max-width: 100%; height: auto; } svg text { font-size: 11px; fill: #1b222c; } svg .number { fill: #56606e; }
svg .grid { stroke: #d9dee5; stroke-width: 0.7; } svg .middle { text-anchor: middle; } svg .end { text-anchor: end; }
pre { background: #eef1f5; padding: 0.7rem; overflow-x: auto; font-size: 0.8rem; }
""" + "".join(
    f"svg .line{i} {{ stroke: {colour}; stroke-width: 1.8; fill: none; }} svg .dot{i} {{ fill: {colour}; }}\n"
    for i, colour in enumerate(COLOURS)
)


@dataclass(frozen=True)
class Line:
    """Points joined by a line; dashed for what is not private.

    Attributes:
        name: For the key.
        points: (x, y), both positive.
        dashed: Whether the line is broken.
    """

    name: str
    points: tuple[tuple[float, float], ...]
    dashed: bool = False


@dataclass(frozen=True)
class Plot:
    """Lines over a logarithmic axis; the heights are logarithmic too, or begin at 0.

    Attributes:
        title: What is shown.
        note: What one should see in it.
        across: What the horizontal axis is.
        up: What the heights are.
        lines: What is drawn, at most four.
        logarithmic: Whether the heights are.
    """

    title: str
    note: str
    across: str
    up: str
    lines: tuple[Line, ...]
    logarithmic: bool = True

    def draw(self) -> Markup:
        """The picture, with a key."""
        points = [point for line in self.lines for point in line.points]
        xs, ys = [x for x, _ in points], [y for _, y in points]
        low = min(ys) / 1.15 if self.logarithmic else 0.0
        across = _Scale(min(xs), max(xs), LEFT + 8, RIGHT - 8, logarithmic=True)
        up = _Scale(low, 1.15 * max(ys), FOOT, TOP, logarithmic=self.logarithmic)
        parts: list[Markup] = []
        for mark in across.marks():
            x = across(mark)
            parts.append(tag("line", x1=x, x2=x, y1=TOP, y2=FOOT, class_="grid"))
            parts.append(tag("text", _short(mark), x=x, y=FOOT + 15, class_="number middle"))
        for mark in up.marks():
            y = up(mark)
            parts.append(tag("line", x1=LEFT, x2=RIGHT, y1=y, y2=y, class_="grid"))
            parts.append(tag("text", _short(mark), x=LEFT - 6, y=y + 4, class_="number end"))
        for i, line in enumerate(self.lines):
            parts += self._line(i, line, across, up)
        parts.append(tag("text", self.across, x=(LEFT + RIGHT) / 2, y=FOOT + 31, class_="middle"))
        middle = (TOP + FOOT) / 2
        parts.append(tag("text", self.up, x=10, y=middle, transform=f"rotate(-90 10 {middle:g})", class_="middle"))
        return picture(WIDTH, HEIGHT + 16 * len(self.lines) - 8, self.title, self.note, parts)

    def _line(self, i: int, line: Line, across: _Scale, up: _Scale) -> list[Markup]:
        placed = [(across(x), up(y)) for x, y in sorted(line.points)]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in placed)
        broken, y = "5 4" if line.dashed else None, HEIGHT + 16 * i
        return [
            tag("path", d=path, class_=f"line{i}", stroke_dasharray=broken),
            *(tag("circle", tag("title", line.name), cx=x, cy=y, r=3, class_=f"dot{i}") for x, y in placed),
            tag("line", x1=LEFT, x2=LEFT + 26, y1=y, y2=y, class_=f"line{i}", stroke_dasharray=broken),
            tag("text", line.name, x=LEFT + 34, y=y + 4),
        ]


class _Scale:
    """Values to pixels, straight or by the logarithm."""

    def __init__(self, low: float, high: float, start: float, end: float, *, logarithmic: bool) -> None:
        if logarithmic and high <= low:
            low, high = low / 1.5, high * 1.5
        self.logarithmic = logarithmic
        self.axis = Axis(self._place(low), self._place(high), start, end)

    def _place(self, value: float) -> float:
        return math.log10(value) if self.logarithmic else value

    def __call__(self, value: float) -> float:
        return self.axis(self._place(value))

    def marks(self) -> list[float]:
        """Round values; on a logarithmic axis 1, 2 and 5 times powers of ten, or fewer when there would be many."""
        if not self.logarithmic:
            return self.axis.ticks()
        low, high = self.axis.low - 1e-9, self.axis.high + 1e-9
        for multiples in ((1, 2, 5), (1, 3), (1,)):
            powers = range(math.floor(low), math.ceil(high) + 1)
            found = [m * 10.0**k for k in powers for m in multiples if low <= math.log10(m * 10.0**k) <= high]
            if len(found) <= 9:
                break
        return found


def _short(value: float) -> str:
    """A number in few characters.

    Example:
        >>> [_short(value) for value in (0.05, 2.0, 50_000.0, 2e6, 1e-5)]
        ['0.05', '2', '50k', '2M', '1e-05']
    """
    if value >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value / 1e3:g}k" if value >= 1e4 else f"{value:g}"


def page(title: str, words: Sequence[str], plots: Sequence[Plot], table: str) -> str:
    """A self-contained page: words, plots, and the table as text."""
    figures = Markup("").join(
        tag("figure", plot.draw(), tag("figcaption", tag("b", plot.title + ". "), plot.note)) for plot in plots
    )
    told = Markup("").join(tag("p", text) for text in words)
    body = Markup("<h1>{}</h1>{}<div class='plots'>{}</div><pre>{}</pre>").format(title, told, figures, table)
    head = Markup("<meta charset='utf-8'><title>{}</title><style>{}</style>").format(title, Markup(STYLE))
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{body}</body></html>\n"
