"""Instances for the oracles: tiny ones with every oddity, and larger ones like those of a game."""

from __future__ import annotations

import numpy as np

from equipoise.oracles.instance import Instance, OneHot

SMALL_ADULT = (20, 9, 16, 7, 15, 6, 5, 2, 12, 10, 10, 12, 2)


def tiny(rng: np.random.Generator, num_copies: int = 4) -> Instance:
    """Any shape: repeated and contradictory literals, empty and cancelling queries, all signs, tilts or none."""
    record = OneHot.of(rng.integers(1, 5, size=rng.integers(1, 6)))
    num_queries, width = int(rng.integers(0, 13)), int(rng.integers(1, 5))
    columns = rng.integers(-1, record.num_columns, size=(num_queries, width))
    codes = rng.integers(record.sizes[columns])
    tilts = -rng.exponential(size=(num_copies, record.num_values)) if rng.random() < 0.6 else None
    shape = (num_copies, num_queries) if tilts is None or rng.random() < 0.3 else (num_queries,)
    weights = rng.choice([-2.0, -1.0, 0.0, 1.0, 1.0, 2.5], size=shape) if rng.random() < 0.7 else rng.normal(size=shape)
    negated = rng.random(num_queries) < 0.5
    if num_queries > 1 and rng.random() < 0.5:  # a query and its negation cancel
        columns[-1], codes[-1], negated[-1] = columns[0], codes[0], not negated[0]
        weights[..., -1] = weights[..., 0]
    return Instance.of(record, columns, codes, weights, negated, tilts)


def like_a_game(
    rng: np.random.Generator,
    sizes: tuple[int, ...],
    *,
    num_queries: int,
    width: int,
    num_copies: int = 1,
    mean_noise: float | None = None,
    skew: float = 1.3,
) -> Instance:
    """Random conjunctions over distinct columns, popular values more often, half negated; exponential tilts."""
    record = OneHot.of(sizes)
    columns = np.sort(np.argsort(rng.random((num_queries, len(sizes))), axis=1)[:, :width], axis=1)
    codes = np.empty_like(columns)
    for column, size in enumerate(sizes):
        chances = 1.0 / np.arange(1, size + 1) ** skew
        here = columns == column
        codes[here] = rng.choice(rng.permutation(size), size=int(here.sum()), p=chances / chances.sum())
    tilts = None
    if mean_noise is not None:
        tilts = -rng.exponential(mean_noise, size=(num_copies, record.num_values))
    return Instance.of(record, columns, codes, np.ones(num_queries), rng.random(num_queries) < 0.5, tilts)


def binary(rng: np.random.Generator, num_bits: int, num_queries: int, width: int = 3) -> Instance:
    """Conjunctions of "bit is 1", half negated, no tilt."""
    bits = rng.integers(num_bits, size=(num_queries, width))
    negated = rng.random(num_queries) < 0.5
    return Instance.of(OneHot.of(np.full(num_bits, 2)), bits, np.ones_like(bits), np.ones(num_queries), negated)
