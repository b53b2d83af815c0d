"""The noisy measurements of a release, query by query, as shares of the records. All of it is in the moves: public."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.core import FloatArray, IntArray
from equipoise.report.subject import Subject

__all__ = ["Measurements", "Noisy", "Single", "collect", "singles"]


class Noisy(NamedTuple):
    """Noisy shares of the cells of a marginal; NaN where nothing measured says what the cell holds."""

    values: FloatArray
    stddevs: FloatArray


class Single(NamedTuple):
    """Every measurement by itself, in the order of the rounds.

    Attributes:
        ids: The query.
        rounds: The round, from 1.
        values: Noisy share of the records.
        stddevs: Its standard deviation.
    """

    ids: IntArray
    rounds: IntArray
    values: FloatArray
    stddevs: FloatArray


@dataclass(frozen=True)
class Measurements:
    """What was measured of each query; one measured more than once has the mean weighted by precision.

    Attributes:
        subject: The release.
        values: Noisy share of each query of the workload; NaN where not measured.
        stddevs: Its standard deviation.
        measured_groups: Groups of the workload with at least one measured query.
    """

    subject: Subject
    values: FloatArray
    stddevs: FloatArray
    measured_groups: tuple[int, ...]

    def _cells(self, group_id: int) -> Noisy:
        workload = self.subject.workload
        part = slice(int(workload.starts[group_id]), int(workload.starts[group_id + 1]))
        shape = self.subject.groups[group_id].shape
        return Noisy(self.values[part].reshape(shape), self.stddevs[part].reshape(shape))

    def _containing(self, columns: Sequence[int]) -> list[int]:
        groups = self.subject.groups
        if not groups:
            return []
        return [g for g in self.measured_groups if groups[g].masks is None and set(columns) <= set(groups[g].columns)]

    def marginal(self, columns: tuple[int, ...]) -> Noisy | None:
        """What the measurements say of a marginal (columns in increasing order), or None when they say nothing.

        A marginal all of whose cells were measured gives every smaller one by adding up; the least noisy is taken.
        """
        best: Noisy | None = None
        for g in self._containing(columns):
            group, cells = self.subject.groups[g], self._cells(g)
            summed = tuple(axis for axis, column in enumerate(group.columns) if column not in columns)
            found = Noisy(cells.values.sum(axis=summed), np.sqrt((cells.stddevs**2).sum(axis=summed)))
            if np.isfinite(found.values).any() and (best is None or _noise(found) < _noise(best)):
                best = found
        return best

    def touched(self, columns: tuple[int, ...]) -> NDArray[np.bool_]:
        """Cells of a marginal of which at least a part was measured: the cell, or one narrowed by further columns."""
        workload = self.subject.workload
        result = np.zeros(tuple(workload.domain.sizes[c] for c in columns), dtype=np.bool_)
        for g in self._containing(columns):
            group = self.subject.groups[g]
            summed = tuple(axis for axis, column in enumerate(group.columns) if column not in columns)
            result |= np.isfinite(self._cells(g).values).any(axis=summed)
        return result


def _noise(noisy: Noisy) -> tuple[int, float]:
    """Fewest unknown cells first, then least noise."""
    unknown = int(np.isnan(noisy.values).sum())
    return unknown, float(np.nanmean(noisy.stddevs))


def singles(subject: Subject) -> Single:
    """Every measurement of the moves."""
    moves = [(number, move) for number, move in enumerate(subject.moves, start=1) if move.values is not None]
    if not moves:
        nothing = np.zeros(0)
        return Single(nothing.astype(np.int64), nothing.astype(np.int64), nothing, nothing)
    return Single(
        ids=np.concatenate([move.ids for _, move in moves]).astype(np.int64),
        rounds=np.concatenate([np.full(len(move.ids), number) for number, move in moves]).astype(np.int64),
        values=np.concatenate([np.asarray(move.values, dtype=np.float64) for _, move in moves]) / subject.num_rows,
        stddevs=np.concatenate([np.full(len(move.ids), move.stddev) for _, move in moves]) / subject.num_rows,
    )


def collect(subject: Subject) -> Measurements:
    """The measurements by query."""
    single = singles(subject)
    precision = np.zeros(subject.workload.num_queries)
    weighted = np.zeros(subject.workload.num_queries)
    # A stddev of zero would be a measurement without noise; a ten-thousandth of a record keeps the arithmetic finite.
    each = 1 / np.maximum(single.stddevs, 1e-4 / subject.num_rows) ** 2
    np.add.at(precision, single.ids, each)
    np.add.at(weighted, single.ids, each * single.values)
    known = precision > 0
    values, stddevs = np.full(len(known), np.nan), np.full(len(known), np.nan)
    values[known] = weighted[known] / precision[known]
    stddevs[known] = precision[known] ** -0.5
    groups = np.unique(subject.workload.group_of(single.ids)) if len(single.ids) else np.zeros(0, dtype=np.int64)
    return Measurements(subject, values, stddevs, tuple(int(g) for g in groups))
