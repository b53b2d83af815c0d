"""A problem as the compiled kernels see it, and how it falls apart into independent parts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["Part", "components", "part_of", "take"]


class Part(NamedTuple):
    """Columns, conjunctions and tilts: maximise Σ weights·[conjunction holds] + Σ tilts of the chosen values.

    Attributes:
        starts: Where the values of each column begin; one more for the end.
        column: The column of each value.
        literals: Shape (num_conjunctions, width): values; only the first `widths[c]` of row c count.
        widths: Literals of each conjunction, at least two.
        weights: Of each conjunction, not zero.
        tilts: Of each value.
        uses: For each value where its conjunctions begin in `users`; one more for the end.
        users: Conjunctions of each value.
    """

    starts: NDArray[Any]
    column: NDArray[Any]
    literals: NDArray[Any]
    widths: NDArray[Any]
    weights: NDArray[Any]
    tilts: NDArray[Any]
    uses: NDArray[Any]
    users: NDArray[Any]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def part_of(starts: Any, literals: Any, widths: Any, weights: Any, tilts: Any) -> Any:
    """A part from its columns, conjunctions and tilts."""
    num_values = starts[-1]
    column = np.empty(num_values, dtype=np.int64)
    for a in range(len(starts) - 1):
        for v in range(starts[a], starts[a + 1]):
            column[v] = a
    uses = np.zeros(num_values + 1, dtype=np.int64)
    for c in range(len(widths)):
        for p in range(widths[c]):
            uses[literals[c, p] + 1] += 1
    for v in range(num_values):
        uses[v + 1] += uses[v]
    users = np.empty(uses[num_values], dtype=np.int64)
    at = uses.copy()
    for c in range(len(widths)):
        for p in range(widths[c]):
            v = literals[c, p]
            users[at[v]] = c
            at[v] += 1
    return Part(starts, column, literals, widths, weights, tilts, uses, users)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def components(part: Any, live: Any, fixed: Any) -> tuple[Any, Any, Any, Any]:
    """The open columns, and the live conjunctions, of each independent part.

    Returns:
        Columns sorted by part, where each part's columns begin, conjunctions sorted by part, where they begin.
    """
    root = _linked(part, live, fixed)
    number = np.full(len(fixed), -1, dtype=np.int64)
    num_parts = 0
    for a in range(len(fixed)):
        if fixed[a] < 0 and root[a] == a:
            number[a] = num_parts
            num_parts += 1
    of_column = np.full(len(fixed), -1, dtype=np.int64)
    for a in range(len(fixed)):
        if fixed[a] < 0:
            of_column[a] = number[root[a]]
    of_conjunction = np.full(len(live), -1, dtype=np.int64)
    for c in range(len(live)):
        for p in range(part.widths[c]):
            a = part.column[part.literals[c, p]]
            if live[c] and fixed[a] < 0:
                of_conjunction[c] = of_column[a]
                break
    columns, column_ends = _sorted(of_column, num_parts)
    conjunctions, conjunction_ends = _sorted(of_conjunction, num_parts)
    return columns, column_ends, conjunctions, conjunction_ends


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _linked(part: Any, live: Any, fixed: Any) -> Any:
    """Union-find: the root of each column, the same for open columns that live conjunctions link."""
    parent = np.arange(len(fixed))
    for c in range(len(live)):
        if not live[c]:
            continue
        root = -1
        for p in range(part.widths[c]):
            a = part.column[part.literals[c, p]]
            if fixed[a] >= 0:
                continue
            while parent[a] != a:
                parent[a] = parent[parent[a]]
                a = parent[a]
            if root < 0:
                root = a
            else:
                parent[a] = root
    for a in range(len(fixed)):
        b = a
        while parent[b] != b:
            b = parent[b]
        parent[a] = b
    return parent


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _sorted(labels: Any, num_labels: int) -> tuple[Any, Any]:
    """Counting sort: the items of label 0, then those of 1, ...; where each begins. A label of -1 is left out."""
    ends = np.zeros(num_labels + 1, dtype=np.int64)
    for label in labels:
        if label >= 0:
            ends[label + 1] += 1
    for i in range(num_labels):
        ends[i + 1] += ends[i]
    items = np.empty(ends[num_labels], dtype=np.int64)
    at = ends.copy()
    for i in range(len(labels)):
        if labels[i] >= 0:
            items[at[labels[i]]] = i
            at[labels[i]] += 1
    return items, ends


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def take(part: Any, tilts: Any, columns: Any, conjunctions: Any, kept: Any, place: Any) -> Any:
    """The part of some columns with their kept values and some conjunctions; and the values it keeps.

    `place` is scratch space, one entry a value: -1 wherever this part's values are not.
    """
    num_kept = 0
    starts = np.zeros(len(columns) + 1, dtype=np.int64)
    for i in range(len(columns)):
        for v in range(part.starts[columns[i]], part.starts[columns[i] + 1]):
            if kept[v]:
                place[v] = num_kept
                num_kept += 1
        starts[i + 1] = num_kept
    values = np.empty(num_kept, dtype=np.int64)
    for i in range(len(columns)):
        for v in range(part.starts[columns[i]], part.starts[columns[i] + 1]):
            if kept[v]:
                values[place[v]] = v
    literals = np.full((len(conjunctions), part.literals.shape[1]), -1, dtype=np.int64)
    widths = np.zeros(len(conjunctions), dtype=np.int64)
    for i in range(len(conjunctions)):
        c = conjunctions[i]
        for p in range(part.widths[c]):
            v = place[part.literals[c, p]]
            if v >= 0:  # the others are of columns already fixed, at this very value
                literals[i, widths[i]] = v
                widths[i] += 1
    weights, own_tilts = np.empty(len(conjunctions)), np.empty(num_kept)
    for i in range(len(conjunctions)):
        weights[i] = part.weights[conjunctions[i]]
    for i in range(num_kept):
        own_tilts[i] = tilts[values[i]]
        place[values[i]] = -1
    return part_of(starts, literals, widths, weights, own_tilts), values
