"""Columns of real numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from equipoise.core import IntArray
from equipoise.data.binned import Binned, OutOfBounds, check_bounds
from equipoise.data.columns import LARGEST_SIZE, Comparison, Listing
from equipoise.data.conversion import ArrowArray, BoolArray, reals

__all__ = ["Real"]

_BINS = 20
"""Bins when neither `bins` nor `edges` is given: about what a printed histogram has."""

Bound = Annotated[float, Field(ge=-1e300, le=1e300, allow_inf_nan=False)]  # differences of two stay finite


class Real(Binned):
    """Real numbers from `min` to `max`, in `bins` of equal width or between `edges`.

    A bin takes its lower end and not its upper one, except the last, which takes both. Decoded values are drawn
    uniformly inside the bin; `decimals` keeps them to that many places, so that they look like the original.

    Example:
        >>> column = Real(name="score", min=0, max=1, bins=10)
        >>> column.encode(pa.array([0.0, 0.3, 1.0])).tolist(), column.labels[3]
        ([0, 3, 9], '0.3..0.4')
    """

    type: Literal["real"] = "real"
    min: Bound | None = None
    max: Bound | None = None
    bins: Annotated[int, Field(ge=1, le=LARGEST_SIZE)] | None = None
    edges: Annotated[tuple[Bound, ...], Listing] | None = None
    decimals: Annotated[int, Field(ge=0, le=15)] | None = None
    out_of_bounds: OutOfBounds = "refuse"

    def _check_values(self) -> None:
        check_bounds(self.min, self.max, self.bins, self.edges)
        if self.edges is None and self.min == self.max:
            raise ValueError("`min` equals `max`; a real column needs a width")
        if np.any(np.diff(self.boundaries) <= 0):
            raise ValueError("its bins are narrower than floating point can tell apart; give fewer `bins`")
        if self.decimals is not None and np.any(self._grid[0] > self._grid[1]):
            raise ValueError("a bin holds no number of that many `decimals`; give more decimals or wider bins")

    def _boundaries(self) -> NDArray[Any]:
        if self.edges is not None:
            return np.array(self.edges, dtype=np.float64)
        # Exact decimals: bin 3 of 0..1 in tenths starts at the float that prints as 0.3, so `score < 0.3` fits.
        low, high = Fraction(repr(self.min)), Fraction(repr(self.max))
        parts = self.bins or _BINS
        return np.array([float(low + (high - low) * i / parts) for i in range(parts + 1)], dtype=np.float64)

    @cached_property
    def _grid(self) -> tuple[IntArray, IntArray]:
        """First and last multiple of the decimal step in each bin."""
        scale = 10.0 ** (self.decimals or 0)
        limits = np.clip(np.ceil(self.boundaries * scale), -(2.0**62), 2.0**62).astype(np.int64)
        # The product may round across the boundary; what counts is the side on which the quotient falls.
        limits -= (limits - 1) / scale >= self.boundaries
        limits += limits / scale < self.boundaries
        last = limits[1:] - 1
        last[-1] += limits[-1] / scale == self.boundaries[-1]
        return limits[:-1], last

    def _values(self, array: ArrowArray) -> tuple[NDArray[Any], BoolArray]:
        return reals(array, self.name, nullable=self.nullable)

    def _cells(self, positions: NDArray[Any]) -> ArrowArray:
        return pa.array(positions, pa.float64())

    def _bins_of(self, positions: NDArray[Any]) -> NDArray[Any]:
        return np.searchsorted(self.boundaries[1:-1], positions, side="right")

    def _draw(self, bins: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        if self.decimals is not None:
            first, last = self._grid
            return np.asarray(rng.integers(first[bins], last[bins], endpoint=True) / 10.0**self.decimals)
        low, high = self.boundaries[bins], self.boundaries[bins + 1]
        # Rounding can carry a draw up to the next bin's lower end.
        inside = low + rng.random(len(bins)) * (high - low)
        return np.asarray(np.minimum(inside, np.nextafter(high, -np.inf)))

    def _outside(self) -> tuple[float, float]:
        low, high = float(self.boundaries[0]), float(self.boundaries[-1])
        step = (high - low) / 1000 if self.decimals is None else 10.0**-self.decimals
        return min(low - step, math.nextafter(low, -math.inf)), max(high + step, math.nextafter(high, math.inf))

    def _position(self, text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise self.refuse(f"{text!r} is not a number between {self._range_text(0, self.num_bins)}")
        return number

    def _text(self, position: Any) -> str:
        # repr is the shortest text that reads back as the same float.
        return repr(float(position)).removesuffix(".0")

    def _range_text(self, first: int, last: int) -> str:
        return f"{self._text(self.boundaries[first])}..{self._text(self.boundaries[last])}"

    def _cut(self, operator: Comparison, position: Any) -> int | None:
        if operator in ("<=", ">"):
            return self.num_bins if position == self.boundaries[-1] else None
        place = int(np.searchsorted(self.boundaries, position))
        # The maximum itself belongs to the last bin, so "< max" would cut it.
        return place if place < self.num_bins and self.boundaries[place] == position else None

    def _upper_cut(self, position: Any) -> int | None:
        cut = self._cut("<", position)
        return self._cut("<=", position) if cut is None else cut

    def _cut_text(self, operator: Comparison, cut: int) -> str:
        below, limit = operator in ("<", "<="), self._text(self.boundaries[cut])
        if cut == self.num_bins:
            return f"<= {limit}" if below else f"> {limit}"
        return f"< {limit}" if below else f">= {limit}"
