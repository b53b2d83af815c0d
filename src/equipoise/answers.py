"""Answers of a release to queries that come later: the model's estimate, and how far off it can be."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from equipoise.core import FloatArray, Move
from equipoise.queries.group import Group
from equipoise.queries.lattice import Columns, predicted_variances
from equipoise.queries.queries import Queries
from equipoise.queries.query import Query
from equipoise.queries.residuals import reconstruct
from equipoise.queries.workload import Workload

__all__ = ["Answer", "half_width", "unbiased"]

FAILURE = 0.05
"""A half-width fails with at most this probability."""


@dataclass(frozen=True)
class Answer:
    """The model's answer to one query.

    Attributes:
        text: The query, in its normal form.
        share: Estimated share of the records.
        count: The same times the number of records.
        half_width: The truth is within this of the share with probability 0.95, for a query chosen without looking at
            the noisy measurements; None when the release does not say.
    """

    text: str
    share: float
    count: float
    half_width: float | None


def half_width(
    query: Query,
    share: float,
    asked: Queries,
    moves: tuple[Move, ...],
    bars: FloatArray | None,
    num_rows: int,
    *,
    num_trials: float = 1.0,
) -> float | None:
    """The smallest of the bounds that the workload's marginals give; None when there is none below 1.

    Guarantees:
        Two kinds. The sum of the error bars of the cells that make up the query holds with probability 0.95 for all
        queries at once. And where a marginal was measured whole, the sum of its noisy cells inside the query (or
        outside, as n is known) is the true count plus a sum of independent noises of known variance k stddev^2,
        which are sub-Gaussian: the truth is within sqrt(2 log(2/0.05) k) stddev of it with probability 0.95.
        For a release that is the best of a random number of trials, that must hold in all of them: `num_trials`, their
        mean, divides the 0.05 (Wald's equation).
    """
    if not isinstance(asked, Workload):  # conjunctions one by one: no marginal was measured
        return None
    widths = []
    for group, start, inside in _containing(query, asked):
        if bars is not None and start < len(bars):
            widths.append(float(bars[start : start + group.num_queries][inside].sum()))
        for move in moves:
            found = _measured_whole(move, group, start)
            if found is not None:
                widths.append(_direct(*found, inside, share, num_rows, FAILURE / num_trials))
    best = min(widths, default=1.0)
    return best if best < 1 else None


def unbiased(
    workload: Queries, asked: Queries, moves: tuple[Move, ...], num_rows: int
) -> tuple[FloatArray, FloatArray] | None:
    """The best unbiased counts of a workload of marginals from all marginals measured whole, and their stddevs.

    None when the workload has other queries, or was not measured enough to answer all of it. Where the first move
    measured enough, it alone is used: what was measured again later was selected by what the first noise made of it,
    and weighing that in would bias the answers.
    """
    if not isinstance(workload, Workload) or not isinstance(asked, Workload):
        return None
    if any(group.masks is not None for group in workload.groups):
        return None
    found = _unbiased(workload, asked, moves[:1], num_rows)
    return found if found is not None or len(moves) < 2 else _unbiased(workload, asked, moves, num_rows)


def _unbiased(
    workload: Workload, asked: Workload, moves: tuple[Move, ...], num_rows: int
) -> tuple[FloatArray, FloatArray] | None:
    totals: dict[Columns, FloatArray] = {}
    precisions: dict[Columns, float] = {}
    for group, start in zip(asked.groups, asked.starts, strict=False):
        for move in moves:
            found = None if group.masks is not None else _measured_whole(move, group, int(start))
            if found is not None and found[1][0] > 0:
                precision = float(found[1][0]) ** -2
                totals[group.columns] = totals.get(group.columns, 0.0) + precision * found[0]
                precisions[group.columns] = precisions.get(group.columns, 0.0) + precision
    sizes, sets = workload.domain.sizes, workload.column_sets
    if not precisions or not np.isfinite(variances := predicted_variances(sizes, sets, precisions)).all():
        return None
    shapes = {columns: tuple(sizes[c] for c in columns) for columns in precisions}
    measured = {columns: (total / precisions[columns]).reshape(shapes[columns]) for columns, total in totals.items()}
    answers = reconstruct(measured, precisions, sets, num_rows)
    by_set = dict(zip(sets, np.sqrt(variances), strict=True))
    counts = np.concatenate([answers[group.columns].reshape(-1) for group in workload.groups])
    stddevs = np.concatenate([np.full(group.num_queries, by_set[group.columns]) for group in workload.groups])
    return counts, stddevs


def _containing(query: Query, workload: Workload) -> Iterator[tuple[Group, int, NDArray[np.bool_]]]:
    """Marginals of the workload that have all of the query's columns, with their cells inside the query.

    Of marginals of merged values, those in which the query splits no part.
    """
    masks = dict(zip(query.columns, query.masks, strict=True))
    for group, start in zip(workload.groups, workload.starts, strict=False):
        cells_or_parts = group.masks is None or group.merged is not None
        if not cells_or_parts or not set(query.columns) <= set(group.columns):
            continue
        axes = [_along(group, axis, masks.get(column)) for axis, column in enumerate(group.columns)]
        whole = [axis for axis in axes if axis is not None]
        if len(whole) == len(axes):
            yield group, int(start), reduce(np.logical_and.outer, whole).reshape(-1)


def _along(group: Group, axis: int, mask: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    """Which values, or parts, along an axis of a group are inside a mask; None where it splits a part."""
    inside = np.ones(group.shape[axis], dtype=np.bool_) if mask is None else mask
    if group.merged is None:
        return inside
    part = group.merged[axis]
    num_inside, sizes = np.bincount(part, inside), np.bincount(part)
    return num_inside > 0 if bool(((num_inside == 0) | (num_inside == sizes)).all()) else None


def _measured_whole(move: Move, group: Group, start: int) -> tuple[FloatArray, FloatArray] | None:
    """A group's noisy cells and their noise, when a move measured all of them (ids of a group are consecutive)."""
    if move.values is None:
        return None
    first = int(np.searchsorted(move.ids, start))
    last = first + group.num_queries - 1
    if last >= len(move.ids) or move.ids[first] != start or move.ids[last] != start + group.num_queries - 1:
        return None
    whole = slice(first, last + 1)
    return move.values[whole].astype(np.float64), np.broadcast_to(move.stddev, len(move.ids))[whole]


def _direct(
    cells: FloatArray, stddevs: FloatArray, inside: NDArray[np.bool_], share: float, num_rows: int, failure: float
) -> float:
    within, variance = cells[inside].sum(), (stddevs[inside] ** 2).sum()
    if (other := (stddevs[~inside] ** 2).sum()) < variance:
        within, variance = num_rows - cells[~inside].sum(), other
    noise = math.sqrt(2 * math.log(2 / failure) * variance)
    return float(abs(within / num_rows - share) + noise / num_rows)
