"""What a release has learnt, as files: the model with its error bars, and the moves that it was fitted to."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from equipoise.core import Distribution, FloatArray, Move
from equipoise.data.distributions import from_arrays

__all__ = ["model_from_file", "model_to_bytes", "moves_from_table", "moves_to_table"]


def model_to_bytes(distribution: Distribution, error_bars: FloatArray | None) -> bytes:
    """The content of `model.npz`."""
    arrays: dict[str, Any] = dict(distribution.to_arrays())
    if error_bars is not None:
        arrays["error_bars"] = error_bars
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def model_from_file(path: Path) -> tuple[Distribution, FloatArray | None]:
    """The inverse of `model_to_bytes`."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    bars = arrays.pop("error_bars", None)
    return from_arrays(arrays), bars


def moves_to_table(moves: Sequence[Move]) -> pa.Table:
    """The moves as one row a measured query: a user may want the noisy answers themselves."""
    parts = []
    for number, move in enumerate(moves):
        values = pa.nulls(len(move.ids), pa.int64()) if move.values is None else pa.array(move.values)
        parts.append(
            pa.table(
                {
                    "move": pa.array(np.full(len(move.ids), number, dtype=np.int64)),
                    "query": pa.array(move.ids),
                    "sign": pa.array(move.signs),
                    "noisy_count": values,
                    "stddev": pa.array(np.full(len(move.ids), move.stddev)),
                }
            )
        )
    return pa.concat_tables(parts) if parts else pa.table({"move": pa.array([], pa.int64())})


def moves_from_table(table: pa.Table) -> tuple[Move, ...]:
    """The inverse of `moves_to_table`."""
    columns = {name: table[name].to_numpy() for name in table.column_names if name != "noisy_count"}
    result = []
    for number in np.unique(columns["move"]):
        here = columns["move"] == number
        counts = table["noisy_count"].filter(pa.array(here))
        values = None if counts.null_count else counts.to_numpy().astype(np.int64)
        result.append(
            Move(columns["query"][here], columns["sign"][here], values, _one_or_each(columns["stddev"][here]))
        )
    return tuple(result)


def _one_or_each(stddevs: FloatArray) -> float | FloatArray:
    return float(stddevs[0]) if np.all(stddevs == stddevs[0]) else stddevs
