"""Wide binary tables made up for benchmarks: attributes with random biases, and a table shaped like film ratings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numba import njit, prange
from numpy.typing import NDArray

from equipoise.core import IntArray, Progress, silent
from equipoise.data.items import ITEMS

__all__ = ["BiasedBits", "write_ratings"]

RATINGS_ROWS, RATINGS_ITEMS = 480_189, 17_770
MEAN_RATINGS = 209
"""Ratings of one person in the original: 100,480,507 of 480,189 people."""


@dataclass(frozen=True)
class BiasedBits:
    """Independent attributes, each 1 with a probability of its own, drawn uniformly (gaboardi2014dual, section 6).

    A `BitSource` that makes up its columns when they are asked for: any number of attributes, and no memory. Biases are
    multiples of 1/256.

    Example:
        >>> source = BiasedBits(num_rows=1000, seed=1)
        >>> bits = source.bits(np.array([3, 500_000]), 0, 1000)
        >>> bits.shape, bool((bits == source.bits(np.array([3, 500_000]), 0, 1000)).all())
        ((2, 16), True)
    """

    num_rows: int
    seed: int
    names: tuple[str, ...] = (ITEMS,)

    def bits(self, columns: IntArray, first_row: int, num_rows: int) -> NDArray[np.uint64]:
        """See `data.baskets.BitSource.bits`."""
        result = np.empty((len(columns), -(-num_rows // 64)), dtype=np.uint64)
        _fill(result, np.asarray(columns, dtype=np.int64), first_row // 64, np.uint64(self.seed))
        if num_rows % 64:
            result[:, -1] &= np.uint64((1 << num_rows % 64) - 1)
        return result

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        """Nobody reads it as lists; a batch of one row says that it has rows."""
        yield pa.RecordBatch.from_arrays([pa.array([[]], pa.list_(pa.int32()))], names=[ITEMS])


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _mixed(counter: Any) -> Any:
    """Steele, Lea and Flood's mixing of a counter into 64 random bits (splitmix64)."""
    z = counter * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, parallel=True)  # type: ignore[untyped-decorator]
def _fill(result: Any, columns: Any, first_word: Any, seed: Any) -> None:
    for i in prange(len(columns)):
        key = _mixed(_mixed(seed) + np.uint64(columns[i]))
        bias = _mixed(key) >> np.uint64(56)
        for w in range(result.shape[1]):
            # From the lowest bit of the bias up, a random word halves what is there or half of what is missing.
            word, counter = np.uint64(0), key + np.uint64(8 * (first_word + w))
            for bit in range(8):
                drawn = _mixed(counter + np.uint64(bit + 1))
                word = (word | drawn) if bias >> np.uint64(bit) & np.uint64(1) else (word & drawn)
            result[i, w] = word


def write_ratings(
    path: Path, rng: np.random.Generator, *, num_rows: int = RATINGS_ROWS, progress: Progress = silent
) -> None:
    """A Parquet file of film ratings, rated or not: few films have most of them, and people of like taste share some.

    Popularity falls with the rank to the power 0.9, as in the original to the eye; each person has one of 20 tastes,
    which favours some films, and rates a log-normal number of them.
    """
    popularity = 1.0 / (20 + np.arange(RATINGS_ITEMS)) ** 0.9
    tastes = popularity * rng.lognormal(0.0, 1.0, size=(20, RATINGS_ITEMS))
    ends = np.cumsum(tastes / tastes.sum(axis=1, keepdims=True), axis=1)
    schema = pa.schema([(ITEMS, pa.list_(pa.int32()))])
    with pq.ParquetWriter(path, schema) as writer:
        for first in range(0, num_rows, 2**14):
            lists = [_rated(rng, ends) for _ in range(min(2**14, num_rows - first))]
            writer.write_table(pa.table([pa.array(lists, schema.types[0])], schema=schema))
            progress(first + len(lists), num_rows)


def _rated(rng: np.random.Generator, ends: NDArray[np.float64]) -> NDArray[np.int32]:
    number = min(RATINGS_ITEMS // 2, max(1, round(rng.lognormal(np.log(MEAN_RATINGS) - 0.5, 1.0))))
    drawn = np.searchsorted(ends[rng.integers(len(ends))], rng.random(number))
    return np.unique(np.minimum(drawn, RATINGS_ITEMS - 1)).astype(np.int32)
