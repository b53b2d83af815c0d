"""Thousands of yes-or-no columns as one declaration: the items that a row's list may hold.

A table of items has one list a row: the films a person rated, the goods in a basket, the words of a text. Each item is
a column of two values (in the list or not), but no object is made for it before somebody asks for that column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from equipoise.core import Codes, IntArray
from equipoise.data.columns import Column
from equipoise.data.conversion import ArrowArray, readable
from equipoise.data.listed import Boolean
from equipoise.errors import DataError, SchemaError

__all__ = ["ITEMS", "Items", "names_of", "sizes_of"]

ITEMS = "items"
"""The name of the list column, unless the schema says otherwise."""

MOST_ITEMS = 2**24
"""Items that a schema may declare: a record of the model takes a byte for each."""


@dataclass(frozen=True)
class Items(Sequence[Column]):
    """The columns of a table of items: `items[i]` is the boolean column of item i.

    Attributes:
        number: How many items there are (public).
        listed: Their names; None for whole numbers.
        first: The number of the first item, when they are numbers: 1 in most libsvm files.
        column: The column of the table that holds the lists; None for the one called ITEMS.
        separator: What stands between the items of a text.
        unknown: What to do with an item that is not declared.
        confirmed: False while the items were read from the data and nobody has checked them.

    Example:
        >>> goods = Items(3, ("milk", "bread", "beer"))
        >>> len(goods), goods[1].name, goods.position("beer")
        (3, 'bread', 2)
        >>> starts, found = goods.encode(pa.array([["beer", "milk"], [], ["bread"]]))
        >>> starts.tolist(), found.tolist()
        ([0, 2, 2, 3], [2, 0, 1])
    """

    number: int
    listed: tuple[str, ...] | None = None
    first: int = 0
    column: str | None = None
    separator: str = ","
    unknown: Literal["refuse", "ignore"] = "refuse"
    confirmed: bool = True

    def __post_init__(self) -> None:
        if not 1 <= self.number <= MOST_ITEMS:
            raise SchemaError(f"[items]: there must be 1 to {MOST_ITEMS:,} items")
        if self.listed is not None:
            if any(not name or name != name.strip() for name in self.listed):
                raise SchemaError("[items]: a name is empty or has spaces around it")
            if len(self.listed) != self.number or len(set(self.listed)) != self.number:
                raise SchemaError("[items]: a name is listed twice")
        if not self.separator:
            raise SchemaError("[items]: the separator is empty")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all items, in order."""
        return tuple(map(str, range(self.first, self.first + self.number))) if self.listed is None else self.listed

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def position(self, name: str) -> int | None:
        """The position of an item; None when there is no such item."""
        return self._positions.get(name)

    def __len__(self) -> int:
        return self.number

    @overload
    def __getitem__(self, index: int) -> Column: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Column, ...]: ...

    def __getitem__(self, index: int | slice) -> Column | tuple[Column, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(self.number)))
        return Boolean(name=self.names[index])

    def __iter__(self) -> Iterator[Column]:
        return (self[i] for i in range(self.number))

    def declaration(self) -> dict[str, Any]:
        """The keys of the `[items]` section, in full."""
        keys: dict[str, Any] = {"count": self.number} if self.listed is None else {"names": list(self.listed)}
        return keys | {
            "first": self.first,
            "column": self.column,
            "separator": self.separator,
            "unknown": self.unknown,
            "confirmed": self.confirmed,
        }

    def encode(self, array: ArrowArray) -> tuple[IntArray, NDArray[np.int32]]:
        """The positions of each row's items: row r has `items[starts[r]:starts[r + 1]]`, `number` for an ignored one.

        Args:
            array: Lists of names or numbers, or texts of separated names or numbers. A missing list is an empty one.

        Raises:
            DataError: An item is missing or not declared, or the column holds something else.
        """
        return readable("the column of items", lambda: self._encode(array))

    def _encode(self, array: ArrowArray) -> tuple[IntArray, NDArray[np.int32]]:
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if _is_text(array.type):
            array = pc.split_pattern(array, pattern=self.separator)
        if not (pa.types.is_list(array.type) or pa.types.is_large_list(array.type)):
            raise DataError(
                "the column of items holds neither lists nor texts; name another one as `column` in [items]"
            )
        lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
        values = pc.list_flatten(array)
        if _is_text(values.type):
            values = pc.utf8_trim_whitespace(values)
            kept = pc.not_equal(values, "").to_numpy(zero_copy_only=False) != False  # noqa: E712  null is kept
            lengths = _lengths_of(kept, lengths)
            values = values.filter(pa.array(kept.astype(np.bool_)))
        starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)])
        return starts, self._places(values)

    def _places(self, values: ArrowArray) -> NDArray[np.int32]:
        if values.null_count:
            raise DataError("the column of items: a list has an item that is missing; leave it out of the list")
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        if self.listed is None:
            places = _whole(values) - self.first
            strange = (places < 0) | (places >= self.number)
        else:
            texts = values if _is_text(values.type) else values.cast(pa.string())
            found = pc.index_in(texts, value_set=pa.array(self.listed, texts.type))
            places = pc.fill_null(found, -1).to_numpy(zero_copy_only=False)
            strange = places < 0
        if strange.any():
            if self.unknown == "refuse":
                raise DataError(
                    "the column of items: an item is not one of those declared in [items]; correct the data or the"
                    ' declaration, or set unknown = "ignore"'
                )
            places = np.where(strange, self.number, places)
        return places.astype(np.int32)

    def dense(self, starts: IntArray, items: NDArray[np.int32]) -> Codes:
        """The codes of rows that `encode` gave as lists: a byte for each item of each row.

        Example:
            >>> Items(3).dense(np.array([0, 2, 2]), np.array([2, 0], dtype=np.int32)).tolist()
            [[1, 0], [0, 0], [1, 0]]
        """
        codes = np.zeros((self.number + 1, len(starts) - 1), dtype=np.uint8)  # the last one for ignored items
        codes[items, np.repeat(np.arange(len(starts) - 1), np.diff(starts))] = 1
        return codes[:-1]

    def decode(self, codes: Codes) -> ArrowArray:
        """The lists of encoded rows: names, or numbers when the items are numbers."""
        rows = [np.flatnonzero(row).astype(np.int32) for row in np.ascontiguousarray(codes.T)]
        starts = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
        places = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int32)
        return pa.LargeListArray.from_arrays(pa.array(starts), self.cells(places))

    def cells(self, places: NDArray[Any]) -> ArrowArray:
        """The items at these positions, as a list of the table would have them: names, or numbers."""
        whole = places.astype(np.int32)
        if self.listed is None:
            return pa.array(whole + np.int32(self.first))
        return pa.DictionaryArray.from_arrays(pa.array(whole), pa.array(self.listed))


def names_of(columns: Sequence[Column]) -> tuple[str, ...]:
    """The names of some columns, without making a column for each item."""
    return columns.names if isinstance(columns, Items) else tuple(column.name for column in columns)


def sizes_of(columns: Sequence[Column]) -> tuple[int, ...]:
    """The sizes of some columns, likewise."""
    return (2,) * len(columns) if isinstance(columns, Items) else tuple(column.size for column in columns)


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _lengths_of(kept: NDArray[Any], lengths: NDArray[Any]) -> NDArray[Any]:
    ends = np.concatenate([[0], np.cumsum(kept)])
    edges = np.concatenate([[0], np.cumsum(lengths)])
    return np.asarray(np.diff(ends[edges]))


def _whole(values: ArrowArray) -> IntArray:
    """The items as numbers; what is no whole number becomes one that no table has."""
    if pa.types.is_integer(values.type):
        return np.asarray(values.cast(pa.int64(), safe=False).to_numpy(zero_copy_only=False))
    if not _is_text(values.type):
        raise DataError("the column of items: its items are neither whole numbers nor texts; convert them")
    digits = pc.match_substring_regex(values, r"^[0-9]{1,9}$")
    return np.asarray(pc.if_else(digits, values, "-1000000000").cast(pa.int64()).to_numpy(zero_copy_only=False))
