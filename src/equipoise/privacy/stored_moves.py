"""Moves as the ledger keeps them."""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import Any

import numpy as np

from equipoise.core import FloatArray, Move
from equipoise.errors import LedgerError

__all__ = ["move_from_bytes", "move_to_bytes"]

_UNREADABLE = (
    *(ValueError, KeyError, TypeError, OSError, EOFError, OverflowError, MemoryError),
    *(NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error),
)
"""What numpy and zipfile raise on bytes that are no arrays: an old zip, an encrypted one, one that claims too much."""


def move_to_bytes(move: Move) -> bytes:
    """A move as compressed arrays."""
    arrays: dict[str, Any] = {"ids": move.ids, "signs": move.signs, "stddev": np.asarray(move.stddev)}
    if move.values is not None:
        arrays["values"] = move.values
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def _scalar(value: FloatArray) -> float | FloatArray:
    return float(value) if value.ndim == 0 else value


def move_from_bytes(body: bytes) -> Move:
    """The inverse of `move_to_bytes`.

    Example:
        >>> move = Move(np.array([4]), np.array([1]), np.array([17]), 2.5)
        >>> move_from_bytes(move_to_bytes(move))
        Move(ids=array([4]), signs=array([1]), values=array([17]), stddev=2.5)
    """
    try:
        with np.load(io.BytesIO(body), allow_pickle=False) as arrays:
            values = arrays["values"] if "values" in arrays.files else None
            return Move(arrays["ids"], arrays["signs"], values, _scalar(arrays["stddev"]))
    except _UNREADABLE as error:
        raise LedgerError("the ledger holds a move that cannot be read") from error
