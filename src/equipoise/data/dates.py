"""Columns of dates."""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from equipoise.data.binned import OutOfBounds, check_bounds
from equipoise.data.columns import Listing
from equipoise.data.conversion import ArrowArray, BoolArray, days
from equipoise.data.whole import Whole, check_bins, start_bins

__all__ = ["Date"]

_FIRST, _LAST = datetime.date(2, 1, 1), datetime.date(9998, 12, 31)  # leaves a calendar day for each bucket
_EPOCH = datetime.date(1970, 1, 1).toordinal()


def _read_date(value: object) -> object:
    if isinstance(value, str):
        return datetime.date.fromisoformat(value)
    if isinstance(value, datetime.datetime):
        raise ValueError("a date without a time of day is wanted")
    return value


Day = Annotated[datetime.date, BeforeValidator(_read_date)]


class Date(Whole):
    """Dates from `min` to `max`, both included.

    `bins` is a number of parts of equal length, or `"day"`, `"month"`, `"year"`; `edges` lists the dates at which
    bins start, and last the maximum. With neither: years when the span exceeds two years, months when it exceeds two
    months, else days.

    Example:
        >>> Date(name="joined", min="2020-01-01", max="2022-06-30").labels
        ('2020-01-01..2020-12-31', '2021-01-01..2021-12-31', '2022-01-01..2022-06-30')
    """

    type: Literal["date"] = "date"
    min: Day | None = None
    max: Day | None = None
    bins: Annotated[int, Field(ge=1)] | Literal["day", "month", "year"] | None = None
    edges: Annotated[tuple[Day, ...], Listing] | None = None
    out_of_bounds: OutOfBounds = "refuse"

    def _check_values(self) -> None:
        check_bounds(self.min, self.max, self.bins, self.edges)
        ends = (self.min, self.max) if self.edges is None else (self.edges[0], self.edges[-1])
        if any(end is not None and not _FIRST <= end <= _LAST for end in ends):
            raise ValueError(f"dates must lie in {_FIRST}..{_LAST}")
        if self.edges is None and self.min is not None and self.max is not None and isinstance(self.bins, int):
            check_bins((self.max - self.min).days + 1, self.bins)

    def _boundaries(self) -> NDArray[Any]:
        if self.edges is not None:
            return start_bins(None, None, None, [_days_since_epoch(edge) for edge in self.edges])
        assert self.min is not None
        assert self.max is not None
        low, high = _days_since_epoch(self.min), _days_since_epoch(self.max)
        if isinstance(self.bins, int):
            return start_bins(low, high, self.bins, None)
        step = self.bins or ("year" if high - low > 731 else "month" if high - low > 62 else "day")
        if step == "day":
            return start_bins(low, high, None, None)
        starts = [_days_since_epoch(day) for day in _period_starts(self.min, self.max, step)]
        return np.array([low, *(start for start in starts if low < start <= high), high + 1], dtype=np.int64)

    def _values(self, array: ArrowArray) -> tuple[NDArray[Any], BoolArray]:
        return days(array, self.name)

    def _cells(self, positions: NDArray[Any]) -> ArrowArray:
        return pa.array(positions.astype(np.int32), pa.int32()).cast(pa.date32())

    def _text(self, position: Any) -> str:
        return datetime.date.fromordinal(int(position) + _EPOCH).isoformat()

    def _position(self, text: str) -> int:
        try:
            return _days_since_epoch(datetime.date.fromisoformat(text.strip()))
        except ValueError:
            bounds = self._range_text(0, self.num_bins)
        raise self.refuse(f"{text!r} is not a date (YYYY-MM-DD) in {bounds}")


def _days_since_epoch(day: datetime.date) -> int:
    return day.toordinal() - _EPOCH


def _period_starts(low: datetime.date, high: datetime.date, step: str) -> list[datetime.date]:
    """First days of the years or months that low..high touches."""
    months = range(1, 13) if step == "month" else (1,)
    return [datetime.date(year, month, 1) for year in range(low.year, high.year + 1) for month in months]
