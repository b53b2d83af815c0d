"""The internal report: the release against the private table's own answers. For the steward alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from equipoise.core import FloatArray
from equipoise.errors import SettingError
from equipoise.report import accuracy, one_way, page
from equipoise.report.guarantee import guarantee
from equipoise.report.histogram import draw_histogram
from equipoise.report.measurements import Noisy
from equipoise.report.subject import Subject

__all__ = ["Errors", "WorstMarginal", "build_internal", "errors_of"]


class Errors(NamedTuple):
    """Errors over a workload, as shares of the records.

    Attributes:
        variation: Mean over whole marginals of the total variation distance (half the sum of absolute errors); None
            when the workload has no whole marginal.
    """

    largest: float
    mean: float
    rmse: float
    variation: float | None


class WorstMarginal(NamedTuple):
    """The model's error on one marginal."""

    name: str
    num_queries: int
    largest: float
    mean: float
    variation: float | None


class Coverage(NamedTuple):
    """How the public error bars did: how many held, and how much wider than the error they were."""

    held: int
    number: int
    median_ratio: float


def errors_of(subject: Subject, difference: FloatArray) -> Errors:
    """The usual measures of the differences between two vectors of the workload's answers."""
    size = np.abs(difference)
    return Errors(float(size.max()), float(size.mean()), float(np.sqrt((size**2).mean())), _variation(subject, size))


def _variation(subject: Subject, size: FloatArray) -> float | None:
    starts, groups = subject.workload.starts, subject.groups
    whole = np.array([group.masks is None for group in groups])
    if not whole.any():
        return None
    return float(np.add.reduceat(size, starts[:-1])[whole].mean() / 2)


def build_internal(subject: Subject, true_answers: FloatArray) -> str:
    """The internal report as one HTML file, marked on every page as not for release.

    Args:
        subject: The release.
        true_answers: The private table's answer to every query of the workload, as a share of the records.

    Raises:
        SettingError: There is not one answer for each query of the workload.
    """
    if true_answers.shape != (subject.workload.num_queries,):
        raise SettingError("the internal report needs one true answer for each query of the workload")
    model = subject.workload.on(subject.distribution) - true_answers
    rows = subject.workload.on_rows(subject.rows) - true_answers
    panels = _panels(subject, true_answers)
    return page.render(
        "internal.html",
        subject=subject,
        statement=subject.statement,
        num_synthetic=subject.rows.shape[1],
        guarantee=guarantee(subject.statement),
        errors=(("Model", errors_of(subject, model)), ("Synthetic rows", errors_of(subject, rows))),
        worst=_worst(subject, np.abs(model)),
        num_marginals=len(subject.workload.starts) - 1,
        coverage=_coverage(subject, np.abs(model)),
        histogram=draw_histogram(
            rows,
            "Errors over the workload",
            "synthetic − true, share of the records",
            outline=model,
            logarithmic=True,
        ),
        panels=[(panel.column, one_way.draw(panel)) for panel in panels],
        left_out=len(subject.schema.columns) - len(panels),
    )


def _worst(subject: Subject, size: FloatArray) -> list[WorstMarginal]:
    starts, groups = subject.workload.starts, subject.groups
    result = []
    for g in accuracy.worst_groups(subject, size):
        part = size[starts[g] : starts[g + 1]]
        variation = float(part.sum() / 2) if groups and groups[g].masks is None else None
        name = accuracy.marginal_name(subject, g)
        result.append(WorstMarginal(name, len(part), float(part.max()), float(part.mean()), variation))
    return result


def _coverage(subject: Subject, size: FloatArray) -> Coverage | None:
    bars = subject.error_bars
    if bars is None:
        return None
    # Answers are sums of floats: a bar that is met exactly must not fail by a rounding error.
    held = size <= bars + 1e-12
    ratio = bars / np.maximum(size, 1e-12)
    return Coverage(int(held.sum()), len(bars), float(np.median(ratio)))


def _panels(subject: Subject, true_answers: FloatArray) -> list[one_way.Panel]:
    """Columns that some whole marginal of the workload contains: its answers add up to the column's own."""
    starts, groups = subject.workload.starts, subject.groups
    result: list[one_way.Panel] = []
    sources: dict[int, int] = {}
    for g, group in enumerate(groups):
        if group.masks is None:
            for c in group.columns:
                sources.setdefault(c, g)
    for c in sorted(sources)[: one_way.MOST_PANELS]:
        group, column = groups[sources[c]], subject.schema.columns[c]
        cells = true_answers[starts[sources[c]] : starts[sources[c] + 1]].reshape(group.shape)
        truth = cells.sum(axis=tuple(axis for axis, other in enumerate(group.columns) if other != c))
        rows = one_way.shares_of(subject.rows, c, column.size)
        marks = Noisy(truth, np.zeros_like(truth))
        model: Any = subject.distribution.marginal((c,))
        result.append(one_way.Panel(column, rows, model, marks, "true share"))
    return result
