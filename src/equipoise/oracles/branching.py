"""Depth-first branch and bound on one part, with the bounds of `bounding`.

At a node: tighten the bound, remove values that cannot lead to anything better (their reduced cost exceeds the gap),
try the record of best scores, and branch: the column with most live weight for the logarithm of its size takes its
best value; when that is explored, the value is removed and the node is bounded again.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from equipoise.oracles.bounding import REMOVED, Node, bound, drop_value, find_tops, first_node, fix_value, tighten
from equipoise.oracles.search import overwrite, value_of

__all__ = ["ROUNDING", "branch"]

ROUNDING = 1e-7
"""Records that differ by less count as equally good."""
FIRST_PASSES, PASSES = 8, 2
"""Times that every conjunction is re-split, at the first node and at the others (ORACLES.md section 7)."""


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def branch(part: Any, record: Any, best: float, step: float, max_nodes: int) -> tuple[float, float, int]:
    """Improve `record`, of value `best`, in place, until none is better or the nodes are used up.

    `step` is the least difference between two different values, when it is known (whole weights: 1), else 0. With
    `best` = -inf any record may be given: it becomes the record of best scores.

    Returns:
        The value, an upper bound, and the nodes visited: more than `max_nodes` when the search is not complete.
    """
    num_columns = len(record)
    node = first_node(part)
    above = _levels(part)
    tops, heights = np.empty(num_columns, dtype=np.int64), np.empty(num_columns)
    room = np.empty(part.literals.shape[1])
    branched = np.empty(num_columns, dtype=np.int64)
    least = max(step - 1e-6, ROUNDING)
    depth, num_nodes, ceiling = np.int64(0), 0, np.inf
    while num_nodes < max_nodes:
        num_nodes += 1
        present = _process(part, node, tops, heights, room, best + least, FIRST_PASSES if num_nodes == 1 else PASSES)
        if num_nodes == 1:
            ceiling = present
        if present >= best + least:
            for a in range(num_columns):
                if not node.assigned[a]:
                    node.record[a] = tops[a]
            value = value_of(part, node.record)
            if value > best:
                best = value
                overwrite(record, node.record)
        if present >= best + least and depth < num_columns:
            branched[depth] = tops[_choose(part, node)]
            _keep(node, above, depth)
            fix_value(part, node, branched[depth])
            depth += 1
            continue
        while depth >= 0:  # up to the nearest node that has a value left after the one just explored
            depth -= 1
            if depth < 0:
                return best, best if step > 0.0 else best + ROUNDING, num_nodes
            _bring_back(node, above, depth)
            drop_value(part, node, branched[depth])
            if _has_value(part, node, part.column[branched[depth]]):
                break
    return best, max(ceiling, best), num_nodes + 1


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _process(part: Any, node: Any, tops: Any, heights: Any, room: Any, needed: float, num_passes: int) -> float:
    """Tighten the bound and remove values that do not reach what is needed; returns the bound."""
    find_tops(part, node, tops, heights)
    present = bound(node, heights)
    for _ in range(num_passes):
        if present < needed:
            break
        tighten(part, node, tops, heights, room)
        present = bound(node, heights)
        if present >= needed and _remove_hopeless(part, node, heights, present, needed):
            find_tops(part, node, tops, heights)
            present = bound(node, heights)
    return float(present)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _remove_hopeless(part: Any, node: Any, heights: Any, present: float, needed: float) -> bool:
    removed = False
    for a in range(len(heights)):
        if node.assigned[a]:
            continue
        height = heights[a]
        if removed:  # removals in other columns may have moved this column's scores, never the bound upwards
            height = REMOVED
            for v in range(part.starts[a], part.starts[a + 1]):
                height = max(height, node.upper[v])
        for v in range(part.starts[a], part.starts[a + 1]):
            if node.upper[v] > REMOVED and present - (height - node.upper[v]) < needed:
                drop_value(part, node, v)
                removed = True
    return removed


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _choose(part: Any, node: Any) -> int:
    """The column to branch on: a forced one, or the one with most live weight for the logarithm of its size."""
    best, highest = -1, -1.0
    for a in range(len(node.assigned)):
        if node.assigned[a]:
            continue
        weight, num_values = 1e-3, 0
        for v in range(part.starts[a], part.starts[a + 1]):
            if node.upper[v] > REMOVED:
                num_values += 1
                for j in range(part.uses[v], part.uses[v + 1]):
                    c = part.users[j]
                    if node.live[c]:
                        weight += abs(part.weights[c]) / node.open[c]
        score = np.inf if num_values == 1 else weight / np.log(1.0 + num_values)
        if score > highest:
            best, highest = a, score
    return best


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _has_value(part: Any, node: Any, a: int) -> bool:
    left = False
    for v in range(part.starts[a], part.starts[a + 1]):
        left = left or node.upper[v] > REMOVED
    return left


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _levels(part: Any) -> Any:
    """Room for one node a level, flat. Memory that is never touched costs nothing."""
    num_columns = len(part.starts) - 1
    return Node(
        np.empty((num_columns, part.literals.size)),
        np.empty((num_columns, len(part.column))),
        np.empty((num_columns, len(part.widths)), dtype=np.bool_),
        np.empty((num_columns, len(part.widths)), dtype=np.int64),
        np.empty((num_columns, num_columns), dtype=np.bool_),
        np.empty((num_columns, num_columns), dtype=np.int64),
        np.empty((num_columns, 1)),
    )


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _keep(node: Any, levels: Any, depth: int) -> None:
    """Keep the node at a level. The shares of a dead conjunction are never read again."""
    width = node.split.shape[1]
    for c in range(len(node.live)):
        levels.live[depth, c], levels.open[depth, c] = node.live[c], node.open[c]
        for p in range(width if node.live[c] else 0):
            levels.split[depth, c * width + p] = node.split[c, p]
    for v in range(len(node.upper)):
        levels.upper[depth, v] = node.upper[v]
    for a in range(len(node.assigned)):
        levels.assigned[depth, a], levels.record[depth, a] = node.assigned[a], node.record[a]
    levels.offset[depth, 0] = node.offset[0]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _bring_back(node: Any, levels: Any, depth: int) -> None:
    width = node.split.shape[1]
    for c in range(len(node.live)):
        node.live[c], node.open[c] = levels.live[depth, c], levels.open[depth, c]
        for p in range(width if node.live[c] else 0):
            node.split[c, p] = levels.split[depth, c * width + p]
    for v in range(len(node.upper)):
        node.upper[v] = levels.upper[depth, v]
    for a in range(len(node.assigned)):
        node.assigned[a], node.record[a] = levels.assigned[depth, a], levels.record[depth, a]
    node.offset[0] = levels.offset[depth, 0]
