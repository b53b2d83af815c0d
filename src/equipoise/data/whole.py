"""Columns of whole numbers: integers with declared bounds, and ready-made codes. Dates build on them (dates.py)."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from equipoise.core import IntArray
from equipoise.data.binned import Binned, OutOfBounds, check_bounds
from equipoise.data.columns import LARGEST_SIZE, Comparison, Listing
from equipoise.data.conversion import ArrowArray, BoolArray, integers

__all__ = ["Codes", "Integer", "Whole", "start_bins"]

_TABLE_SPAN = 2**16
"""Widest span whose bins are looked up in a table: 64 k entries stay in the second-level cache."""

Bound = Annotated[int, Field(ge=-(2**61), le=2**61)]  # so that no sum or bucket overflows int64


class Whole(Binned, ABC):
    """Bins of consecutive whole numbers: both ends of a range belong to it."""

    @property
    def _last(self) -> int:
        return int(self.boundaries[-1]) - 1

    @cached_property
    def _table(self) -> IntArray | None:
        """Bin of each position from the first on, when the span is small."""
        if self.boundaries[-1] - self.boundaries[0] > _TABLE_SPAN:
            return None
        return np.repeat(np.arange(self.num_bins), np.diff(self.boundaries))

    def _bins_of(self, positions: NDArray[Any]) -> NDArray[Any]:
        if self.boundaries[-1] - self.boundaries[0] == self.num_bins:
            return np.asarray(positions - self.boundaries[0])
        if self._table is not None:
            return np.asarray(self._table[positions - self.boundaries[0]])
        return np.searchsorted(self.boundaries[1:-1], positions, side="right")

    def _draw(self, bins: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        if self.boundaries[-1] - self.boundaries[0] == self.num_bins:
            return np.take(self.boundaries, bins)
        return np.asarray(rng.integers(self.boundaries[bins], self.boundaries[bins + 1]))

    def _outside(self) -> tuple[int, int]:
        return int(self.boundaries[0]) - 1, self._last + 1

    def _range_text(self, first: int, last: int) -> str:
        low, high = int(self.boundaries[first]), int(self.boundaries[last]) - 1
        return self._text(low) if low == high else f"{self._text(low)}..{self._text(high)}"

    def _cut(self, operator: Comparison, position: Any) -> int | None:
        edge = position + (operator in ("<=", ">"))
        place = int(np.searchsorted(self.boundaries, edge))
        return place if place <= self.num_bins and self.boundaries[place] == edge else None

    def _cut_text(self, operator: Comparison, cut: int) -> str:
        return f"{operator} {self._text(int(self.boundaries[cut]) - (operator in ('<=', '>')))}"


class _Numbers(Whole, ABC):
    """Whole numbers written as digits."""

    def _values(self, array: ArrowArray) -> tuple[NDArray[Any], BoolArray]:
        return integers(array, self.name, nullable=self.nullable)

    def _cells(self, positions: NDArray[Any]) -> ArrowArray:
        return pa.array(positions, pa.int64())

    def _text(self, position: Any) -> str:
        return str(int(position))

    def _position(self, text: str) -> int:
        digits = text.strip().removeprefix("-")
        if not (digits.isascii() and digits.isdigit()) or len(digits) > 18:
            raise self.refuse(f"{text!r} is not a whole number between {self._range_text(0, self.num_bins)}")
        return int(text)


class Integer(_Numbers):
    """Whole numbers from `min` to `max`, both included.

    `bins` cuts them into that many parts, equal to within one number. `edges` gives the numbers at which bins start,
    and as its last entry the maximum, which belongs to the last bin. With neither, each number has its own code.

    Example:
        >>> Integer(name="age", min=0, max=99, bins=10).labels[:2]
        ('0..9', '10..19')
        >>> Integer(name="age", edges=(16, 25, 65, 99)).labels
        ('16..24', '25..64', '65..99')
    """

    type: Literal["integer"] = "integer"
    min: Bound | None = None
    max: Bound | None = None
    bins: Annotated[int, Field(ge=1)] | None = None
    edges: Annotated[tuple[Bound, ...], Listing] | None = None
    out_of_bounds: OutOfBounds = "refuse"

    def _check_values(self) -> None:
        check_bounds(self.min, self.max, self.bins, self.edges)
        if self.edges is None and self.min is not None and self.max is not None:
            check_bins(self.max - self.min + 1, self.bins)

    def _boundaries(self) -> NDArray[Any]:
        return start_bins(self.min, self.max, self.bins, self.edges)


class Codes(_Numbers):
    """Codes already: whole numbers 0..size-1, decoded to themselves.

    Example:
        >>> Codes(name="work", size=9).encode(pa.array([8, 0])).tolist()
        [8, 0]
    """

    type: Literal["codes"] = "codes"
    codes: int = Field(alias="size", ge=1, le=LARGEST_SIZE)

    def _boundaries(self) -> NDArray[Any]:
        return np.arange(self.codes + 1)

    def _bounds_hint(self) -> str:
        return " correct the size in the domain file or the schema"


def check_bins(span: int, bins: int | None) -> None:
    """ValueError when `span` consecutive numbers do not make that many bins."""
    if bins is not None and bins > span:
        raise ValueError("it has more `bins` than values between `min` and `max`")
    if (bins or span) > LARGEST_SIZE:
        raise ValueError(f"it would have more than {LARGEST_SIZE} codes; give fewer `bins` or `edges`")


def start_bins(low: Any, high: Any, bins: int | None, edges: Sequence[int] | None) -> IntArray:
    """Boundaries from checked bounds: edges as given, else parts of low..high that differ by at most one.

    Example:
        >>> start_bins(0, 9, 3, None).tolist()
        [0, 3, 6, 10]
    """
    if edges is not None:
        return np.array([*edges[:-1], edges[-1] + 1], dtype=np.int64)
    span = high - low + 1
    parts = bins or span
    return np.array([low + i * span // parts for i in range(parts + 1)], dtype=np.int64)
