"""Lines of errors against epsilon, or another size: logarithmic axes, error bars, the papers' plots as SVG."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from markupsafe import Markup

from equipoise.bench.summary import Point
from equipoise.report.svg import Axis, picture, tag

__all__ = ["NUM_COLOURS", "STYLE", "alone", "draw", "file_name", "mark", "short"]

WIDTH, HEIGHT = 460.0, 320.0
LEFT, RIGHT, TOP, FOOT = 62.0, 14.0, 10.0, 44.0

LIGHT = ("#2f6db5", "#c2570c", "#2e7d4f", "#8a3fa0", "#a3161a", "#0f7f8c", "#7a6a10", "#56606e", "#c03a7a")
DARK = ("#6aa3e6", "#f2994a", "#6fc28f", "#c48be0", "#ff8f87", "#5cc7d3", "#d3bf52", "#a2adbb", "#f08ab8")
NUM_COLOURS = len(LIGHT)


def _rules(colours: Sequence[str]) -> str:
    return " ".join(
        f"svg .l{k} {{ stroke: {colour}; fill: none; stroke-width: 1.8; }} svg .d{k} {{ fill: {colour}; }}"
        for k, colour in enumerate(colours)
    )


STYLE = f"""{_rules(LIGHT)} svg .dashed {{ stroke-dasharray: 5 3; }} svg .bar {{ stroke-width: 1; }}
@media (prefers-color-scheme: dark) {{ {_rules(DARK)} }} @media print {{ {_rules(LIGHT)} }}"""
"""Colours of the lines, for a page's style sheet."""


ALONE = """text { font: 11px sans-serif; fill: #777; } .end { text-anchor: end; } .middle { text-anchor: middle; }
.grid, .axis { stroke: #999; stroke-width: 0.5; stroke-opacity: 0.6; }"""
"""What a page's own style sheet says, for a picture outside a page."""

LEGEND = 18.0
"""Height of a line of the legend."""
SHORT_NAME, MANY = 18, 6
"""Letters of a name, and number of names, from which a legend has two columns."""


def mark(number: int, *, dashed: bool) -> Markup:
    """A line's sign in the legend."""
    line = tag("line", x1=1, x2=25, y1=6, y2=6, class_=f"l{number}{' dashed' if dashed else ''}")
    return tag("svg", line, _dot(number, 13, 6), width=26, height=12, aria_hidden="true")


def _dot(number: int, x: float, y: float) -> Markup:
    """A mark whose form tells lines apart without colours."""
    form = number % 3
    if form == 0:
        return tag("circle", cx=x, cy=y, r=3.2, class_=f"d{number}")
    if form == 1:
        return tag("rect", x=x - 2.9, y=y - 2.9, width=5.8, height=5.8, class_=f"d{number}")
    path = f"M{x:.1f} {y - 3.8:.1f} L{x + 3.6:.1f} {y + 2.8:.1f} L{x - 3.6:.1f} {y + 2.8:.1f} Z"
    return tag("path", d=path, class_=f"d{number}")


def draw(
    lines: Sequence[tuple[str, int, bool, Sequence[Point]]], *, error: str, title: str, across_is: str = "epsilon"
) -> Markup:
    """A plot of (name, number of its colour, whether dashed, points); `across_is` says what the points' place is."""
    shown = [point for *_, points in lines for point in points]
    if not shown:
        nothing = tag("text", "not run yet", x=WIDTH / 2, y=30, class_="label middle")
        return picture(WIDTH, 50, title, "Nothing was run yet.", [nothing])
    across = _axis([point.epsilon for point in shown], LEFT + 8, WIDTH - RIGHT - 8, room=0.0)
    ends = [point.mean + sign * point.standard_error for point in shown for sign in (-1, 1)]
    up = _axis([end for end in ends if end > 0], HEIGHT - FOOT, TOP, room=0.06)
    heights = error if error in ("seconds", "MiB") else f"{error} error"
    parts = _scales(across, up, sorted({point.epsilon for point in shown}), heights, across_is)
    for _, number, dashed, points in lines:
        parts += _line(across, up, number, dashed, points)
    words = [
        f"{name}: " + ", ".join(f"{p.mean:.3g} at {across_is} {p.epsilon:g}" for p in points)
        for name, _, _, points in lines
        if points
    ]
    return picture(WIDTH, HEIGHT, title, "; ".join(words) + ".", parts)


def alone(drawn: Markup, legend: Sequence[tuple[str, int, bool]] = ()) -> str:
    """A plot as a file of its own, with (name, number of its colour, whether dashed) of its lines below it."""
    folded = len(legend) > MANY and all(len(name) <= SHORT_NAME for name, _, _ in legend)
    num_rows = math.ceil(len(legend) / 2) if folded else len(legend)
    height = HEIGHT + LEGEND * num_rows
    parts = [tag("style", Markup(f"{ALONE} {STYLE}")), drawn]
    for place, (name, number, dashed) in enumerate(legend):
        column, row = divmod(place, num_rows)
        x, y = LEFT + column * (WIDTH - LEFT) / 2, HEIGHT + LEGEND * row
        sign = tag("g", mark(number, dashed=dashed), transform=f"translate({x:g} {y:g})")
        parts += [sign, tag("text", name, x=x + 34, y=y + 10)]
    size = {"viewBox": f"0 0 {WIDTH:g} {height:g}", "width": WIDTH, "height": height}
    return str(tag("svg", *parts, xmlns="http://www.w3.org/2000/svg", **size))


def file_name(title: str) -> str:
    """A plot's file, by its title.

    Example:
        >>> file_name("ADULT, 7 of 13 columns: mean")
        'adult-7-of-13-columns-mean.svg'
    """
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") + ".svg"


def short(value: float) -> str:
    """A number in few characters.

    Example:
        >>> [short(value) for value in (0.05, 2.0, 50_000.0, 2e6)]
        ['0.05', '2', '50k', '2M']
    """
    if value >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value / 1e3:g}k" if value >= 1e4 else f"{value:g}"


def _axis(values: Sequence[float], start: float, end: float, *, room: float) -> Axis:
    low, high = math.log10(min(values)), math.log10(max(values))
    room = room * (high - low) + (0.05 if high - low < 1e-9 else 0.0)
    return Axis(low - room, high + room, start, end)


def _line(across: Axis, up: Axis, number: int, dashed: bool, points: Sequence[Point]) -> list[Markup]:
    places = [(across(math.log10(point.epsilon)), up(math.log10(point.mean)), point) for point in points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in places)
    parts = [tag("polyline", points=path, class_=f"l{number}{' dashed' if dashed else ''}")]
    for x, y, point in places:
        if point.standard_error > 0:
            low, high = (point.mean + sign * point.standard_error for sign in (-1, 1))
            foot = up(math.log10(low)) if low > 0 else up.start
            parts.append(tag("line", x1=x, x2=x, y1=foot, y2=up(math.log10(high)), class_=f"l{number} bar"))
        parts.append(_dot(number, x, y))
    return parts


def _scales(across: Axis, up: Axis, places: Sequence[float], heights: str, across_is: str) -> list[Markup]:
    parts = []
    for tick in _log_ticks(up):
        y = up(math.log10(tick))
        parts.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid"))
        parts.append(tag("text", f"{tick:.3g}", x=LEFT - 6, y=y + 4, class_="number end"))
    previous = -math.inf
    for place in places:
        x = across(math.log10(place))
        parts.append(tag("line", x1=x, x2=x, y1=TOP, y2=HEIGHT - FOOT, class_="grid"))
        if x - previous > 32:
            parts.append(tag("text", short(place), x=x, y=HEIGHT - FOOT + 16, class_="number middle"))
            previous = x
    parts.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=HEIGHT - FOOT, y2=HEIGHT - FOOT, class_="axis"))
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(tag("text", f"{across_is} (logarithmic)", x=middle, y=HEIGHT - 8, class_="label middle"))
    turned = (TOP + HEIGHT - FOOT) / 2
    parts.append(tag("text", heights, x=12, y=turned, transform=f"rotate(-90 12 {turned:.0f})", class_="label middle"))
    return parts


def _log_ticks(axis: Axis) -> list[float]:
    """1, 2 and 5 times powers of ten inside an axis of logarithms; fewer when there are many."""
    powers = range(math.floor(axis.low), math.ceil(axis.high) + 1)
    steps = (1, 2, 5) if axis.high - axis.low < 2.2 else (1, 3) if axis.high - axis.low < 3.5 else (1,)
    ticks = [step * 10.0**power for power in powers for step in steps]
    return [tick for tick in ticks if axis.low <= math.log10(tick) <= axis.high]
