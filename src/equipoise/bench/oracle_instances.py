"""Random problems for the optimisation oracles, modelled after tables of the literature, and how they are timed."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from equipoise.oracles.instance import Instance, OneHot
from equipoise.oracles.oracle import Oracle, Solutions

__all__ = ["ADULT", "LOANS", "NUM_COPIES", "Race", "make_binary", "make_instance", "timed"]

ADULT = (74, 9, 16, 7, 15, 6, 5, 2, 100, 99, 99, 42, 2)
LOANS = (
    *(3, 8, 36, 12, 6, 4, 30, 5, 15, 51, 3, 4, 2, 7, 17, 4, 3, 26, 6, 5, 4, 12),
    *(*(10,) * 6, *(8,) * 4, *(10,) * 4, *(8,) * 4, *(6,) * 4, *(5,) * 3, 4),
)
"""Sizes of the columns of the tables after which the instances are modelled (ORACLES.md section 2)."""

NUM_COPIES = 100
SKEW = 1.3
"""Exponent of the popularity of a column's values."""


@dataclass(frozen=True)
class Race:
    """A class of instances, and how many times faster than CP-SAT branch and bound must be."""

    name: str
    sizes: tuple[int, ...]
    num_queries: int
    width: int
    mean_noise: float
    required: float


def make_instance(rng: np.random.Generator, race: Race, num_copies: int) -> Instance:
    """Random conjunctions over distinct columns, popular values more often, half negated; exponential noise."""
    record = OneHot.of(race.sizes)
    order = np.argsort(rng.random((race.num_queries, len(race.sizes))), axis=1)
    columns = np.sort(order[:, : race.width], axis=1)
    codes = np.empty_like(columns)
    for column, size in enumerate(race.sizes):
        chances = 1.0 / np.arange(1, size + 1) ** SKEW
        here = columns == column
        codes[here] = rng.choice(rng.permutation(size), size=int(here.sum()), p=chances / chances.sum())
    tilts = -rng.exponential(race.mean_noise, size=(num_copies, record.num_values))
    negated = rng.random(race.num_queries) < 0.5
    return Instance.of(record, columns, codes, np.ones(race.num_queries), negated, tilts)


def make_binary(rng: np.random.Generator, num_bits: int, num_queries: int) -> Instance:
    """Random conjunctions of three bits, half negated."""
    bits = rng.integers(num_bits, size=(num_queries, 3))
    negated = rng.random(num_queries) < 0.5
    return Instance.of(OneHot.of(np.full(num_bits, 2)), bits, np.ones_like(bits), np.ones(num_queries), negated)


def timed(oracle: Oracle, instance: Instance) -> tuple[Solutions, float]:
    """What the oracle finds, and the CPU seconds of this process that it takes."""
    began = time.process_time()
    found = oracle.solve(instance, np.random.default_rng(0))
    return found, time.process_time() - began
