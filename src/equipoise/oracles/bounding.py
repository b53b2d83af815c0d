"""Upper bounds by splitting every conjunction's weight over its columns.

A conjunction of positive weight w is worth at most Σ_l λ_l [literal l holds] for any λ >= 0 that sums to w. One of
negative weight costs at least μ (Σ_l [literal l holds] - (r - 1)) for r literals and any 0 <= μ <= |w|. Then every
column has its own scores, `upper`, and

    offset + Σ_columns max over its values of upper

bounds the objective. `tighten` re-splits one conjunction at a time: a positive one first fills the room below the
columns' maxima, a negative one lowers maxima as far as the second best values. The bound never grows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["REMOVED", "Node", "bound", "drop_value", "find_tops", "first_node", "fix_value", "tighten"]

REMOVED = -1e300
"""The score of a value that is no longer allowed."""


class Node(NamedTuple):
    """A subproblem: some columns assigned, some values removed. All arrays, changed in place.

    Attributes:
        split: Shape (num_conjunctions, width): λ of each literal; μ in the first place when the weight is negative.
        upper: Score of each value; `REMOVED` for a value not allowed.
        live: Whether each conjunction can still hold.
        open: Literals of each conjunction whose columns are not assigned.
        assigned: Whether each column is assigned.
        record: Values of the assigned columns.
        offset: One number: what is decided, plus Σ (r - 1) μ.
    """

    split: NDArray[Any]
    upper: NDArray[Any]
    live: NDArray[Any]
    open: NDArray[Any]
    assigned: NDArray[Any]
    record: NDArray[Any]
    offset: NDArray[Any]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def find_tops(part: Any, node: Any, tops: Any, heights: Any) -> None:
    """The best value of each open column, and its score."""
    for a in range(len(tops)):
        if not node.assigned[a]:
            _find_top(part, node, a, tops, heights)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _find_top(part: Any, node: Any, a: int, tops: Any, heights: Any) -> None:
    best = part.starts[a]
    for v in range(part.starts[a] + 1, part.starts[a + 1]):
        if node.upper[v] > node.upper[best]:
            best = v
    tops[a] = best
    heights[a] = node.upper[best]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def bound(node: Any, heights: Any) -> float:
    """The upper bound of a node."""
    total = node.offset[0]
    for a in range(len(heights)):
        if not node.assigned[a]:
            total += heights[a]
    return float(total)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def tighten(part: Any, node: Any, tops: Any, heights: Any, room: Any) -> None:
    """Re-split every live conjunction once. `room` is scratch space, one entry a literal."""
    for c in range(len(part.widths)):
        if node.live[c] and node.open[c] > 1:
            if part.weights[c] > 0.0:
                _share(part, node, c, tops, heights, room)
            else:
                _charge(part, node, c, tops, heights)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _share(part: Any, node: Any, c: int, tops: Any, heights: Any, room: Any) -> None:
    """A positive weight: proportional to the room below each column's maximum, the excess in equal parts."""
    weight, total = part.weights[c], 0.0
    for p in range(part.widths[c]):
        v = part.literals[c, p]
        a = part.column[v]
        if node.assigned[a]:
            continue
        if node.split[c, p] != 0.0:
            node.upper[v] -= node.split[c, p]
            if tops[a] == v:
                _find_top(part, node, a, tops, heights)
        room[p] = heights[a] - node.upper[v]
        total += room[p]
    for p in range(part.widths[c]):
        v = part.literals[c, p]
        a = part.column[v]
        if node.assigned[a]:
            continue
        share = weight * room[p] / total if total >= weight else room[p] + (weight - total) / node.open[c]
        node.split[c, p] = share
        node.upper[v] += share
        if node.upper[v] > heights[a]:
            tops[a], heights[a] = v, node.upper[v]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _charge(part: Any, node: Any, c: int, tops: Any, heights: Any) -> None:
    """A negative weight: lower the maxima of all its columns, where its values are the maxima."""
    old, room = node.split[c, 0], -part.weights[c]
    for p in range(part.widths[c]):
        v = part.literals[c, p]
        a = part.column[v]
        if node.assigned[a]:
            continue
        if old != 0.0:
            node.upper[v] += old
            if node.upper[v] > heights[a] or tops[a] == v:
                tops[a], heights[a] = v, node.upper[v]
        if room <= 0.0:
            continue
        second = REMOVED
        if tops[a] == v:
            for u in range(part.starts[a], part.starts[a + 1]):
                if u != v and node.upper[u] > second:
                    second = node.upper[u]
            room = min(room, heights[a] - second)
        else:
            room = 0.0
    node.split[c, 0] = room
    node.offset[0] += (node.open[c] - 1) * (room - old)
    if room > 0.0:
        for p in range(part.widths[c]):
            v = part.literals[c, p]
            if not node.assigned[part.column[v]]:
                node.upper[v] -= room
                heights[part.column[v]] = node.upper[v]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def drop_value(part: Any, node: Any, v: int) -> None:
    """Forbid a value of an open column: its conjunctions can no longer hold."""
    node.upper[v] = REMOVED
    _retire_all(part, node, v)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def fix_value(part: Any, node: Any, v: int) -> None:
    """Assign an open column: conjunctions of its other values die, those of this value have one literal fewer."""
    a = part.column[v]
    for u in range(part.starts[a], part.starts[a + 1]):
        if u != v:
            _retire_all(part, node, u)
    node.assigned[a] = True
    node.record[a] = v
    for j in range(part.uses[v], part.uses[v + 1]):
        c = part.users[j]
        if not node.live[c]:
            continue
        node.open[c] -= 1
        if node.open[c] > 0:
            _pass_on(part, node, c, v)
    node.offset[0] += node.upper[v]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _pass_on(part: Any, node: Any, c: int, v: int) -> None:
    """Move the assigned literal's share to an open one; charge a negative conjunction in full at its last literal."""
    share, extra = 0.0, 0.0
    if part.weights[c] > 0.0:
        for p in range(part.widths[c]):
            if part.literals[c, p] == v:
                share = node.split[c, p]
                node.split[c, p] = 0.0
    elif node.open[c] == 1:
        extra = -part.weights[c] - node.split[c, 0]
        node.split[c, 0] = -part.weights[c]
    node.upper[v] -= share
    for p in range(part.widths[c]):
        u = part.literals[c, p]
        if not node.assigned[part.column[u]]:
            if part.weights[c] > 0.0:
                node.split[c, p] += share
            node.upper[u] += share - extra
            return


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _retire_all(part: Any, node: Any, v: int) -> None:
    """The conjunctions of a value cannot hold any more: the other columns get back what they were given."""
    for j in range(part.uses[v], part.uses[v + 1]):
        c = part.users[j]
        if not node.live[c]:
            continue
        node.live[c] = False
        positive = part.weights[c] > 0.0
        charge = 0.0 if positive else node.split[c, 0]
        node.offset[0] -= (node.open[c] - 1) * charge
        for p in range(part.widths[c]):
            u = part.literals[c, p]
            a = part.column[u]
            if a != part.column[v] and not node.assigned[a]:
                node.upper[u] += -node.split[c, p] if positive else charge


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def first_node(part: Any) -> Any:
    """The whole problem, positive weights split equally."""
    num_conjunctions, width = part.literals.shape
    num_columns = len(part.starts) - 1
    split, upper = np.zeros((num_conjunctions, width)), part.tilts.copy()
    for c in range(num_conjunctions):
        if part.weights[c] > 0.0:
            for p in range(part.widths[c]):
                split[c, p] = part.weights[c] / part.widths[c]
                upper[part.literals[c, p]] += split[c, p]
    live, assigned = np.ones(num_conjunctions, dtype=np.bool_), np.zeros(num_columns, dtype=np.bool_)
    return Node(split, upper, live, part.widths.copy(), assigned, np.zeros(num_columns, dtype=np.int64), np.zeros(1))
