"""Families of queries: marginals, all or chosen at random, conjunctions of literals, prefixes and ranges."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from equipoise.core import IntArray
from equipoise.data.domain import Domain
from equipoise.errors import CapacityError, QueryError
from equipoise.queries.conjunctions import Conjunctions
from equipoise.queries.distinct import first_of_each
from equipoise.queries.group import MAX_CELLS, Group

if TYPE_CHECKING:
    from equipoise.data.schema import Schema

__all__ = [
    "all_marginals",
    "further_conjunctions",
    "intervals",
    "marginal",
    "random_conjunctions",
    "random_marginals",
]

MAX_GROUPS = 1_000_000
"""Groups that a workload may have; beyond it every step of a game would take seconds."""

MAX_CONJUNCTIONS = 4_000_000
"""Conjunctions that a workload may have: their counts and literals are small, but a round looks at each."""

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


def random_conjunctions(rng: np.random.Generator, domain: Domain, order: int, number: int) -> Conjunctions:
    """Different cells of marginals of `order` columns, uniformly chosen among all such cells.

    On columns of two values these are the conjunctions of `order` literals; on the others, of their one-hot bits.
    """
    sizes = np.array(domain.sizes, dtype=np.int64)
    usable = np.flatnonzero(sizes > 1)  # a column of one value says nothing
    if not 1 <= order <= len(usable):
        raise QueryError(
            f"{order}-way conjunctions need {order} columns of two or more values; there are {len(usable)}"
        )
    total = _num_cells(sizes[usable], order)
    if not 1 <= number <= min(total, MAX_CONJUNCTIONS):
        raise QueryError(f"ask for 1 to {min(total, MAX_CONJUNCTIONS):,} conjunctions; {number:,} were asked for")
    if 2 * number > total:  # Rejection would be slow, and enumerating is cheap.
        literals = _all_cells(sizes, usable, order)
        literals = literals[rng.choice(total, size=number, replace=False)]
    else:
        literals = _drawn_cells(rng, sizes, order, number)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    columns = np.searchsorted(starts, literals, side="right") - 1
    return Conjunctions.of(domain, columns, literals - starts[columns])


def further_conjunctions(rng: np.random.Generator, asked: Conjunctions, number: int) -> Conjunctions | None:
    """Conjunctions like those asked for, and not among them: of their columns, with as many literals.

    Uniformly chosen among all such cells; fewer than `number` where there are no more, None where there are none.
    """
    used = np.unique(asked.columns)
    part = Domain(tuple(asked.domain.columns[c] for c in used), tuple(asked.domain.sizes[c] for c in used))
    sizes = np.array(part.sizes, dtype=np.int64)
    # At most as many as were asked for are among them.
    drawn = min(number + asked.num_queries, _num_cells(sizes[sizes > 1], asked.order), MAX_CONJUNCTIONS)
    if drawn < 1:
        return None
    found = random_conjunctions(rng, part, asked.order, drawn)
    columns, values = used[found.columns], found.values.astype(np.int64)
    before = np.concatenate([asked.columns, asked.values], axis=1, dtype=np.int64)
    kept = first_of_each(np.concatenate([before, np.concatenate([columns, values], axis=1)]))
    new = np.sort(kept[kept >= asked.num_queries]) - asked.num_queries
    if len(new) > number:
        new = np.sort(rng.choice(new, size=number, replace=False))
    return Conjunctions.of(asked.domain, columns[new], values[new]) if len(new) else None


def _num_cells(sizes: IntArray, order: int) -> int:
    """Cells of all marginals of `order` columns: the elementary symmetric polynomial of the sizes."""
    sums = [1] + [0] * order
    values, repeats = np.unique(sizes, return_counts=True)
    for size, number in zip(values.tolist(), repeats.tolist(), strict=True):
        power = [math.comb(number, k) * size**k for k in range(order + 1)]
        sums = [sum(sums[k - j] * power[j] for j in range(k + 1)) for k in range(order + 1)]
    return sums[order]


def _all_cells(sizes: IntArray, usable: IntArray, order: int) -> IntArray:
    starts = np.cumsum(sizes) - sizes
    cells = [
        np.stack(np.meshgrid(*(starts[c] + np.arange(sizes[c]) for c in columns), indexing="ij"), axis=-1)
        for columns in itertools.combinations(usable, order)
    ]
    return np.concatenate([cell.reshape(-1, order) for cell in cells])


def _drawn_cells(rng: np.random.Generator, sizes: IntArray, order: int, number: int) -> IntArray:
    """Sets of positions in the one-hot record, of different columns, without repeats, by rejection."""
    column_of = np.repeat(np.arange(len(sizes)), sizes)
    bits = np.flatnonzero(sizes[column_of] > 1)
    found = np.zeros((0, order), dtype=np.int64)
    while len(found) < number:
        drawn = np.sort(bits[rng.integers(len(bits), size=(number - len(found) + 64, order))], axis=1)
        drawn = drawn[(np.diff(column_of[drawn], axis=1) != 0).all(axis=1)]
        found = np.concatenate([found, drawn])
        # The first to come are kept, so that what is kept is uniform.
        found = found[np.sort(first_of_each(found))]
    return found[:number]


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
