"""Public tables for the tiny games: rows like the private ones, skewed, of half the people, or lacking columns."""

from __future__ import annotations

import numpy as np
from tests.games import TinyGame, triples

from equipoise.data.public import PublicRows


def rows_of(codes: np.ndarray, columns: tuple[int, ...] | None = None, name: str = "public") -> PublicRows:
    """A public table of these rows."""
    distinct, counts = np.unique(codes.astype(np.uint8), axis=1, return_counts=True)
    kept = tuple(range(len(codes))) if columns is None else columns
    return PublicRows(np.ascontiguousarray(distinct), counts.astype(np.int64), kept, name)


def sister(num_rows: int = 600, seed: int = 9) -> PublicRows:
    """Other people from the population of `triples`."""
    return rows_of(triples(seed=seed, num_rows=num_rows).rows, name="sister")


def without_zeros(game: TinyGame) -> PublicRows:
    """The private rows themselves but for the most common value of the first column: hopeless support."""
    return rows_of(game.rows[:, game.rows[0] > 0], name="without_zeros")


def reduced(columns: tuple[int, ...] = (0, 1), num_rows: int = 600) -> PublicRows:
    """The sister table, lacking columns."""
    return rows_of(triples(seed=9, num_rows=num_rows).rows[list(columns)], columns, "reduced")
