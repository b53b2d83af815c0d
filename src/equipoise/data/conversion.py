"""From any Arrow array to one of four plain forms: texts, whole numbers, reals, days.

What a cell means must not depend on the file it came from: a whole number is read alike from a CSV text, a Parquet
integer, or a pandas float column that had a hole. Arrow's own messages quote the cell they could not read, so they
are never passed on, not even as the cause of our error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from equipoise.core import FloatArray, IntArray
from equipoise.errors import DataError

__all__ = ["ArrowArray", "BoolArray", "blank", "days", "integers", "plain", "readable", "reals", "texts"]

BoolArray: TypeAlias = NDArray[np.bool_]
ArrowArray: TypeAlias = Any
"""A pyarrow Array or ChunkedArray (pyarrow ships no types)."""

_LARGEST = 2**62  # beyond every declared bound (columns refuse larger ones) and exact in int64 and float64


Result = TypeVar("Result")


def readable(what: str, action: Callable[[], Result]) -> Result:
    """The action's result; a DataError without Arrow's words where cells are not what their column's type says.

    A file may be whole and say that a column holds texts, and hold bytes there that are none: it is seen when the
    cells are looked at, not when the file is read.
    """
    try:
        return action()
    except MemoryError:  # Arrow's is an ArrowException too
        raise
    except (pa.ArrowException, UnicodeDecodeError):
        pass
    raise DataError(f"{what}: a cell is not what the file says it is, as a text that is not UTF-8; write the file anew")


def plain(array: ArrowArray, name: str) -> ArrowArray:
    """One contiguous Arrow array; texts as `string`; extension types as what they store.

    Args:
        array: The cells of one column.
        name: The column, for the message.
    """
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    kind = array.type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise DataError(f"column {name!r}: its Arrow type {kind} is not a plain value; convert or drop the column")
    if pa.types.is_null(kind) or pa.types.is_large_string(kind) or kind == pa.string_view():
        array = array.cast(pa.string())
    return array


def blank(array: ArrowArray, marks: Sequence[str], name: str) -> ArrowArray:
    """Put a null wherever the cell's text is one of `marks`."""
    found = pc.is_in(texts(array, name), value_set=pa.array(marks, pa.string()))
    return pc.if_else(found, pa.scalar(None, array.type), array)


def texts(array: ArrowArray, name: str) -> ArrowArray:
    """The cells as texts, spaces around them removed; empty texts and NaN become null.

    Example:
        >>> texts(pa.array([1.0, 2.5, None]), "score").to_pylist()
        ['1', '2.5', None]
    """
    kind = array.type
    if pa.types.is_string(kind):
        trimmed = readable(f"column {name!r}", lambda: pc.utf8_trim_whitespace(array))
        return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)
    if pa.types.is_floating(kind):
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, kind), array)
    converted = _cast(array, pa.string())
    if converted is None:
        raise DataError(f"column {name!r}: its Arrow type {kind} cannot be read as text; convert or drop the column")
    return converted


def integers(array: ArrowArray, name: str, *, nullable: bool) -> tuple[IntArray, BoolArray]:
    """The cells as whole numbers, and which are missing (there the number means nothing).

    Example:
        >>> values, missing = integers(pa.array(["7", " 8.0", ""]), "hours", nullable=True)
        >>> values[:2].tolist(), missing.tolist()
        ([7, 8], [False, False, True])
    """
    kind = array.type
    if pa.types.is_string(kind):
        # Arrow reads "0x1f" as an integer; a decimal point or an exponent takes the slower way through float64.
        parsed = None if pc.any(pc.match_substring_regex(array, "[xX]")).as_py() else _cast(array, pa.int64())
        array = parsed if parsed is not None else _parse(array, pa.float64(), name, "a whole number")
        kind = array.type
    if pa.types.is_integer(kind):
        if kind == pa.uint64():
            array = pc.min_element_wise(array, pa.scalar(_LARGEST, pa.uint64()), skip_nulls=False)
        missing = _nulls(array)
        return _filled(array).astype(np.int64, copy=False), missing
    numbers, missing = reals(array, name, nullable=nullable)
    if not np.all(np.floor(numbers) == numbers):
        raise DataError(
            f"column {name!r}: a value is not a whole number; declare the column as real, or round it first"
        )
    return np.clip(numbers, -_LARGEST, _LARGEST).astype(np.int64), missing


def reals(array: ArrowArray, name: str, *, nullable: bool) -> tuple[FloatArray, BoolArray]:
    """The cells as finite numbers, and which are missing (there the number is 0); NaN is missing when nullable."""
    kind = array.type
    if pa.types.is_string(kind):
        array = _parse(array, pa.float64(), name, "a number")
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        array = array.cast(pa.float64(), safe=False)
    else:
        raise DataError(f"column {name!r}: its Arrow type {kind} is not a number; correct its type in the schema")
    missing = _nulls(array)
    numbers = _filled(array)
    finite = np.isfinite(numbers)
    if not finite.all():
        undefined = np.isnan(numbers)
        if not nullable or not np.all(finite | undefined):
            raise DataError(
                f"column {name!r}: a value is not a finite number; remove such rows"
                + ("" if nullable else ", or set nullable = true to count NaN as missing")
            )
        missing = missing | undefined
        numbers = np.where(undefined, 0.0, numbers)
    return numbers, missing


def days(array: ArrowArray, name: str) -> tuple[IntArray, BoolArray]:
    """The cells as days since 1970-01-01, and which are missing; a time of day is cut off, in its own time zone.

    Example:
        >>> days(pa.array(["1970-01-03", "1970-01-03T23:59:00"]), "seen")[0].tolist()
        [2, 2]
    """
    kind = array.type
    if pa.types.is_string(kind):
        parsed = _cast(array, pa.date32())
        array = parsed if parsed is not None else _parse(array, pa.timestamp("us"), name, "an ISO date (YYYY-MM-DD)")
    elif not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        raise DataError(f"column {name!r}: its Arrow type {kind} is not a date; correct its type in the schema")
    missing = _nulls(array)
    numbers = _filled(array.cast(pa.date32(), safe=False).cast(pa.int32()))
    return numbers.astype(np.int64), missing


def _parse(array: ArrowArray, target: Any, name: str, wanted: str) -> ArrowArray:
    parsed = _cast(array, target)
    if parsed is None:
        parsed = _cast(texts(array, name), target)
    if parsed is None:
        raise DataError(
            f"column {name!r}: a value is not {wanted}; correct the data or the column's type, or list the text in"
            " `missing` if it stands for a missing value"
        )
    return parsed


def _cast(array: ArrowArray, target: Any) -> ArrowArray | None:
    """The array cast, or None: the caller raises outside the handler, so Arrow's message is not even a cause."""
    try:
        return array.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _nulls(array: ArrowArray) -> BoolArray:
    if array.null_count == 0:
        return np.zeros(len(array), dtype=np.bool_)
    nulls: BoolArray = array.is_null().to_numpy(zero_copy_only=False)
    return nulls


def _filled(array: ArrowArray) -> NDArray[Any]:
    """The values as numpy, zero where null."""
    if array.null_count:
        array = array.fill_null(0)
    values: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return values
