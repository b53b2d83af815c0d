"""Fitting a column's codes into a picture: neighbours merged when they have an order, else the rarest in one group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.core import FloatArray, IntArray
from equipoise.data.columns import Column

__all__ = ["Folding", "fold"]


@dataclass(frozen=True)
class Folding:
    """Codes of a column gathered into places of a picture.

    Attributes:
        labels: One a place.
        place: The place of each code.
        order: The codes' order means something, so places are neighbours.
    """

    labels: tuple[str, ...]
    place: IntArray
    order: bool

    @property
    def folded(self) -> bool:
        """Whether some place holds more than one code."""
        return len(self.labels) < len(self.place)

    def sums(self, values: FloatArray, axis: int = 0) -> FloatArray:
        """Values of codes added up by place."""
        moved = np.moveaxis(np.asarray(values, dtype=np.float64), axis, 0)
        result = np.zeros((len(self.labels), *moved.shape[1:]))
        np.add.at(result, self.place, moved)
        return np.moveaxis(result, 0, axis)


def fold(column: Column, shares: FloatArray, most: int) -> Folding:
    """At most `most` places for a column's codes. A missing value keeps its own place where there is an order.

    Args:
        column: The column.
        shares: Share of the synthetic rows of each code: what is kept of a column without order.
        most: Places, at least three.

    Example:
        >>> from equipoise.data.whole import Integer
        >>> fold(Integer(name="age", min=0, max=99), np.ones(100), 4).labels
        ('0..24', '25..49', '50..74', '75..99')
    """
    if column.size <= most:
        return Folding(column.labels, np.arange(column.size), column.ordinal)
    if column.ordinal:
        return _merge_neighbours(column, most)
    kept = np.sort(np.argsort(-np.asarray(shares), kind="stable")[: most - 1])
    place = np.full(column.size, most - 1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    rest = f"{column.size - len(kept):,} other values"
    return Folding((*(column.labels[code] for code in kept), rest), place, False)


def _merge_neighbours(column: Column, most: int) -> Folding:
    number = column.num_values
    places = most - column.nullable
    place = np.arange(number) * places // number
    starts = np.searchsorted(place, np.arange(places))
    ends = np.append(starts[1:], number) - 1
    labels = tuple(_span(column.labels[low], column.labels[high]) for low, high in zip(starts, ends, strict=True))
    if not column.nullable:
        return Folding(labels, place, True)
    return Folding((*labels, column.labels[-1]), np.append(place, places), True)


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low.split('..')[0]}..{high.split('..')[-1]}"
