"""Small domains and moves for the tests of data players."""

import itertools

import numpy as np

from equipoise.core import Move
from equipoise.data.domain import Domain
from equipoise.queries.workload import Group, Workload

SHAPE = (2, 3, 4, 2)
DOMAIN = Domain(("a", "b", "c", "d"), SHAPE)


def all_pairs() -> Workload:
    return Workload(DOMAIN, tuple(Group(p, (SHAPE[p[0]], SHAPE[p[1]])) for p in itertools.combinations(range(4), 2)))


def masked() -> Workload:
    """Queries with gaps in their masks, ranges, a whole column, and nothing at all."""
    b = np.array([[1, 0, 1], [1, 1, 0], [1, 1, 1], [0, 1, 0]], dtype=bool)
    c = np.array([[1, 0, 1, 1], [0, 1, 1, 0], [1, 0, 0, 1], [0, 0, 0, 0]], dtype=bool)
    d = np.array([[1, 0], [0, 1]], dtype=bool)
    return Workload(DOMAIN, (Group((1, 2), (3, 4), (b, c)), Group((3,), (2,), (d,)), Group((0, 2), (2, 4))))


def truth(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(int(np.prod(SHAPE)), 0.3)).reshape(SHAPE)


def move(ids, values, stddev: float = 0.0) -> Move:
    ids = np.atleast_1d(np.asarray(ids, dtype=np.int64))
    return Move(ids, np.zeros_like(ids), np.atleast_1d(np.asarray(values, dtype=np.int64)), stddev)


def accepts(query, shape=SHAPE) -> np.ndarray:
    """q(x) for every cell x, by brute force."""
    result = np.ones(shape)
    for column, mask in zip(query.columns, query.masks, strict=True):
        axes = [1] * len(shape)
        axes[column] = len(mask)
        result = result * mask.reshape(axes)
    return result
