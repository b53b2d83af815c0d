"""Queries with masks of several values, as an instance of plain conjunctions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from equipoise.errors import QueryError
from equipoise.oracles.instance import Instance, OneHot
from equipoise.queries.query import Query

__all__ = ["instance_of"]

MAX_CELLS = 4096
"""Cells that one query may be split into: more would be an instance that no oracle here is made for."""

Cell = tuple[tuple[int, int], ...]


def instance_of(
    record: OneHot,
    queries: Sequence[Query],
    weights: ArrayLike,
    negated: ArrayLike | None = None,
    tilts: ArrayLike | None = None,
) -> Instance:
    """An instance from queries. A mask of several values is split into cells, of which at most one holds.

    Raises:
        QueryError: a query has too many cells to be split.

    Example:
        >>> ages = Query((1,), (np.array([False, True, True]),))
        >>> instance = instance_of(OneHot.of([2, 3]), [ages, ages], [1.0, 3.0], [False, True])
        >>> len(instance.literals), float(instance.values(np.array([[0], [2]]))[0])
        (5, 1.0)
    """
    factors = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    signs = np.zeros(len(queries), dtype=np.bool_) if negated is None else np.asarray(negated, dtype=np.bool_)
    cells: list[Cell] = []
    origins: list[int] = []
    factor: list[float] = []
    for i, query in enumerate(queries):
        found = _cells(query)
        if signs[i]:  # the negation is 1 - Σ cells, and the 1 is an empty conjunction
            found = [(), *found]
        cells += found
        origins += [i] * len(found)
        factor += [1.0, *(-1.0,) * (len(found) - 1)] if signs[i] else [1.0] * len(found)
    width = max((len(cell) for cell in cells), default=1)
    padded = np.array([[*cell, *((-1, 0),) * (width - len(cell))] for cell in cells], dtype=np.int64)
    padded = padded.reshape(len(cells), width, 2)
    spread = factors[:, np.array(origins, dtype=np.int64)] * np.array(factor)
    return Instance.of(record, padded[:, :, 0], padded[:, :, 1], spread, None, tilts)


def _cells(query: Query) -> list[Cell]:
    # A mask that allows every value says nothing, and is left out.
    literals = [
        [(column, int(code)) for code in np.flatnonzero(mask)]
        for column, mask in zip(query.columns, query.masks, strict=True)
        if not mask.all()
    ]
    if prod(len(choices) for choices in literals) > MAX_CELLS:
        raise QueryError(
            f"a query of more than {MAX_CELLS} cells is too large for an optimisation oracle; use coarser bins or"
            " shorter ranges, or a method without an oracle"
        )
    return list(product(*literals))
