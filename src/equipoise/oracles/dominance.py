"""Presolve: values that another value of the same column beats whatever the other columns do.

Value v of a column is dropped when tilt(v) + P(v) <= tilt(u) + N(u) for another of its values u, where P and N sum the
positive and the negative weights of the live conjunctions that name the value. A conjunction of a dropped value can no
longer hold; a column with one value left is fixed, and its conjunctions get shorter. Both may let other values be
dropped, so columns are looked at again until nothing changes. Sparse binary problems are solved outright by this.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = ["dominate"]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def dominate(part: Any, tilts: Any, kept: Any, live: Any, fixed: Any) -> float:
    """Drop what is dominated, to a fixed point; returns the value of what is decided.

    All but `part` are changed: `tilts` takes up conjunctions of which one literal is left open, `kept` marks values,
    `live` conjunctions, `fixed` is the value of a decided column (-1 for an open one).
    """
    num_columns = len(fixed)
    gains, losses = np.zeros(len(tilts)), np.zeros(len(tilts))
    remaining = part.widths.copy()
    for c in range(len(live)):
        for p in range(part.widths[c]):
            if live[c]:
                _count(part, c, p, 1.0, gains, losses)
    waiting = np.empty(num_columns, dtype=np.int64)
    for a in range(num_columns):
        waiting[a] = num_columns - 1 - a
    in_line = np.ones(num_columns, dtype=np.bool_)
    num_waiting = num_columns
    decided = 0.0
    while num_waiting > 0:
        num_waiting -= 1
        a = waiting[num_waiting]
        in_line[a] = False
        if fixed[a] >= 0:
            continue
        best = -1
        for v in range(part.starts[a], part.starts[a + 1]):
            if kept[v] and (best < 0 or tilts[v] + losses[v] > tilts[best] + losses[best]):
                best = v
        floor = tilts[best] + losses[best]
        num_left = 0
        for v in range(part.starts[a], part.starts[a + 1]):
            if not kept[v]:
                continue
            if v == best or tilts[v] + gains[v] > floor:
                num_left += 1
                continue
            kept[v] = False
            for j in range(part.uses[v], part.uses[v + 1]):
                num_waiting = _forget(part, part.users[j], live, gains, losses, fixed, waiting, in_line, num_waiting)
        if num_left > 1:
            continue
        fixed[a] = best
        decided += tilts[best]
        for j in range(part.uses[best], part.uses[best + 1]):
            c = part.users[j]
            if not live[c]:
                continue
            remaining[c] -= 1
            if remaining[c] == 0:
                live[c] = False
                decided += part.weights[c]
            elif remaining[c] == 1:
                for p in range(part.widths[c]):
                    v = part.literals[c, p]
                    if fixed[part.column[v]] < 0:
                        tilts[v] += part.weights[c]
                num_waiting = _forget(part, c, live, gains, losses, fixed, waiting, in_line, num_waiting)
    return decided


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _count(part: Any, c: int, p: int, sign: float, gains: Any, losses: Any) -> None:
    if part.weights[c] > 0.0:
        gains[part.literals[c, p]] += sign * part.weights[c]
    else:
        losses[part.literals[c, p]] += sign * part.weights[c]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _forget(
    part: Any, c: int, live: Any, gains: Any, losses: Any, fixed: Any, waiting: Any, in_line: Any, num_waiting: int
) -> int:
    """Take a conjunction out, and queue its open columns to be looked at again."""
    if not live[c]:
        return num_waiting
    live[c] = False
    for p in range(part.widths[c]):
        _count(part, c, p, -1.0, gains, losses)
        a = part.column[part.literals[c, p]]
        if fixed[a] < 0 and not in_line[a]:
            in_line[a] = True
            waiting[num_waiting] = a
            num_waiting += 1
    return num_waiting
