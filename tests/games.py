"""The tiny games: each with a domain, a table, a workload, and neighbours to audit it with."""

from __future__ import annotations

import numpy as np

from equipoise.audit.toys import TinyGame
from equipoise.data.domain import Domain
from equipoise.queries.workload import Group, Workload


def bits(ones: int, num_rows: int) -> TinyGame:
    """One binary column, its one marginal: the queries x = 0 and x = 1."""
    rows = np.zeros((1, num_rows), dtype=np.int64)
    rows[0, :ones] = 1
    return TinyGame(Workload(Domain(("x",), (2,)), (Group((0,), (2,)),)), rows)


def pairs(seed: int = 0, num_rows: int = 12) -> TinyGame:
    """Two columns of sizes 2 and 3, dependent; the workload is their joint marginal and the first column's."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 2, num_rows)
    second = (first + rng.integers(0, 2, num_rows)) % 3
    domain = Domain(("a", "b"), (2, 3))
    return TinyGame(Workload(domain, (Group((0,), (2,)), Group((0, 1), (2, 3)))), np.stack([first, second]))


def triples(seed: int = 0, num_rows: int = 2000) -> TinyGame:
    """Four dependent columns with all three-way marginals: small, but a real game."""
    rng = np.random.default_rng(seed)
    a = rng.choice(3, num_rows, p=[0.6, 0.3, 0.1])
    b = (a + (rng.random(num_rows) < 0.2)) % 3
    c = np.where(rng.random(num_rows) < 0.7, b % 2, rng.integers(0, 2, num_rows))
    d = rng.choice(4, num_rows, p=[0.4, 0.3, 0.2, 0.1])
    domain = Domain(("a", "b", "c", "d"), (3, 3, 2, 4))
    sets = [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)]
    groups = tuple(Group(s, tuple(domain.sizes[i] for i in s)) for s in sets)
    return TinyGame(Workload(domain, groups), np.stack([a, b, c, d]))


def two_cells() -> TinyGame:
    """Ten records, half with value 0 and half with 1 of five, and the two queries on those values.

    Against uniform data both queries are three counts too low; replacing a 0 by a 1 moves their errors in opposite
    directions: the worst case for selection.
    """
    domain = Domain(("x",), (5,))
    masks = np.eye(5, dtype=bool)[:2]
    return TinyGame(Workload(domain, (Group((0,), (5,), (masks,)),)), np.array([[0] * 5 + [1] * 5]))
