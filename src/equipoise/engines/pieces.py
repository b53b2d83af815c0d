"""Counts on their way from executors to the driver: in pieces that are added up, part by part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from equipoise.core import IntArray
from equipoise.queries.sparse import SparseCounts

__all__ = ["PIECE", "Kind", "Piece", "SumPieces", "batch_of", "dense_pieces", "numbers_of"]

PIECE = "kind int, key long, task long, payload binary"
"""The Spark schema of a `Piece`."""

CHUNK_CELLS = 2**18
"""Cells of a piece: 2 MB, so that a task that adds up pieces holds little at a time."""


class Kind:
    """What a piece holds."""

    ROWS, DENSE, SPARSE, FAULT = range(4)


class Piece(NamedTuple):
    """A part of the counts.

    Attributes:
        kind: Which `Kind`.
        key: Which part: its position.
        task: Which task it is from; then, which group of tasks.
        payload: Little-endian 64-bit numbers, or a text.
    """

    kind: int
    key: int
    task: int
    payload: bytes


def batch_of(pieces: Sequence[Piece]) -> Any:
    """Pieces as a record batch."""
    types = (pa.int32(), pa.int64(), pa.int64(), pa.binary())
    columns = [pa.array([piece[i] for piece in pieces], kind) for i, kind in enumerate(types)]
    return pa.RecordBatch.from_arrays(columns, names=list(Piece._fields))


def dense_pieces(cells: IntArray, task: int) -> Iterator[Piece]:
    """Counts in pieces of `CHUNK_CELLS`."""
    for key, start in enumerate(range(0, len(cells), CHUNK_CELLS)):
        yield Piece(Kind.DENSE, key, task, cells[start : start + CHUNK_CELLS].astype("<i8").tobytes())


def numbers_of(piece: Piece) -> IntArray:
    """The numbers that a piece holds."""
    return np.frombuffer(piece.payload, dtype="<i8").astype(np.int64)


@dataclass(frozen=True)
class SumPieces:
    """Add up the pieces that are about the same part, of the same group of tasks."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """From record batches of pieces to record batches of their sums."""
        sums: dict[tuple[int, int, int], Any] = {}
        for batch in batches:
            for row in zip(*(batch.column(i).to_pylist() for i in range(4)), strict=True):
                piece = Piece(*row)
                about = (piece.kind, piece.key, piece.task)
                sums[about] = _value(piece) if about not in sums else _sum(piece, sums[about])
        for about, value in sums.items():
            yield batch_of([Piece(*about, _payload(about[0], value))])


def _value(piece: Piece) -> Any:
    if piece.kind == Kind.FAULT:
        return piece.payload
    numbers = np.frombuffer(piece.payload, dtype="<i8")
    return SparseCounts(*numbers.reshape(2, -1)) if piece.kind == Kind.SPARSE else numbers.copy()


def _sum(piece: Piece, known: Any) -> Any:
    if piece.kind == Kind.FAULT:
        return known
    if piece.kind == Kind.SPARSE:
        return SparseCounts.merged([known, _value(piece)])
    known += np.frombuffer(piece.payload, dtype="<i8")
    return known


def _payload(kind: int, value: Any) -> bytes:
    if kind == Kind.FAULT:
        return bytes(value)
    return bytes((np.stack(value) if kind == Kind.SPARSE else value).astype("<i8").tobytes())
