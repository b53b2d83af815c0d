"""Columns cut into bins along a line: what whole numbers, reals and dates share.

Bin i is [boundary i, boundary i+1). A query may only ask for whole bins: within a bin nothing is known, and an answer
that pretended otherwise would be a guess of ours, so ranges that cut through a bin are refused with those that fit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from equipoise.data.columns import Column, Comparison, listing
from equipoise.data.conversion import ArrowArray, BoolArray
from equipoise.errors import DataError

__all__ = ["Binned", "OutOfBounds", "check_bounds"]

OutOfBounds: TypeAlias = Literal["refuse", "clip", "bucket"]
"""A cell outside the bounds: an error; moved to the nearest bound; or a code of its own, `(below ..)`/`(above ..)`."""


class Binned(Column, ABC):
    """A column of bins. A bucketed cell decodes to just outside the bound, so it encodes to the same bucket again."""

    ordinal: ClassVar[bool] = True

    @abstractmethod
    def _boundaries(self) -> NDArray[Any]:
        """Where bins start, and where the last one ends."""

    @abstractmethod
    def _values(self, array: ArrowArray) -> tuple[NDArray[Any], BoolArray]:
        """Cells as positions on the line, and which are missing."""

    @abstractmethod
    def _cells(self, positions: NDArray[Any]) -> ArrowArray:
        """Positions on the line as cells."""

    @abstractmethod
    def _bins_of(self, positions: NDArray[Any]) -> NDArray[Any]:
        """The bin of each position, all inside the bounds."""

    @abstractmethod
    def _draw(self, bins: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """A position inside each bin."""

    @abstractmethod
    def _outside(self) -> tuple[Any, Any]:
        """The positions that the two buckets decode to."""

    @abstractmethod
    def _position(self, text: str) -> Any:
        """The position a query's text names; QueryError when it names none."""

    @abstractmethod
    def _text(self, position: Any) -> str:
        """A position as text."""

    @abstractmethod
    def _range_text(self, first: int, last: int) -> str:
        """The range from boundary `first` to boundary `last` as text."""

    @abstractmethod
    def _cut(self, operator: Comparison, position: Any) -> int | None:
        """The boundary that `column operator position` cuts at; None when that is inside a bin or out of bounds."""

    @abstractmethod
    def _cut_text(self, operator: Comparison, cut: int) -> str:
        """A comparison in the direction of `operator` that cuts at that boundary."""

    def _upper_cut(self, position: Any) -> int | None:
        """The boundary at which a range up to `position` ends."""
        return self._cut("<=", position)

    @cached_property
    def boundaries(self) -> NDArray[Any]:
        """Where bins start, and where the last one ends: public, as declared."""
        return self._boundaries()

    @property
    def num_bins(self) -> int:
        """Number of bins, buckets not counted."""
        return len(self.boundaries) - 1

    @property
    def _policy(self) -> OutOfBounds:
        policy: OutOfBounds = getattr(self, "out_of_bounds", "refuse")
        return policy

    @property
    def _first_bin(self) -> int:
        return 1 if self._policy == "bucket" else 0

    @property
    def _last(self) -> Any:
        """The largest position inside the bounds."""
        return self.boundaries[-1]

    @property
    def num_values(self) -> int:
        """Number of codes, not counting the one for missing."""
        return self.num_bins + 2 * self._first_bin

    def _value_labels(self) -> tuple[str, ...]:
        bins = tuple(self._range_text(i, i + 1) for i in range(self.num_bins))
        if self._policy != "bucket":
            return bins
        return (f"(below {self._text(self.boundaries[0])})", *bins, f"(above {self._text(self._last)})")

    def _encode(self, array: ArrowArray) -> tuple[NDArray[Any], BoolArray]:
        values, missing = self._values(array)
        low, high = self.boundaries[0], self._last
        if missing.any():
            values = np.where(missing, low, values)
        if len(values) == 0 or (values.min() >= low and values.max() <= high):
            return self._bins_of(values) + self._first_bin, missing
        if self._policy == "refuse":
            raise DataError(
                f"column {self.name!r}: a value is outside the declared bounds {self._text(low)}..{self._text(high)};"
                + self._bounds_hint()
            )
        codes = self._bins_of(np.clip(values, low, high)) + self._first_bin
        if self._policy == "bucket":
            codes = np.where(values < low, 0, np.where(values > high, self.num_values - 1, codes))
        return codes, missing

    def _bounds_hint(self) -> str:
        return ' widen them, or set out_of_bounds = "clip" or "bucket" in the schema'

    def _decode(self, codes: NDArray[Any], rng: np.random.Generator) -> ArrowArray:
        bins = codes.astype(np.int64) - self._first_bin
        positions = self._draw(np.clip(bins, 0, self.num_bins - 1), rng)
        if self._policy == "bucket":
            below, above = self._outside()
            positions = np.where(bins < 0, below, np.where(bins >= self.num_bins, above, positions))
        return self._cells(positions)

    def _equals(self, text: str) -> BoolArray:
        position = self._position(text)
        first, last = self._cut(">=", position), self._cut("<=", position)
        if first is None or last is None:
            raise self.refuse(f"= {text} is not a whole bin; the bins are {listing(self.labels)}")
        return self._mask(first, last)

    def between(self, low: str | None, high: str | None) -> BoolArray:
        """Which codes `column in low..high` selects; an open side takes its bucket too."""
        start = None if low is None else self._position(low)
        end = None if high is None else self._position(high)
        if start is not None and end is not None and start > end:
            raise self.refuse(f"the range {low}..{high} ends before it starts")
        first = None if start is None else self._cut(">=", start)
        last = None if end is None else self._upper_cut(end)
        if (first is None and start is not None) or (last is None and end is not None):
            raise self.refuse(self._misfit(start, end))
        return self._mask(first, last)

    def compare(self, operator: Comparison, text: str) -> BoolArray:
        """Which codes `column < text` (or `<=`, `>`, `>=`) selects."""
        position = self._position(text)
        cut = self._cut(operator, position)
        if cut is not None:
            return self._mask(None, cut) if operator in ("<", "<=") else self._mask(cut, None)
        if not self.boundaries[0] <= position <= self._last:
            raise self.refuse(f"{operator} {text} is beyond the declared bounds {self._range_text(0, self.num_bins)}")
        above = min(int(np.searchsorted(self.boundaries, position, "right")), self.num_bins)
        near = " and ".join(self._cut_text(operator, place) for place in (above - 1, above))
        raise self.refuse(f"{operator} {text} cuts through a bin; the nearest that fit are {near} ({self._bin_list()})")

    def _bin_list(self) -> str:
        return "its bins: " + listing(tuple(self._range_text(i, i + 1) for i in range(self.num_bins)), 24)

    def _mask(self, first: int | None, last: int | None) -> BoolArray:
        codes = np.arange(self.size) - self._first_bin
        above = np.ones(self.size, dtype=np.bool_) if first is None else codes >= first
        below = codes < self.num_values - self._first_bin if last is None else codes < last
        if first is not None and last is not None and first >= last:
            raise self.refuse("the range is empty; its bins are " + listing(self.labels))
        return above & below

    def _misfit(self, start: Any, end: Any) -> str:
        """What is wrong with a range, and the nearest ranges that fit."""
        bounds = self._range_text(0, self.num_bins)
        low, high = self.boundaries[0], self._last
        if any(position is not None and not low <= position <= high for position in (start, end)):
            return f"the range goes beyond the declared bounds {bounds}"
        inner_first = 0 if start is None else int(np.searchsorted(self.boundaries, start, "left"))
        outer_first = 0 if start is None else int(np.searchsorted(self.boundaries, start, "right")) - 1
        outer_last, inner_last = self.num_bins, self.num_bins
        if end is not None:
            known = self._upper_cut(end)
            outer_last = known if known is not None else int(np.searchsorted(self.boundaries, end, "right"))
            inner_last = known if known is not None else outer_last - 1
        choices = [self._range_text(outer_first, min(outer_last, self.num_bins))]
        if inner_first < inner_last:
            choices.insert(0, self._range_text(inner_first, inner_last))
        return f"the range cuts through a bin; the nearest that fit are {' and '.join(choices)} ({self._bin_list()})"


def check_bounds(low: Any, high: Any, bins: object, edges: Sequence[Any] | None) -> None:
    """The rules that bounds, bins and edges obey in every kind; ValueError names the one that is broken."""
    if edges is None:
        if low is None or high is None:
            raise ValueError("it needs `min` and `max`, or `edges`")
        if low > high:
            raise ValueError("`min` is larger than `max`")
        return
    if bins is not None:
        raise ValueError("give `bins` or `edges`, not both")
    if len(edges) < 2 or any(a >= b for a, b in pairwise(edges)):
        raise ValueError("`edges` needs at least two values, each larger than the one before")
    if (low is not None and low != edges[0]) or (high is not None and high != edges[-1]):
        raise ValueError("`edges` starts at `min` and ends at `max`; leave those two out, or make them agree")
