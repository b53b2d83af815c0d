"""Columns whose values are listed: categorical, ordinal, boolean."""

from __future__ import annotations

from abc import ABC
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field

from equipoise.data.columns import Column, Comparison, Listing, listing
from equipoise.data.conversion import ArrowArray, BoolArray, texts
from equipoise.errors import DataError

__all__ = ["Boolean", "Categorical", "Ordinal"]

Values = Annotated[tuple[str | bool | int, ...], Listing, Field(min_length=1)]


class _Listed(Column, ABC):
    """Cells are matched by their text: spaces around it do not count, everything else does (`01` is not `1`)."""

    def _texts(self) -> tuple[str, ...]:
        """The text of each value, in code order."""
        raise NotImplementedError

    @property
    def num_values(self) -> int:
        """Number of codes, not counting the one for missing."""
        return len(self._texts())

    def _value_labels(self) -> tuple[str, ...]:
        return self._texts()

    @cached_property
    def _lookup(self) -> ArrowArray:
        return pa.array(self._texts(), pa.string())

    def _encode(self, array: ArrowArray) -> tuple[NDArray[Any], BoolArray]:
        # Most cells match as they stand; only the others are worth trimming.
        exact = array if pa.types.is_string(array.type) else texts(array, self.name)
        found = pc.index_in(exact, value_set=self._lookup)
        codes = found.fill_null(-1).to_numpy(zero_copy_only=False)
        rest = np.flatnonzero(codes < 0)
        missing = np.zeros(len(codes), dtype=np.bool_)
        if len(rest):
            codes = codes.copy()
            trimmed = texts(exact.take(pa.array(rest)), self.name)
            missing[rest] = trimmed.is_null().to_numpy(zero_copy_only=False)
            again = pc.index_in(trimmed, value_set=self._lookup).fill_null(-1).to_numpy(zero_copy_only=False)
            unknown = (again < 0) & ~missing[rest]
            codes[rest] = np.where(unknown, self._unknown(), again) if unknown.any() else again
            codes[missing] = 0
        return codes, missing

    def _unknown(self) -> int:
        """The code of a value that is not listed."""
        raise DataError(
            f"column {self.name!r}: a value is not one of those listed in the schema;"
            " correct the data, or list it in `values`" + self._unknown_hint()
        )

    def _unknown_hint(self) -> str:
        return ""


def _text_of(value: str | bool | int) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Chosen(_Listed, ABC):
    """Values listed in the schema file, as texts or whole numbers."""

    values: Values

    def _texts(self) -> tuple[str, ...]:
        return tuple(_text_of(value) for value in self.values)

    def _check_values(self) -> None:
        named = self._texts()
        for text in named + self.missing:
            if not text or text != text.strip():
                raise ValueError("a value is empty or has spaces around it; an empty cell is a missing one")
        if len(set(named)) != len(named):
            raise ValueError("a value is listed twice")
        if set(named) & set(self.missing):
            raise ValueError("a text is listed both in `values` and in `missing`")

    def _decode(self, codes: NDArray[Any], rng: np.random.Generator) -> ArrowArray:
        if all(type(value) is int for value in self.values) and len(self._lookup) == len(self.values):
            return pa.array(self.values, pa.int64()).take(pa.array(codes))
        return self._lookup.take(pa.array(codes))


class Categorical(_Chosen):
    """Values without order. With `other`, a value that is not listed becomes that label; without, it is refused.

    Example:
        >>> column = Categorical(name="region", values=("North", "South"), other="elsewhere")
        >>> column.encode(pa.array(["South", "Mars", " North"])).tolist(), column.labels
        ([1, 2, 0], ('North', 'South', 'elsewhere'))
    """

    type: Literal["categorical"] = "categorical"
    other: str | None = None

    @cached_property
    def _named(self) -> tuple[str, ...]:
        listed = tuple(_text_of(value) for value in self.values)
        return listed if self.other is None or self.other in listed else (*listed, self.other)

    def _texts(self) -> tuple[str, ...]:
        return self._named

    def _unknown(self) -> int:
        return super()._unknown() if self.other is None else self._named.index(self.other)

    def _unknown_hint(self) -> str:
        return ', or set `other = "other"` to take all that is not listed'


class Ordinal(_Chosen):
    """Values in order, lowest first.

    Example:
        >>> Ordinal(name="size", values=("S", "M", "L")).between("M", None).tolist()
        [False, True, True]
    """

    type: Literal["ordinal"] = "ordinal"
    ordinal: ClassVar[bool] = True

    def between(self, low: str | None, high: str | None) -> BoolArray:
        """Which codes lie between two values, both included."""
        first = 0 if low is None else self._position(low)
        last = self.num_values - 1 if high is None else self._position(high)
        if first > last:
            raise self.refuse("the range ends before it starts; the order is " + listing(self._texts()))
        codes = np.arange(self.size)
        return (codes >= first) & (codes <= last)

    def compare(self, operator: Comparison, text: str) -> BoolArray:
        """Which codes are below or above a value."""
        codes, place = np.arange(self.size), self._position(text)
        chosen = {"<": codes < place, "<=": codes <= place, ">": codes > place, ">=": codes >= place}[operator]
        return chosen & (codes < self.num_values)

    def _position(self, text: str) -> int:
        named = self._texts()
        if text not in named:
            raise self.refuse(f"{text!r} is not one of its values: {listing(named)}")
        return named.index(text)


_FALSE, _TRUE = ("false", "no", "0", "f", "n"), ("true", "yes", "1", "t", "y")


class Boolean(_Listed):
    """False and true; read from booleans, 0 and 1, and the texts true/false, yes/no, t/f, y/n in any case.

    Example:
        >>> Boolean(name="member").encode(pa.array(["Yes", "no", "1"])).tolist()
        [1, 0, 1]
    """

    type: Literal["boolean"] = "boolean"

    def _texts(self) -> tuple[str, ...]:
        return ("false", "true")

    def _encode(self, array: ArrowArray) -> tuple[NDArray[Any], BoolArray]:
        if pa.types.is_boolean(array.type):
            missing = array.is_null().to_numpy(zero_copy_only=False)
            return array.fill_null(False).to_numpy(zero_copy_only=False).astype(np.uint8), missing
        words = pc.utf8_lower(texts(array, self.name))
        found = pc.index_in(words, value_set=pa.array(_FALSE + _TRUE)).fill_null(-1)
        positions = found.to_numpy(zero_copy_only=False)
        missing = words.is_null().to_numpy(zero_copy_only=False)
        if np.any((positions < 0) & ~missing):
            raise DataError(
                f"column {self.name!r}: a value is not a boolean (true/false, yes/no, 1/0);"
                " correct the data, or declare the column as categorical"
            )
        return (positions >= len(_FALSE)).astype(np.uint8), missing

    def _decode(self, codes: NDArray[Any], rng: np.random.Generator) -> ArrowArray:
        return pa.array(codes == 1)

    def _equals(self, text: str) -> BoolArray:
        word = text.lower()
        if word not in _FALSE + _TRUE:
            return super()._equals(text)
        return self.equals("true" if word in _TRUE else "false")
