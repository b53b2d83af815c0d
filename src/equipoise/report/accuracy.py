"""How accurate a release is, as far as public quantities tell: error bars by marginal, and rows against model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from equipoise.core import FloatArray
from equipoise.queries.group import Group
from equipoise.report.numbers import amount, percent
from equipoise.report.subject import Subject
from equipoise.report.svg import Axis, picture, tag

__all__ = ["Bars", "MarginalBars", "bars_of", "draw_histogram", "marginal_name", "worst_groups"]

MOST_MARGINALS = 12
NUM_BINS = 36


class MarginalBars(NamedTuple):
    """The error bars of one marginal's queries: half-widths, as shares."""

    name: str
    num_queries: int
    median: float
    largest: float


class Bars(NamedTuple):
    """The error bars of a workload: half-widths, as shares of the records."""

    median: float
    high: float
    largest: float
    marginals: tuple[MarginalBars, ...]
    num_marginals: int
    histogram: Markup


def marginal_name(subject: Subject, group: Group) -> str:
    """A group's columns, and what it is when it is not every cell of the marginal."""
    names = " × ".join(subject.schema.columns[c].name for c in group.columns)
    return names if group.masks is None else f"{names} (conjunctions or ranges)"


def worst_groups(subject: Subject, values: FloatArray, most: int = MOST_MARGINALS) -> list[int]:
    """Groups by their largest value, largest first; ties in the workload's order."""
    largest = np.maximum.reduceat(values, subject.workload.starts[:-1])
    return [int(g) for g in np.argsort(-largest, kind="stable")[:most]]


def bars_of(subject: Subject) -> Bars | None:
    """A summary of the error bars, or None when the release has none."""
    bars = subject.error_bars
    if bars is None:
        return None
    starts, groups = subject.workload.starts, subject.workload.groups
    marginals = []
    for g in worst_groups(subject, bars):
        part = bars[starts[g] : starts[g + 1]]
        name = marginal_name(subject, groups[g])
        marginals.append(MarginalBars(name, len(part), float(np.median(part)), float(part.max())))
    return Bars(
        float(np.median(bars)),
        float(np.quantile(bars, 0.95)),
        float(bars.max()),
        tuple(marginals),
        len(groups),
        draw_histogram({"rows": bars}, "Half-widths of the 95 % error bars over the workload", "half-width, share of the records"),
    )


def draw_histogram(values: dict[str, FloatArray], title: str, words: str, *, steep: bool = False) -> Markup:
    """Histograms over one axis, the first as bars and the others as outlines; `steep` for a logarithm of the counts."""
    everything = np.concatenate(list(values.values()))
    low, high = min(0.0, float(everything.min())), max(float(everything.max()), 1e-9)
    edges = np.linspace(low, high, NUM_BINS + 1)
    counts = {kind: np.histogram(v, bins=edges)[0].astype(np.float64) for kind, v in values.items()}
    tallest = max(float(c.max()) for c in counts.values())
    heights = {kind: np.log10(1 + c) if steep else c for kind, c in counts.items()}
    across = Axis(low, high, 56, 430)
    up = Axis(0, float(np.log10(1 + tallest)) if steep else tallest, 170, 10)
    parts: list[Markup] = []
    for mark in [10.0**k for k in range(int(np.log10(max(1, tallest))) + 1)] if steep else up.ticks(4):
        if mark == int(mark):
            y = up(np.log10(1 + mark) if steep else mark)
            parts.append(tag("line", x1=56, x2=430, y1=y, y2=y, class_="grid"))
            parts.append(tag("text", f"{mark:,.0f}", x=50, y=y + 4, class_="number end"))
    for kind, height in heights.items():
        if kind == "rows":
            for left, right, value in zip(edges, edges[1:], height, strict=False):
                if value:
                    x, y = across(left), up(value)
                    parts.append(tag("rect", x=x, y=y, width=across(right) - x - 0.6, height=170 - y, class_="rows"))
        else:
            points = " ".join(
                f"{across(x):.1f},{up(h):.1f}"
                for left, right, h in zip(edges, edges[1:], height, strict=False)
                for x in (left, right)
            )
            parts.append(tag("polyline", points=points, class_=kind))
    for tick in across.ticks(5):
        text = f"{100 * tick:.3g} %".replace("-", "−")
        parts.append(tag("text", text, x=across(tick), y=186, class_="number middle"))
    parts.append(tag("line", x1=56, x2=430, y1=170, y2=170, class_="axis"))
    parts.append(tag("text", words, x=243, y=203, class_="label middle"))
    first = next(iter(values.values()))
    told = f"{amount(len(first), 'query', 'queries')}. Median {percent(float(np.median(first)), 3)}, largest {percent(high, 3)}."
    return picture(440, 210, title, told, parts)
