"""Privacy units: keep at most k rows of each."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from equipoise.core import IntArray
from equipoise.data.conversion import ArrowArray, BoolArray, plain, texts
from equipoise.errors import DataError

__all__ = ["keep_rows"]


def keep_rows(chunks: Sequence[ArrowArray], name: str, *, rows_per_unit: int, seed: int) -> BoolArray:
    """Which rows to keep so that no unit has more than `rows_per_unit`, each unit's chosen uniformly at random.

    Args:
        chunks: The unit column, in pieces, in row order.
        name: Its name, for the message.
        rows_per_unit: Most rows to keep of a unit.
        seed: Public. The same seed keeps the same rows, whatever the file format or the size of the pieces.

    Guarantees:
        Which rows of a unit are kept depends on that unit's name, the order of its own rows and the seed, on nothing
        else in the table. So two tables that differ in the rows of one unit differ, after this, in at most
        `rows_per_unit` rows of that unit: the group-privacy charge for k holds for every fixed seed. (Random numbers
        dealt out by row position would not do: one row more would change the choice for everyone after it.)

    Raises:
        DataError: A row has no unit.

    Example:
        >>> keep_rows([pa.array(["a", "b", "a"])], "person", rows_per_unit=1, seed=0).sum()
        np.int64(2)
    """
    named = [_as_text(chunk, name) for chunk in chunks if len(chunk)]
    if not named:
        return np.zeros(0, dtype=np.bool_)
    encoded = pa.chunked_array(named, pa.string()).dictionary_encode().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    units = encoded.indices.to_numpy(zero_copy_only=False)
    kept = np.ones(len(units), dtype=np.bool_)
    crowded = np.bincount(units) > rows_per_unit
    rows = np.flatnonzero(crowded[units])
    if len(rows) == 0:
        return kept
    secrets = np.zeros(len(crowded), dtype=np.uint64)
    for unit in np.flatnonzero(crowded):
        secrets[unit] = _hash(seed, encoded.dictionary[int(unit)].as_py())
    rows = rows[np.argsort(units[rows], kind="stable")]
    keys = _scramble(secrets[units[rows]] + _rank(units[rows]).astype(np.uint64))
    order = np.lexsort((keys, units[rows]))
    kept[rows[order]] = _rank(units[rows][order]) < rows_per_unit
    return kept


def _as_text(chunk: ArrowArray, name: str) -> ArrowArray:
    chunk = plain(chunk, name)
    if pa.types.is_dictionary(chunk.type):
        chunk = plain(chunk.dictionary_decode(), name)
    named = texts(chunk, name)
    if named.null_count:
        raise DataError(f"column {name!r}: a row has no privacy unit; fill it, or remove such rows")
    return named


def _hash(seed: int, unit: str) -> int:
    digest = hashlib.blake2b(unit.encode(), key=str(seed).encode()[:64], digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _rank(groups: NDArray[np.integer]) -> IntArray:
    """0, 1, 2, ... within each run of equal values."""
    starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
    return np.arange(len(groups)) - np.repeat(starts, np.diff(np.r_[starts, len(groups)]))


def _scramble(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's output function (Steele, Lea, Flood 2014): neighbouring inputs give unrelated outputs."""
    z = numbers * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
