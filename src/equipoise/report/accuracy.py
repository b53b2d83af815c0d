"""How accurate a release is, as far as public quantities tell: error bars by marginal, and rows against model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from equipoise.core import FloatArray
from equipoise.report.histogram import draw_histogram
from equipoise.report.measurements import Measurements
from equipoise.report.subject import Subject
from equipoise.report.svg import shorten

__all__ = ["Bars", "MarginalBars", "bars_of", "marginal_name", "worst_groups"]

MOST_MARGINALS = 12
NAME_WIDTH = 200.0


class MarginalBars(NamedTuple):
    """The error bars of one marginal's queries: half-widths, as shares."""

    name: str
    num_queries: int
    num_measured: int
    median: float
    largest: float


class Bars(NamedTuple):
    """The error bars of a workload: half-widths, as shares of the records.

    Attributes:
        high: 19 of 20 queries have a half-width of at most this.
        uniform: Nearly all queries have nearly the same half-width, so a table of them would say nothing.
    """

    median: float
    high: float
    largest: float
    uniform: bool
    marginals: tuple[MarginalBars, ...]
    num_marginals: int
    histogram: Markup


def marginal_name(subject: Subject, g: int) -> str:
    """The columns of group g, and what it is when it is not every cell of the marginal; or the query, if it is one."""
    if not subject.groups:
        return subject.workload.describe(g, subject.schema)
    group = subject.groups[g]
    names = " × ".join(shorten(subject.schema.columns[c].name, NAME_WIDTH) for c in group.columns)
    return names if group.masks is None else f"{names} (conjunctions or ranges)"


def worst_groups(subject: Subject, values: FloatArray, most: int = MOST_MARGINALS) -> list[int]:
    """Groups by their largest value, largest first; ties in the workload's order."""
    largest = np.maximum.reduceat(values, subject.workload.starts[:-1])
    return [int(g) for g in np.argsort(-largest, kind="stable")[:most]]


def bars_of(measurements: Measurements) -> Bars | None:
    """A summary of the error bars, or None when the release has none."""
    subject = measurements.subject
    bars = subject.error_bars
    if bars is None:
        return None
    starts = subject.workload.starts
    marginals = []
    for g in worst_groups(subject, bars):
        part = bars[starts[g] : starts[g + 1]]
        measured = int(np.isfinite(measurements.values[starts[g] : starts[g + 1]]).sum())
        name = marginal_name(subject, g)
        marginals.append(MarginalBars(name, len(part), measured, float(np.median(part)), float(part.max())))
    return Bars(
        float(np.median(bars)),
        float(np.quantile(bars, 0.95)),
        float(bars.max()),
        bool(np.quantile(bars, 0.05) >= 0.95 * bars.max()),
        tuple(marginals),
        len(starts) - 1,
        draw_histogram(
            bars, "Half-widths of the 95 % error bars over the workload", "half-width, share of the records"
        ),
    )
