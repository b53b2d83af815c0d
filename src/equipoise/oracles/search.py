"""Local search over the records of a part: coordinate ascent, kicks that satisfy a whole conjunction, annealing.

`gains[v]` is what value v would add to the rest of the present record: a column's best move is the largest gain among
its values, and a move changes the gains of conjunctions that are met, or all but met, and no others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["anneal", "overwrite", "value_of"]

HOT, COLD = 1.0, 0.1
"""Temperatures at the first and last kick, in mean weights (the schedule that ORACLES.md measured)."""
SMALLEST_GAIN = 1e-9
"""A smaller step is rounding, and could go round in circles."""
ONE_IN = 8
"""One kick in eight moves a random column instead of satisfying a conjunction."""


class Walk(NamedTuple):
    """Where the search is. All arrays, changed in place; `counts` holds the lengths of the two lists."""

    record: NDArray[Any]
    met: NDArray[Any]
    gains: NDArray[Any]
    dirty: NDArray[Any]
    is_dirty: NDArray[Any]
    unmet: NDArray[Any]
    place: NDArray[Any]
    counts: NDArray[Any]
    random: NDArray[Any]


DIRTY, UNMET = 0, 1


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def value_of(part: Any, record: Any) -> float:
    """The objective at a record, given as one value a column."""
    total = 0.0
    for a in range(len(record)):
        total += part.tilts[record[a]]
    for c in range(len(part.widths)):
        holds = True
        for p in range(part.widths[c]):
            v = part.literals[c, p]
            if record[part.column[v]] != v:
                holds = False
                break
        if holds:
            total += part.weights[c]
    return total


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def anneal(part: Any, record: Any, num_kicks: int, seed: int) -> float:
    """Improve `record` in place; returns its value. No kicks: plain coordinate ascent."""
    walk = _start(part, record, seed)
    changed = np.empty(64 * len(record) + 64, dtype=np.int64)
    before = np.empty_like(changed)
    present = value_of(part, record)
    best, best_record = -np.inf, record.copy()
    unit = 0.0
    for weight in part.weights:
        unit += abs(weight) / len(part.weights)
    for kick in range(num_kicks + 1):
        num_changed, previous = 0, present
        if kick > 0:
            num_changed, present = _kick(part, walk, changed, before, present)
            if num_changed == 0:
                continue
        num_changed, present = _climb(part, walk, changed, before, num_changed, present)
        if present > best + SMALLEST_GAIN:
            best = present
            overwrite(best_record, walk.record)
        if kick > 0 and present < previous and num_changed < len(changed):
            temperature = unit * HOT * (COLD / HOT) ** (kick / num_kicks)
            if _uniform(walk.random) >= np.exp((present - previous) / temperature):
                for j in range(num_changed - 1, -1, -1):
                    _move(part, walk, changed[j], before[j])
                for j in range(walk.counts[DIRTY]):
                    walk.is_dirty[walk.dirty[j]] = False
                walk.counts[DIRTY] = 0
                present = previous
    overwrite(record, best_record)
    return best


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def overwrite(old: Any, new: Any) -> None:
    """`old[:] = new`, which compiles in a tenth of the time: there is no shape to complain about."""
    for i in range(len(old)):
        old[i] = new[i]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _start(part: Any, record: Any, seed: int) -> Any:
    num_columns, num_conjunctions = len(record), len(part.widths)
    met = np.zeros(num_conjunctions, dtype=np.int64)
    gains = part.tilts.copy()
    unmet, place = np.empty(num_conjunctions, dtype=np.int64), np.full(num_conjunctions, -1, dtype=np.int64)
    counts = np.zeros(2, dtype=np.int64)
    random = np.empty(1, dtype=np.uint64)
    random[0] = np.uint64(seed) * np.uint64(2654435761) + np.uint64(88172645463325252)
    walk = Walk(
        record.copy(), met, gains, np.arange(num_columns), np.ones(num_columns, np.bool_), unmet, place, counts, random
    )
    for _ in range(5):  # neighbouring seeds have drifted apart after a few steps
        _next(random)
    for c in range(num_conjunctions):
        for p in range(part.widths[c]):
            v = part.literals[c, p]
            met[c] += walk.record[part.column[v]] == v
        _change_gains(part, walk, c, np.int64(-1), 1.0)
        if met[c] < part.widths[c]:
            _list_unmet(part, walk, c)
    counts[DIRTY] = num_columns
    return walk


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _kick(part: Any, walk: Any, changed: Any, before: Any, present: float) -> tuple[int, float]:
    """Satisfy one unmet conjunction of positive weight, or sometimes move one column anywhere."""
    num_changed = 0
    draw = _next(walk.random)
    if walk.counts[UNMET] > 0 and draw % np.uint64(ONE_IN) != 0:
        c = walk.unmet[_below(walk.random, walk.counts[UNMET])]
        for p in range(part.widths[c]):
            v = part.literals[c, p]
            a = part.column[v]
            if walk.record[a] != v:
                present += walk.gains[v] - walk.gains[walk.record[a]]
                changed[num_changed], before[num_changed] = a, walk.record[a]
                num_changed += 1
                _move(part, walk, a, v)
        return num_changed, present
    a = _below(walk.random, len(walk.record))
    v = part.starts[a] + _below(walk.random, part.starts[a + 1] - part.starts[a])
    if v != walk.record[a]:
        present += walk.gains[v] - walk.gains[walk.record[a]]
        changed[0], before[0] = a, walk.record[a]
        num_changed = 1
        _move(part, walk, a, v)
    return num_changed, present


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _climb(part: Any, walk: Any, changed: Any, before: Any, num_changed: int, present: float) -> tuple[int, float]:
    """Move columns to their best value, in random order, until no column gains."""
    while walk.counts[DIRTY] > 0:
        i = _below(walk.random, walk.counts[DIRTY])
        a = walk.dirty[i]
        walk.counts[DIRTY] -= 1
        walk.dirty[i] = walk.dirty[walk.counts[DIRTY]]
        walk.is_dirty[a] = False
        old = walk.record[a]
        best, most = old, walk.gains[old] + SMALLEST_GAIN
        for v in range(part.starts[a], part.starts[a + 1]):
            if walk.gains[v] > most:
                best, most = v, walk.gains[v]
        if best != old:
            present += walk.gains[best] - walk.gains[old]
            if num_changed < len(changed):
                changed[num_changed], before[num_changed] = a, old
                num_changed += 1
            _move(part, walk, a, best)
    return num_changed, present


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _move(part: Any, walk: Any, a: int, new: int) -> None:
    """Set a column to a value, and bring gains, dirty columns and unmet conjunctions up to date."""
    old = walk.record[a]
    for j in range(part.uses[old], part.uses[old + 1]):
        c = part.users[j]
        _change_gains(part, walk, c, old, -1.0)
        if walk.met[c] == part.widths[c]:
            _list_unmet(part, walk, c)
        walk.met[c] -= 1
    walk.record[a] = new
    for j in range(part.uses[new], part.uses[new + 1]):
        c = part.users[j]
        walk.met[c] += 1
        _change_gains(part, walk, c, new, 1.0)
        if walk.met[c] == part.widths[c] and walk.place[c] >= 0:
            last = walk.counts[UNMET] - 1
            walk.unmet[walk.place[c]] = walk.unmet[last]
            walk.place[walk.unmet[last]] = walk.place[c]
            walk.place[c] = -1
            walk.counts[UNMET] = last


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _change_gains(part: Any, walk: Any, c: int, moved: int, sign: float) -> None:
    """Add a met conjunction's weight to the gains of its values, or an almost met one's to the value that lacks.

    The gains of the column that moves do not depend on its own value: `moved` is left alone.
    """
    lacking = part.widths[c] - walk.met[c]
    if lacking > 1:
        return
    for p in range(part.widths[c]):
        v = part.literals[c, p]
        a = part.column[v]
        if v != moved and (lacking == 0 or walk.record[a] != v):
            walk.gains[v] += sign * part.weights[c]
            if not walk.is_dirty[a]:
                walk.is_dirty[a] = True
                walk.dirty[walk.counts[DIRTY]] = a
                walk.counts[DIRTY] += 1


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _list_unmet(part: Any, walk: Any, c: int) -> None:
    if part.weights[c] > 0.0:
        walk.place[c] = walk.counts[UNMET]
        walk.unmet[walk.counts[UNMET]] = c
        walk.counts[UNMET] += 1


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _next(random: Any) -> Any:
    """Marsaglia's 64-bit xorshift: public randomness, one word of state."""
    x = random[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    random[0] = x
    return x


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _below(random: Any, n: int) -> Any:
    return np.int64((_next(random) >> np.uint64(24)) % np.uint64(n))


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _uniform(random: Any) -> float:
    return float(_next(random) >> np.uint64(11)) / 9007199254740992.0
