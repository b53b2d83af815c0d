"""Privacy units: keep at most k rows of each.

A row is known by two hashes: its unit's, and its own, which is keyed by the unit's and taken of the row's codes. Which
rows are kept follows from the hashes alone, so it does not matter where, in which order or how often rows are read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from equipoise.core import Codes, IntArray
from equipoise.data.conversion import ArrowArray, BoolArray, plain, texts
from equipoise.data.siphash import Hashes, hash_slices, key_of
from equipoise.errors import DataError

__all__ = ["choose_rows", "count_kept", "hash_lists", "hash_rows", "hash_units"]


def hash_units(array: ArrowArray, name: str, seed: int) -> Hashes:
    """The hash of each row's unit, by its text.

    Args:
        array: The unit column.
        name: Its name, for the message.
        seed: Secret, since it decides which rows are kept.

    Raises:
        DataError: A row has no unit.
    """
    array = plain(array, name)
    if pa.types.is_dictionary(array.type):
        array = plain(array.dictionary_decode(), name)
    named = texts(array, name)
    if named.null_count:
        raise DataError(f"column {name!r}: a row has no privacy unit; fill it, or remove such rows")
    _, places, content = named.buffers()
    edges = np.frombuffer(places, dtype=np.int32)[named.offset : named.offset + len(named) + 1]
    data = np.zeros(0, dtype=np.uint8) if content is None else np.frombuffer(content, dtype=np.uint8)
    return hash_slices(data, edges, key_of(seed))


def hash_rows(codes: Codes, units: Hashes) -> NDArray[np.uint64]:
    """A hash of each encoded row, keyed by its unit's."""
    rows = np.ascontiguousarray(codes.T)
    edges = np.arange(len(rows) + 1) * rows.shape[1] * rows.itemsize
    return hash_slices(rows.reshape(-1).view(np.uint8), edges, units)[:, 0]


def hash_lists(starts: IntArray, items: NDArray[np.int32], units: Hashes) -> NDArray[np.uint64]:
    """The same of rows that are lists of items (`Items.encode`)."""
    return hash_slices(np.ascontiguousarray(items).view(np.uint8), starts * items.itemsize, units)[:, 0]


def choose_rows(units: Hashes, rows: NDArray[np.uint64], *, rows_per_unit: int) -> BoolArray:
    """Which rows to keep so that no unit has more than `rows_per_unit`, each unit's chosen uniformly at random.

    Args:
        units: Hash of each row's unit; if one row of a unit is given, all must be.
        rows: Hash of each row.
        rows_per_unit: Most rows to keep of a unit.

    Guarantees:
        What is kept of a unit, up to the order of equal rows, depends on that unit's name, its own rows and the seed,
        on nothing else in the table. So two tables that differ in the rows of one unit differ, after this, in at most
        `rows_per_unit` rows of that unit: the group-privacy charge for k holds for every fixed seed (for which no two
        units share their 128 bits). Every row of a unit gets a pseudo-random number of its own, from its hash and its
        place among the unit's equal rows, and the lowest are kept: each subset of that size is as likely as any other.

    Example:
        >>> units = np.array([[7, 7], [8, 8], [7, 7]], dtype=np.uint64)
        >>> int(choose_rows(units, np.array([1, 1, 1], dtype=np.uint64), rows_per_unit=1).sum())
        2
    """
    order = np.lexsort((rows, units[:, 1], units[:, 0]))
    sorted_units, sorted_rows = units[order], rows[order]
    new_unit = _changes(sorted_units[:, 0]) | _changes(sorted_units[:, 1])
    numbers = _scramble(sorted_rows + _rank(new_unit | _changes(sorted_rows)).astype(np.uint64))
    unit_of_row = np.cumsum(new_unit)
    again = np.lexsort((numbers, unit_of_row))
    kept = np.zeros(len(units), dtype=np.bool_)
    # Units stay where they are, so the rank within a unit is the same array.
    kept[order[again]] = _rank(new_unit) < rows_per_unit
    return kept


def count_kept(units: Hashes, *, rows_per_unit: int) -> int:
    """How many rows `choose_rows` keeps."""
    ordered = units[np.lexsort((units[:, 1], units[:, 0]))]
    return int(np.count_nonzero(_rank(_changes(ordered[:, 0]) | _changes(ordered[:, 1])) < rows_per_unit))


def _changes(values: NDArray[Any]) -> BoolArray:
    """Where a value differs from the one before; the first does."""
    changes = np.ones(len(values), dtype=np.bool_)
    changes[1:] = values[1:] != values[:-1]
    return changes


def _rank(new: BoolArray) -> IntArray:
    """0, 1, 2, ... from each start on."""
    starts = np.flatnonzero(new)
    return np.arange(len(new)) - np.repeat(starts, np.diff(np.append(starts, len(new))))


def _scramble(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's output function (Steele, Lea, Flood 2014): neighbouring inputs give unrelated outputs."""
    z = numbers * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
