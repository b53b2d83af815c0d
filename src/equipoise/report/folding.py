"""Fitting a column's codes into a picture: neighbours merged when they have an order, else the rarest in one group."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass

import numpy as np

from equipoise.core import FloatArray, IntArray
from equipoise.data.binned import Binned
from equipoise.data.columns import Column
from equipoise.data.dates import Date

__all__ = ["Folding", "brief", "fold"]


@dataclass(frozen=True)
class Folding:
    """Codes of a column gathered into places of a picture.

    Attributes:
        labels: One a place.
        place: The place of each code.
        order: The codes' order means something, so places are neighbours.
        rest: The last place holds all that is left; it would dwarf the others in a picture.
    """

    labels: tuple[str, ...]
    place: IntArray
    order: bool
    rest: bool = False

    @property
    def num_drawn(self) -> int:
        """Places that are drawn to scale: all but the rest."""
        return len(self.labels) - self.rest

    def sums(self, values: FloatArray, axis: int = 0) -> FloatArray:
        """Values of codes added up by place."""
        moved = np.moveaxis(np.asarray(values, dtype=np.float64), axis, 0)
        result = np.zeros((len(self.labels), *moved.shape[1:]))
        np.add.at(result, self.place, moved)
        return np.moveaxis(result, 0, axis)


def fold(column: Column, shares: FloatArray, most: int) -> Folding:
    """At most `most` places for a column's codes.

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
        return Folding(tuple(brief(column, label) for label in column.labels), np.arange(column.size), column.ordinal)
    if column.ordinal:
        return _merge_neighbours(column, most)
    kept = np.argsort(-np.asarray(shares), kind="stable")[: most - 1]
    place = np.full(column.size, most - 1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    rest = f"{column.size - len(kept):,} other values"
    return Folding((*(column.labels[code] for code in kept), rest), place, False, rest=True)


def _merge_neighbours(column: Column, most: int) -> Folding:
    """Equally many bins to a place. What is not a bin (below, above, missing) keeps a place of its own."""
    bins = column.num_bins if isinstance(column, Binned) else column.num_values
    before = (column.num_values - bins) // 2
    together = -(-bins // max(1, most - 2 * before - column.nullable))
    inner = np.arange(bins) // together
    places = int(inner[-1]) + 1
    after = np.arange(column.size - before - bins)
    place = np.concatenate([np.arange(before), before + inner, before + places + after])
    labels = [_span(column, before + together * k, before + min(bins, together * (k + 1)) - 1) for k in range(places)]
    return Folding((*column.labels[:before], *labels, *column.labels[before + bins :]), place, True)


def _span(column: Column, first: int, last: int) -> str:
    low, high = column.labels[first], column.labels[last]
    return brief(column, low if first == last else f"{low.split('..')[0]}..{high.split('..')[-1]}")


def brief(column: Column, label: str) -> str:
    """A label as short as it can be said: whole years and months of dates.

    Example:
        >>> column = Date(name="day", min="2020-01-01", max="2022-06-30")
        >>> brief(column, "2020-01-01..2020-12-31"), brief(column, "2022-01-01..2022-06-30")
        ('2020', '2022-01..2022-06')
    """
    found = re.fullmatch(r"(\d{4})-(\d\d)-01\.\.(\d{4})-(\d\d)-(\d\d)", label)
    if not isinstance(column, Date) or found is None:
        return label
    _, first_month, last_year, last_month, day = (int(part) for part in found.groups())
    if day != monthrange(last_year, last_month)[1]:
        return label
    whole_years = first_month == 1 and last_month == 12
    low, high = (label[:4], label[12:16]) if whole_years else (label[:7], label[12:19])
    return low if low == high else f"{low}..{high}"
