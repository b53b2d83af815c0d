"""The report of a release: for statisticians and data-protection officers, from public parts alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.report import accuracy, one_way, page, scatter, two_way
from equipoise.report.declarations import declarations
from equipoise.report.guarantee import budget, guarantee
from equipoise.report.measurements import Measurements, collect, singles
from equipoise.report.references import entries
from equipoise.report.subject import Subject
from equipoise.report.svg import shorten

__all__ = ["build"]

NAME_WIDTH = 200.0
MOST_NAMED = 10
"""Pairs listed beside the matrix."""


def build(subject: Subject) -> str:
    """The report as one HTML file that needs nothing else: no network, no script; it prints on A4.

    Args:
        subject: The public parts of a release. Nothing private can be reached from them, so the report may be
            published with the release.

    Returns:
        The text of the file. The same subject gives the same text.
    """
    statement = subject.statement
    seen = subject.measured
    measurements = collect(seen)
    model, rows = subject.workload.on(subject.distribution), _row_answers(subject)
    found, seen_model, seen_rows = singles(seen), model, rows
    # Millions of answers take minutes; mostly the two are one, or nothing was measured.
    if seen.workload is not subject.workload and len(found.ids):
        seen_model, seen_rows = seen.workload.on(seen.distribution), _row_answers(seen)
    return page.render(
        "report.html",
        subject=subject,
        statement=statement,
        num_synthetic=subject.rows.shape[1],
        guarantee=guarantee(statement),
        budget=budget(statement),
        bars=accuracy.bars_of(replace(measurements, subject=subject)),
        gap=np.abs(rows - model),
        measured=_measured(seen, scatter.agreement(found, seen_model, seen_rows)),
        one_way=_one_way(subject, measurements),
        two_way=_two_way(subject, measurements),
        declarations=declarations(subject.schema, statement["accepted_inferred"]),
        references=entries(statement["citations"]),
    )


def _row_answers(subject: Subject) -> Any:
    if subject.rows.shape[1] == 0:
        return np.zeros(subject.workload.num_queries)
    return subject.workload.on_rows(subject.rows)


def _measured(subject: Subject, found: scatter.Agreement | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "number": len(found.residuals),
        "distinct": len(np.unique(found.single.ids)),
        "drawn": len(found.drawn()),
        "within_two": found.within_two,
        "stddev": float(np.median(found.single.stddevs)),
        "agreement": scatter.draw_agreement(found),
        "residuals": scatter.draw_residuals(found),
        "clearest": scatter.draw_clearest(subject, found),
        "worst": scatter.draw_worst(subject, found),
    }


def _one_way(subject: Subject, measurements: Measurements) -> dict[str, Any]:
    panels = one_way.noisy_panels(subject, measurements)
    return {
        "panels": [(panel.column, one_way.draw(panel)) for panel in panels],
        "num_marked": sum(panel.marks is not None for panel in panels),
        "left_out": len(subject.schema.columns) - len(panels),
    }


def _two_way(subject: Subject, measurements: Measurements) -> dict[str, Any] | None:
    if subject.rows.shape[1] == 0:
        return None
    pairs = two_way.associations(subject)
    if not pairs:
        return None
    return {
        "matrix": two_way.draw_matrix(subject, pairs),
        "maps": [(two_way.heat_map(subject, measurements, p), p.strength) for p in two_way.chosen(pairs)],
        "left_out": max(0, len(subject.schema.columns) - two_way.MOST_COLUMNS),
        "strongest": [(_names(subject, p), p.strength) for p in two_way.strongest(pairs)[:MOST_NAMED]],
        "num_pairs": len(pairs),
    }


def _names(subject: Subject, pair: two_way.Association) -> str:
    names = [shorten(subject.schema.columns[c].name, NAME_WIDTH) for c in (pair.first, pair.second)]
    return " × ".join(names)
