"""Distinct rows of whole numbers, by the hundred thousand: `np.unique` by rows, but fast."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.core import IntArray

__all__ = ["are_distinct", "first_of_each"]


def first_of_each(rows: IntArray) -> IntArray:
    """Positions of the distinct rows, each where it comes first, in lexicographic order.

    Example:
        >>> first_of_each(np.array([[2, 0], [1, 5], [2, 0]])).tolist()
        [1, 0]
    """
    keys = [np.zeros(len(rows), dtype=np.int64)]
    capacity = 1
    for column, radix in zip(rows.T, (rows.max(axis=0) + 1).tolist(), strict=True):
        if capacity * radix >= 2**63:
            keys.append(np.zeros(len(rows), dtype=np.int64))
            capacity = 1
        keys[-1] = keys[-1] * radix + column
        capacity *= radix
    order = np.lexsort(keys[::-1])
    new = np.zeros(len(rows), dtype=np.bool_)
    new[:1] = True
    for key in keys:
        ordered = key[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    return order[new]


def are_distinct(rows: NDArray[Any]) -> bool:
    """Whether no row occurs twice; cheapest where they are in order.

    Example:
        >>> [are_distinct(np.array(rows)) for rows in ([[1, 5], [2, 0]], [[2, 0], [1, 5]], [[2, 0], [1, 5], [2, 0]])]
        [True, True, False]
    """
    return _increasing(rows) or len(first_of_each(rows)) == len(rows)


def _increasing(rows: NDArray[Any]) -> bool:
    """Whether each row is above the one before, read from left to right."""
    steps = np.diff(rows, axis=0)
    first = (steps != 0).argmax(axis=1)
    return bool((np.take_along_axis(steps, first[:, None], axis=1) > 0).all())
