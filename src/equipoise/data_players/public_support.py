"""Distributions on the rows of a public table: where PMW-Pub and PEP-Pub play.

The updates are those of MWEM and PEP; only the records differ: a few thousand public rows instead of every cell of the
domain, weighted at first as often as they come. A query accepts a list of rows, and one that accepts none is skipped,
because no weights can change its answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from equipoise.core import FloatArray, IntArray, Move
from equipoise.data.distributions import WeightedRows
from equipoise.data.public import PublicRows
from equipoise.data_players.log_linear import Tilted
from equipoise.data_players.noise_aware import SoftDual
from equipoise.data_players.reach import Reach
from equipoise.data_players.regions import Regions
from equipoise.queries.workload import Group, Workload

__all__ = ["PublicRows", "SoftRows", "TiltedRows", "accepted_rows", "memory_bytes", "trusted_rows"]

CHUNK = 2**22
"""Row-by-query tests of masked queries made at a time (4 MB)."""

CERTAINTY = 3.0
"""Standard errors by which the measurements must contradict the public rows before these are trusted less."""

NO_NOISE = 1e-12
"""Variance of an answer without noise, as a share of the rows squared (tests and demonstrations)."""


def memory_bytes(public: PublicRows, workload: Workload) -> int:
    """Memory that a player on these rows needs: which rows each query accepts, and the fit's own vectors."""
    listed = public.num_distinct * sum(1 if g.masks is None else g.num_queries for g in workload.groups)
    return 40 * listed + 300 * min(workload.num_queries, listed)


def accepted_rows(public: PublicRows, workload: Workload, ids: IntArray) -> tuple[IntArray, IntArray]:
    """The public rows that queries accept: query i of `ids` accepts rows[starts[i]:starts[i + 1]].

    Example:
        >>> from equipoise.data.domain import Domain
        >>> workload = Workload(Domain(("x",), (3,)), (Group((0,), (3,)),))
        >>> public = PublicRows(np.array([[2, 0]], dtype=np.uint8), np.array([5, 1]), (0,), "example")
        >>> starts, rows = accepted_rows(public, workload, np.array([0, 1, 2]))
        >>> starts.tolist(), rows.tolist()
        ([0, 1, 1, 2], [1, 0])
    """
    owners = workload.group_of(ids)
    found: list[IntArray] = [np.zeros(0, dtype=np.int64)] * len(ids)
    for owner in np.unique(owners):
        group, places = workload.groups[owner], np.flatnonzero(owners == owner)
        positions = ids[places] - workload.starts[owner]
        for place, rows in zip(places, _rows_of(public, group, positions), strict=True):
            found[place] = rows
    starts = np.concatenate([[0], np.cumsum([len(rows) for rows in found])]).astype(np.int64)
    return starts, np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


def _rows_of(public: PublicRows, group: Group, positions: IntArray) -> list[IntArray]:
    if group.masks is None:
        cells = np.ravel_multi_index([public.codes[c].astype(np.int64) for c in group.columns], group.shape)
        order = np.argsort(cells, kind="stable").astype(np.int64)
        first, last = (np.searchsorted(cells[order], positions, side=side) for side in ("left", "right"))
        return [order[low:high] for low, high in zip(first, last, strict=True)]
    step, rows = max(1, CHUNK // public.num_distinct), []
    for start in range(0, len(positions), step):
        part = positions[start : start + step]
        inside = np.ones((len(part), public.num_distinct), dtype=bool)
        for column, mask in zip(group.columns, group.masks, strict=True):
            inside &= mask[part][:, public.codes[column]]
        rows += [np.flatnonzero(line) for line in inside]
    return rows


def _reach(public: PublicRows) -> Reach:
    return Reach(lambda workload: workload.count_rows(public.codes))


def _weighted(public: PublicRows, weights: FloatArray, shape: tuple[int, ...]) -> WeightedRows:
    return WeightedRows(public.codes, weights / weights.sum(), shape)


class TiltedRows(Tilted):
    """A tilted distribution over public rows, at first in proportion to how often they come.

    Attributes:
        public: The rows, of all columns of the domain.
    """

    def __init__(self, public: PublicRows, shape: tuple[int, ...]) -> None:
        start = public.counts / public.num_rows
        super().__init__(start.copy(), np.log(start))
        self.public = public
        self._shape = shape
        self._reach = _reach(public)

    def reachable(self, workload: Workload, move: Move) -> Move:
        """See `Tilted.reachable`."""
        return self._reach.part(workload, move)

    def extend(self, workload: Workload, ids: Sequence[int]) -> None:
        """See `Tilted.extend`."""
        starts, rows = accepted_rows(self.public, workload, np.asarray(ids, dtype=np.int64))
        # A region of two axes: the listed rows, and one step, because the last axis of a region is never listed.
        axes = np.zeros((2 * len(ids), 3), dtype=np.int64)
        axes[0::2, 0], axes[0::2, 2] = np.diff(starts), len(self.regions.listed) + starts[:-1]
        axes[1::2] = (1, 1, 0)
        known = self.regions
        self.regions = Regions(
            np.concatenate([known.bases, np.zeros(len(ids), dtype=np.int64)]),
            np.concatenate([known.starts, known.starts[-1] + 2 * np.arange(1, len(ids) + 1)]),
            np.concatenate([known.axes, axes]),
            np.concatenate([known.listed, rows]),
        )
        self.coefficients = np.concatenate([self.coefficients, np.zeros(len(ids))])

    def distribution(self, weights: FloatArray | None = None) -> WeightedRows:
        """See `Tilted.distribution`."""
        return _weighted(self.public, self.weights if weights is None else weights, self._shape)

    def start_answers(self) -> FloatArray:
        """The public rows' own answers to the model's queries."""
        assert self.log_start is not None
        sums = np.concatenate([[0.0], np.cumsum(np.exp(self.log_start)[self.regions.listed])])
        firsts = self.regions.axes[0::2, 2]
        answers: FloatArray = sums[firsts + self.regions.axes[0::2, 0]] - sums[firsts]
        return answers


class SoftRows(SoftDual):
    """A soft fit over public rows, starting from how often they come, or from other weights.

    Attributes:
        public: The rows, of all columns of the domain.
    """

    def __init__(self, public: PublicRows, shape: tuple[int, ...], start: FloatArray | None = None) -> None:
        super().__init__()
        self.public = public
        self._shape = shape
        self._reach = _reach(public)
        self._log_start = np.log(public.counts / public.num_rows if start is None else start)
        self._accepts = sparse.csr_array((0, public.num_distinct))

    def reachable(self, workload: Workload, move: Move) -> Move:
        """See `SoftDual.reachable`."""
        return self._reach.part(workload, move)

    def extend(self, workload: Workload, ids: Sequence[int]) -> None:
        """See `SoftDual.extend`."""
        starts, rows = accepted_rows(self.public, workload, np.asarray(ids, dtype=np.int64))
        shape = (len(ids), self.public.num_distinct)
        added = sparse.csr_array((np.ones(len(rows)), rows, starts), shape=shape)
        self._accepts = sparse.vstack([self._accepts, added], format="csr")
        self.coefficients = np.concatenate([self.coefficients, np.zeros(len(ids))])

    def distribution(self) -> WeightedRows:
        """See `SoftDual.distribution`."""
        return _weighted(self.public, self._distribution(self.coefficients)[0], self._shape)

    def _distribution(self, coefficients: FloatArray) -> tuple[FloatArray, float]:
        weights = self._log_start + self._accepts.T @ coefficients
        largest = float(weights.max())
        np.exp(weights - largest, out=weights)
        total = float(weights.sum())
        return weights / total, largest + math.log(total)

    def _answers(self, probabilities: FloatArray) -> FloatArray:
        answers: FloatArray = self._accepts @ probabilities
        return answers


def trusted_rows(num_rows: int, answers: FloatArray, targets: FloatArray, stddevs: FloatArray) -> float:
    """How many private records public rows are worth: those of a sample that would answer as well as they do.

    A sample of N records misses an answer q by √(q(1 - q)/N). Public rows are worth N for the N that makes this as
    large as they are off, noise aside, on average over what was measured; and never more than there are. As long as the
    noise could explain how far they are off, they are taken at their word. Post-processing of noisy measurements.

    Answers count by how much they tell of N: large ones and precise ones most. (Those of answer 0 count too: as much
    as an average one.)

    Args:
        num_rows: How many public rows there are.
        answers: Their own answers to the measured queries.
        targets: The noisy answers.
        stddevs: Standard deviations of the noise.
    """
    noise = np.maximum(stddevs**2, NO_NOISE)
    spread = answers * (1 - answers)
    weights = (spread + spread.mean()) / noise**2
    scale = float(weights @ spread)
    excess = float(weights @ ((answers - targets) ** 2 - noise))
    # Squares of Gaussian noise of variance v have variance 2 v².
    doubt = CERTAINTY * math.sqrt(2 * float((weights * noise) @ (weights * noise)))
    if excess <= doubt or excess * num_rows <= scale:
        return float(num_rows)
    return max(1.0, scale / excess)
