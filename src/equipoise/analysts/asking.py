"""From what analysts write to queries, and queries in one fixed form for ledger and noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from equipoise.data.schema import Schema
from equipoise.errors import QueryError
from equipoise.queries.families import marginal
from equipoise.queries.query import Query
from equipoise.queries.text import parse

__all__ = ["Asked", "Parsed", "canonical", "from_canonical", "parse_all"]

Asked: TypeAlias = "str | Query | Sequence[str]"
"""A query text, a query, or column names for all cells of their marginal."""


class Parsed(NamedTuple):
    """A query, and the words it was asked in; empty when it was not asked in words."""

    query: Query
    text: str


def parse_all(asked: Sequence[Asked], schema: Schema, *, limit: int) -> list[Parsed]:
    """The queries that are asked for; cells of a marginal in its order.

    Raises:
        QueryError: one does not parse or does not fit the schema, or there are more than the limit.
    """
    found: list[Parsed] = []
    for item in asked:
        if isinstance(item, str):
            found.append(Parsed(parse(item, schema), item.strip()))
        elif isinstance(item, Query):
            sizes = schema.domain.sizes
            fits = item.columns[-1] < len(sizes) and all(
                mask.size == sizes[column] for column, mask in item.conditions.items()
            )
            if not fits:
                raise QueryError("a query is over other columns than the schema has; write it as text")
            found.append(Parsed(item, ""))
        else:
            group = marginal(schema.domain, tuple(sorted(set(schema.domain.index(item)))))
            if len(found) + group.num_queries > limit:
                raise QueryError(f"the marginal has {group.num_queries} cells, more than the {limit} queries allowed")
            found += [Parsed(group.query(position), "") for position in range(group.num_queries)]
    return found


def canonical(query: Query) -> str:
    """A query as short text that equal queries share; `from_canonical` is its inverse.

    Example:
        >>> canonical(Query((3, 0), (np.array([True, False]), np.array([False, True, True]))))
        '0:011 3:10'
    """
    parts = zip(query.columns, query.masks, strict=True)
    return " ".join(f"{column}:{''.join('1' if bit else '0' for bit in mask)}" for column, mask in parts)


def from_canonical(text: str) -> Query:
    """The query that `canonical` wrote down.

    Example:
        >>> canonical(from_canonical("0:011 3:10"))
        '0:011 3:10'
    """
    parts = [part.split(":") for part in text.split()]
    masks = tuple(np.array([bit == "1" for bit in bits], dtype=np.bool_) for _, bits in parts)
    return Query(tuple(int(column) for column, _ in parts), masks)
