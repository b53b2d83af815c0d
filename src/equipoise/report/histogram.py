"""Histograms over one axis: the first series as bars, a second as an outline."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from markupsafe import Markup

from equipoise.core import FloatArray
from equipoise.report.numbers import amount, percent
from equipoise.report.svg import Axis, picture, tag

__all__ = ["draw_histogram"]

NUM_BINS = 36
LEFT, RIGHT, TOP, BASE = 56.0, 430.0, 10.0, 170.0


def draw_histogram(
    bars: FloatArray, title: str, words: str, *, outline: FloatArray | None = None, logarithmic: bool = False
) -> Markup:
    """The distribution of shares over a workload.

    Args:
        bars: One value a query, drawn as bars.
        title: What it is.
        words: What the axis shows.
        outline: A second series over the same axis.
        logarithmic: Draw the logarithm of the counts, so that a few large values are seen beside many small ones.
    """
    series = [bars] if outline is None else [bars, outline]
    low = min(0.0, *(float(values.min()) for values in series))
    high = max(1e-9, *(float(values.max()) for values in series))
    edges = np.linspace(low, high, NUM_BINS + 1)
    counts = [np.histogram(values, bins=edges)[0].astype(np.float64) for values in series]
    tallest = max(float(number.max()) for number in counts)
    heights = [np.log10(1 + number) if logarithmic else number for number in counts]
    across, up = Axis(low, high, LEFT, RIGHT), Axis(0, max(float(h.max()) for h in heights), BASE, TOP)
    parts = _count_scale(up, tallest, logarithmic=logarithmic)
    for (left, right), height in zip(pairwise(edges), heights[0], strict=True):
        if height:
            x, y = across(left), up(height)
            parts.append(tag("rect", x=x, y=y, width=across(right) - x - 0.6, height=BASE - y, class_="rows"))
    if outline is not None:
        corners = [(x, h) for ends, h in zip(pairwise(edges), heights[1], strict=True) for x in ends]
        points = " ".join(f"{across(x):.1f},{up(h):.1f}" for x, h in corners)
        parts.append(tag("polyline", points=points, class_="model"))
    for tick in across.ticks(5):
        text = f"{100 * tick:.3g} %".replace("-", "−")
        parts.append(tag("text", text, x=across(tick), y=BASE + 16, class_="number middle"))
    parts.append(tag("line", x1=LEFT, x2=RIGHT, y1=BASE, y2=BASE, class_="axis"))
    parts.append(tag("text", words, x=(LEFT + RIGHT) / 2, y=BASE + 33, class_="label middle"))
    size = np.abs(bars)
    told = f"{amount(len(bars), 'query', 'queries')}: median {percent(float(np.median(size)), 3)},"
    return picture(440, 210, title, f"{told} largest {percent(float(size.max()), 3)}.", parts)


def _count_scale(up: Axis, tallest: float, *, logarithmic: bool) -> list[Markup]:
    marks = [10.0**k for k in range(int(np.log10(max(1.0, tallest))) + 1)] if logarithmic else up.ticks(4)
    parts: list[Markup] = []
    for mark in marks:
        if mark == int(mark):
            y = up(float(np.log10(1 + mark)) if logarithmic else mark)
            parts.append(tag("line", x1=LEFT, x2=RIGHT, y1=y, y2=y, class_="grid"))
            parts.append(tag("text", f"{mark:,.0f}", x=LEFT - 6, y=y + 4, class_="number end"))
    return parts
