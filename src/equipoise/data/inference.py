"""Guess what kind of column some cells are. Looks at the data, so whatever it returns must be confirmed by a person."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from equipoise.data.conversion import ArrowArray, days, integers, plain, reals, texts
from equipoise.errors import DataError

__all__ = ["Guess", "guess"]

MOST_CATEGORIES = 64
"""Texts with more distinct values than this are dropped: every value would be a claim that someone has it."""

_SINGLE_INTEGERS = 32  # up to this span each whole number is its own code
_MISSING_MARKS = ("NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?", "-")
_BOOLEAN_WORDS = ({"false", "true"}, {"no", "yes"}, {"f", "t"}, {"n", "y"})


@dataclass(frozen=True)
class Guess:
    """What a column seems to be.

    Attributes:
        kind: The schema's `type`, or None to drop the column.
        keys: The keys of its section, `type` left out.
        reason: Why, in one line, for the draft's comment.
        identifies: Whether it may say whose row it is.
    """

    kind: str | None
    keys: dict[str, Any] = field(default_factory=dict)
    reason: str = ""
    identifies: bool = False


def guess(name: str, array: ArrowArray) -> Guess:
    """The kind of a column, judged by all of its cells.

    Example:
        >>> guess("member", pa.array(["yes", "no", None])).keys
        {'nullable': True}
    """
    try:
        array = plain(array, name)
    except DataError:
        return Guess(None, reason="its type is not a plain value")
    if pa.types.is_dictionary(array.type):
        array = plain(array.dictionary_decode(), name)
    named = texts(array, name)
    present = named.drop_null()
    if len(present) == 0:
        return Guess(None, reason="it is empty")
    distinct = set(pc.unique(present).to_pylist())
    keys = _missing_keys(named, distinct)
    if "missing" in keys:
        distinct -= set(keys["missing"])
        found = pc.is_in(named, value_set=pa.array(keys["missing"]))
        array = pc.if_else(found, pa.scalar(None, array.type), array)
    return _of_values(name, array.drop_null(), distinct, keys)


def _missing_keys(named: ArrowArray, distinct: set[str]) -> dict[str, Any]:
    marks = sorted(distinct & set(_MISSING_MARKS))
    if marks and len(distinct) > len(marks):
        return {"nullable": True, "missing": marks}
    return {"nullable": True} if named.null_count else {}


def _of_values(name: str, array: ArrowArray, distinct: set[str], keys: dict[str, Any]) -> Guess:
    kind = array.type
    if pa.types.is_boolean(kind) or any({word.lower() for word in distinct} == pair for pair in _BOOLEAN_WORDS):
        return Guess("boolean", keys)
    whole, real, date = _numbers(integers, array, name), None, None
    # Codes such as 007 would lose their zeros as numbers.
    padded = pa.types.is_string(kind) and any(len(text) > 1 and text[0] == "0" and text.isdigit() for text in distinct)
    if whole is None or padded:
        whole = None
        real = None if padded else _numbers(reals, array, name)
        date = None if padded or real is not None else _numbers(lambda a, n, nullable: days(a, n), array, name)
    unique = len(distinct) == len(array) and len(array) > 2
    looks_like_id = name.lower() == "id" or name.lower().endswith(("_id", " id", "id_number")) or name.endswith("Id")
    if looks_like_id and len(distinct) > MOST_CATEGORIES:
        return Guess(None, reason="it looks like an identifier", identifies=True)
    if whole is not None:
        if unique and len(array) > MOST_CATEGORIES:
            return Guess(None, reason="every row has a number of its own", identifies=True)
        return _integer(whole, keys)
    if real is not None:
        return _real(real, distinct, keys)
    if date is not None:
        return _date(date, keys)
    if len(distinct) > MOST_CATEGORIES:
        reason = "every row has a text of its own" if unique else f"it has more than {MOST_CATEGORIES} different texts"
        return Guess(None, reason=reason, identifies=unique)
    return Guess("categorical", {"values": sorted(distinct), **keys}, "values read from the data")


def _numbers(reader: Any, array: ArrowArray, name: str) -> NDArray[Any] | None:
    try:
        values, missing = reader(array, name, nullable=True)
    except DataError:
        return None
    present: NDArray[Any] = values[~missing]
    return present


def _integer(values: NDArray[Any], keys: dict[str, Any]) -> Guess:
    low, high = int(values.min()), int(values.max())
    if high - low < _SINGLE_INTEGERS:
        return Guess("integer", {"min": low, "max": high, **keys}, "bounds read from the data; a code for each number")
    step = max(1, int(_round_step((high - low) / 15)))
    start, end = low // step * step, (high // step + 1) * step
    bounds = {"min": start, "max": end - 1, "bins": (end - start) // step}
    return Guess("integer", {**bounds, **keys}, "bounds read from the data and rounded outwards")


def _real(values: NDArray[Any], distinct: set[str], keys: dict[str, Any]) -> Guess:
    low, high = float(values.min()), float(values.max())
    step = _round_step((high - low) / 15 or abs(low) or 1.0)
    first, last = math.floor(low / step), math.floor(high / step) + 1
    bounds: dict[str, Any] = {"min": _clean(first * step, step), "max": _clean(last * step, step), "bins": last - first}
    places = max((len(text.partition(".")[2]) for text in distinct), default=0)
    plain_texts = all("e" not in text.lower() for text in distinct)
    if plain_texts and 0 < places <= 4 and 10.0**-places < step:
        bounds["decimals"] = places
    return Guess("real", {**bounds, **keys}, "bounds read from the data and rounded outwards")


def _date(values: NDArray[Any], keys: dict[str, Any]) -> Guess:
    low, high = (datetime.date(1970, 1, 1) + datetime.timedelta(int(v)) for v in (values.min(), values.max()))
    bounds = {"min": low.replace(month=1, day=1), "max": high.replace(month=12, day=31)}
    bins = "year" if high.year - low.year >= 5 else "month"
    return Guess("date", {**bounds, "bins": bins, **keys}, "bounds read from the data, rounded out to whole years")


def _round_step(width: float) -> float:
    """The power of ten, or 2 or 5 times one, nearest above two thirds of `width`: 10 to 22 bins."""
    unit = 10.0 ** math.floor(math.log10(width))
    return next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= width * 2 / 3)


def _clean(value: float, step: float) -> float:
    """The value without the dust that multiplying a decimal step leaves."""
    return round(value, max(0, -math.floor(math.log10(step))) + 1) if np.isfinite(value) else value
