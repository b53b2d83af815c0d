"""From a distribution to rows whose answers are as close to the distribution's as whole rows can be.

Rows drawn from a distribution, even systematically, answer a workload with a sampling error of their own; on easy
tables it is larger than the privacy noise. So after drawing, rows are repaired: one value of one row at a time is
changed to whatever value most lowers the sum, over all cells of all marginals of the workload, of the squared
difference between the rows' count and the distribution's. No value is changed to one that breaks a rule of the schema.
Post-processing: it sees the distribution and the workload.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from equipoise.core import Codes, Distribution, FloatArray, IntArray, Progress, code_type, silent
from equipoise.data.rules import Rules
from equipoise.queries import counting
from equipoise.queries.workload import Workload

__all__ = ["round_rows"]

MAX_SWEEPS = 6
"""Passes over all values of all rows; the first brings most of the gain, the fourth next to nothing."""
MIN_GAIN = 0.05
"""Stop when a pass lowers the sum of squares by less than this fraction."""
MAX_CELLS = 2**26
"""Cells of all marginals together that are repaired (512 MiB); further marginals keep the sample's own error."""
MAX_VALUES = 64
"""Values of one column that are tried for a row; of larger columns, a random run of so many."""

MAX_LOOKS = 4 * 10**10
"""Cells looked at in all passes together: about a minute of work. When there are more, a pass visits only some rows."""


class Targets(NamedTuple):
    """What the rows' counts should be, marginal after marginal.

    Attributes:
        excess: Count of the rows minus the distribution's expected count, for all cells.
        starts: Where each marginal begins in `excess`.
        strides: Shape (num_marginals, num_columns): what one more in a column's code adds to the position of the
            cell within the marginal; 0 for columns that are not in it.
        columns: Shape (num_marginals, widest): the marginal's columns, filled up with -1.
        members: Marginals that contain each column, one column after the other.
        member_starts: Where each column's marginals begin in `members`, and last their number.
    """

    excess: FloatArray
    starts: IntArray
    strides: IntArray
    columns: IntArray
    members: IntArray
    member_starts: IntArray


class Boxes(NamedTuple):
    """What rows must stay out of (`data.rules`), in the form that the compiled loop takes.

    Attributes:
        masks: Shape (num_boxes, number of values of all columns): the values inside each box.
        firsts: Where each column's values begin in `masks`.
        restricts: Shape (num_boxes, num_columns): which columns each box restricts.
    """

    masks: NDArray[np.bool_]
    firsts: IntArray
    restricts: NDArray[np.bool_]

    @classmethod
    def of(cls, rules: Rules | None, sizes: IntArray) -> Boxes:
        boxes = () if rules is None else rules.boxes
        firsts = np.cumsum(sizes) - sizes
        masks = np.ones((len(boxes), int(sizes.sum())), dtype=np.bool_)
        restricts = np.zeros((len(boxes), len(sizes)), dtype=np.bool_)
        for number, box in enumerate(boxes):
            for column, mask in box.items():
                masks[number, firsts[column] : firsts[column] + sizes[column]] = mask
                restricts[number, column] = True
        return cls(masks, firsts, restricts)


def round_rows(
    rng: np.random.Generator,
    distribution: Distribution,
    workload: Workload,
    num_rows: int,
    *,
    codes: Codes | None = None,
    rules: Rules | None = None,
    progress: Progress = silent,
) -> Codes:
    """Rows whose answers to the workload are close to the distribution's.

    Args:
        rng: Public randomness; the same state gives the same rows.
        distribution: What the rows should be like.
        workload: Whose marginals count. Queries with masks count through all cells of their marginal.
        num_rows: How many rows.
        codes: Rows to start from, of shape (num_columns, num_rows); default: drawn from the distribution.
        rules: What no row may break. The rows to start from must obey them: so does what the distribution draws, when
            it is one that was conditioned on them.
        progress: Told of passes over the rows.

    Returns:
        The rows, encoded, in random order.
    """
    drawn = distribution.sample(rng, num_rows) if codes is None else codes
    sizes = np.array(workload.domain.sizes, dtype=np.int64)
    rows = np.ascontiguousarray(drawn.T, dtype=code_type(int(sizes.max())))
    if codes is not None:
        rows = rows.copy()
    targets = _targets(rows, distribution, workload)
    boxes = Boxes.of(rules, sizes)
    before = float(np.square(targets.excess).sum())
    num_visited = min(num_rows, _visits(targets, sizes) // MAX_SWEEPS)
    for sweep in range(MAX_SWEEPS if num_rows else 0):
        for column in rng.permutation(len(sizes)):
            order = rng.permutation(num_rows)[:num_visited]
            firsts = rng.integers(0, sizes[column], size=num_visited)
            _repair(rows, int(column), int(sizes[column]), order, firsts, *targets, *boxes)
        progress(sweep + 1, MAX_SWEEPS)
        after = float(np.square(targets.excess).sum())
        if after > (1 - MIN_GAIN) * before:
            break
        before = after
    progress(MAX_SWEEPS, MAX_SWEEPS)
    return np.ascontiguousarray(rows.T)


def _visits(targets: Targets, sizes: IntArray) -> int:
    """How often a row may be visited, in every column, within MAX_LOOKS."""
    looks = int((np.diff(targets.member_starts) * np.minimum(sizes, MAX_VALUES)).sum())
    return MAX_LOOKS // max(looks, 1)


def _targets(rows: NDArray[Any], distribution: Distribution, workload: Workload) -> Targets:
    sizes = workload.domain.sizes
    column_sets, num_cells = [], 0
    for columns in sorted(workload.column_sets, key=lambda columns: math.prod(sizes[c] for c in columns)):
        num_cells += math.prod(sizes[c] for c in columns)
        if num_cells <= MAX_CELLS:
            column_sets.append(columns)
    strides = np.zeros((len(column_sets), len(sizes)), dtype=np.int64)
    listed = np.full((len(column_sets), max(map(len, column_sets), default=0)), -1, dtype=np.int64)
    counts = dict(counting.count(np.ascontiguousarray(rows.T), tuple(column_sets), sizes))
    parts: list[FloatArray] = []
    for marginal, columns in enumerate(column_sets):
        listed[marginal, : len(columns)] = columns
        stride = 1
        for column in reversed(columns):
            strides[marginal, column] = stride
            stride *= sizes[column]
        expected = len(rows) * distribution.marginal(columns).reshape(-1)
        parts.append(counts.pop(columns).reshape(-1) - expected)
    members = [np.flatnonzero(strides[:, column]) for column in range(len(sizes))]
    return Targets(
        np.concatenate(parts) if parts else np.zeros(0),
        np.cumsum([0] + [len(part) for part in parts[:-1]], dtype=np.int64),
        strides,
        listed,
        np.concatenate(members).astype(np.int64),
        np.cumsum([0] + [len(one) for one in members], dtype=np.int64),
    )


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _repair(
    rows: NDArray[Any],
    column: int,
    size: int,
    order: IntArray,
    firsts: IntArray,
    excess: FloatArray,
    starts: IntArray,
    strides: IntArray,
    columns: IntArray,
    members: IntArray,
    member_starts: IntArray,
    box_masks: NDArray[np.bool_],
    box_firsts: IntArray,
    box_restricts: NDArray[np.bool_],
) -> None:
    """Give every row, in turn, its best value of one column."""
    marginals = members[member_starts[column] : member_starts[column + 1]]
    zeros = np.empty(len(marginals), dtype=np.int64)  # position of the row's cell if the column's code were 0
    tried = min(size, MAX_VALUES)
    costs = np.empty(tried)
    for r in range(len(order)):
        row = rows[order[r]]
        old = int(row[column])
        first = firsts[r] if tried < size else 0
        costs[:] = 0.0
        own = 0.0
        for m in range(len(marginals)):
            marginal = marginals[m]
            position = starts[marginal]
            for c in columns[marginal]:
                if c >= 0:
                    position += np.int64(row[c]) * strides[marginal, c]
            own += excess[position]
            stride = strides[marginal, column]
            zeros[m] = position - old * stride
            if tried < size:
                for k in range(tried):
                    costs[k] += excess[zeros[m] + ((first + k) % size) * stride]
            else:
                for k in range(size):
                    costs[k] += excess[zeros[m] + k * stride]
        _exclude(costs, row, column, size, first, box_masks, box_firsts, box_restricts)
        # Moving from a cell with excess a to one with excess b changes the sum of squares by 2 (1 + b - a).
        best = old
        gain = 1e-9
        for k in range(tried):
            value = (first + k) % size
            if value != old and own - costs[k] - len(marginals) > gain:
                best, gain = value, own - costs[k] - len(marginals)
        if best != old:
            for m in range(len(marginals)):
                stride = strides[marginals[m], column]
                excess[zeros[m] + old * stride] -= 1.0
                excess[zeros[m] + best * stride] += 1.0
            row[column] = best


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _exclude(
    costs: FloatArray,
    row: NDArray[Any],
    column: int,
    size: int,
    first: int,
    masks: NDArray[np.bool_],
    firsts: IntArray,
    restricts: NDArray[np.bool_],
) -> None:
    """Make the values of a column infinitely costly that would bring a row into a box."""
    for box in range(len(masks)):
        if not restricts[box, column]:
            continue
        near = True
        for c in range(len(row)):
            if c != column and not masks[box, firsts[c] + row[c]]:
                near = False
                break
        if near:
            for k in range(len(costs)):
                if masks[box, firsts[column] + (first + k) % size]:
                    costs[k] = np.inf
