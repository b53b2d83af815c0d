"""Families of queries: marginals, all or chosen at random, conjunctions of literals, prefixes and ranges."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from equipoise.data.domain import Domain
from equipoise.errors import CapacityError, QueryError
from equipoise.queries.group import MAX_CELLS, Group
from equipoise.queries.query import Query

if TYPE_CHECKING:
    from equipoise.data.schema import Schema

__all__ = ["all_marginals", "intervals", "marginal", "random_conjunctions", "random_marginals"]

MAX_GROUPS = 1_000_000
"""Groups that a workload may have; beyond it every step of a game would take seconds."""

MAX_MASK_ENTRIES = 2**28
"""Mask entries (256 MB) that the ranges of one column may take."""


def marginal(domain: Domain, columns: tuple[int, ...], weight: int = 1) -> Group:
    """Every cell of one marginal; refuses one too large to count."""
    shape = tuple(domain.sizes[c] for c in columns)
    if math.prod(shape) > MAX_CELLS:
        names = ", ".join(domain.columns[c] for c in columns)
        raise CapacityError(
            f"the marginal of {names} has {math.prod(shape):,} cells, more than {MAX_CELLS:,};"
            " drop a column or use coarser bins"
        )
    return Group(columns, shape, weight=weight)


def _check_order(order: int, num_columns: int) -> None:
    if not 1 <= order <= num_columns:
        raise QueryError(f"a {order}-way marginal needs {order} columns and at least one; there are {num_columns}")


def all_marginals(domain: Domain, order: int) -> Iterator[Group]:
    """All marginals of `order` columns."""
    num_columns = len(domain.columns)
    _check_order(order, num_columns)
    if math.comb(num_columns, order) > MAX_GROUPS:
        raise CapacityError(
            f"there are {math.comb(num_columns, order):,} {order}-way marginals; use 'random M {order}-way'"
        )
    for columns in itertools.combinations(range(num_columns), order):
        yield marginal(domain, columns)


def random_marginals(rng: np.random.Generator, domain: Domain, order: int, number: int) -> Iterator[Group]:
    """Different marginals of `order` columns, uniformly chosen, in the domain's order; never enumerates many."""
    num_columns = len(domain.columns)
    _check_order(order, num_columns)
    total = math.comb(num_columns, order)
    if not 1 <= number <= total:
        raise QueryError(f"there are {total:,} {order}-way marginals: ask for 1 to {total:,} of them")
    if number > MAX_GROUPS:
        raise CapacityError(f"a workload holds at most {MAX_GROUPS:,} marginals; ask for fewer")
    chosen: set[tuple[int, ...]] = set()
    if 2 * number > total:  # Rejection would be slow, and enumerating is cheap.
        combinations = list(itertools.combinations(range(num_columns), order))
        chosen.update(combinations[i] for i in rng.choice(total, size=number, replace=False))
    while len(chosen) < number:
        chosen.add(tuple(sorted(rng.choice(num_columns, size=order, replace=False).tolist())))
    for columns in sorted(chosen):
        yield marginal(domain, columns)


def random_conjunctions(rng: np.random.Generator, domain: Domain, order: int, number: int) -> Iterator[Query]:
    """Different conjunctions of `order` literals on columns of two values, uniformly chosen."""
    binary = [c for c, size in enumerate(domain.sizes) if size == 2]
    if not 1 <= order <= len(binary):
        raise QueryError(f"{order}-way conjunctions need {order} columns of two values; there are {len(binary)}")
    total = math.comb(len(binary), order) * 2**order
    if not 1 <= number <= min(total, MAX_GROUPS):
        raise QueryError(f"ask for 1 to {min(total, MAX_GROUPS):,} conjunctions; {number:,} were asked for")
    chosen: dict[tuple[tuple[int, ...], tuple[int, ...]], None] = {}
    while len(chosen) < number:
        columns = sorted(rng.choice(binary, size=order, replace=False).tolist())
        chosen[tuple(columns), tuple(rng.integers(2, size=order).tolist())] = None
    for columns_, codes in sorted(chosen):
        yield Query(columns_, tuple(np.arange(2) == code for code in codes))


def intervals(kind: str, schema: Schema | Domain) -> Iterator[Group]:
    """The prefixes (value at most v) or ranges of each ordinal column."""
    if isinstance(schema, Domain):
        raise QueryError(f"{kind} need a schema, which says which columns are ordered; a domain does not")
    ordinal = [(i, column) for i, column in enumerate(schema.columns) if column.ordinal and column.size > 1]
    if not ordinal:
        raise QueryError(f"{kind} need an ordinal, integer, real or date column, and there is none")
    for i, column in ordinal:
        number = column.size - 1 if kind == "prefixes" else column.num_values * (column.num_values + 1) // 2
        if number * column.size > MAX_MASK_ENTRIES:
            raise CapacityError(f"column {column.name!r} has {number:,} {kind}; use coarser bins, or prefixes")
        codes = np.arange(column.size)
        if kind == "prefixes":
            lows, highs = np.zeros(column.size - 1, dtype=np.int64), codes[:-1]
        else:
            # A missing value, the last code, is in no range; the range of everything says nothing, so it is left out.
            lows, highs = np.triu_indices(column.num_values)
            partial = highs - lows + 1 < column.size
            lows, highs = lows[partial], highs[partial]
        masks = (lows[:, None] <= codes) & (codes <= highs[:, None])
        yield Group((i,), (column.size,), (masks,))
