"""The text form of one query: `sex = Female and age in 30..39`. The grammar is `data.conditions`'."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.data.conditions import describe_conditions, parse_conditions
from equipoise.queries.query import Query

if TYPE_CHECKING:
    from equipoise.data.schema import Schema

__all__ = ["describe", "parse"]


def parse(text: str, schema: Schema) -> Query:
    """The query that a text stands for.

    Raises:
        QueryError: Says at which character, what was expected there, and which columns or values are legal.

    Example:
        >>> from equipoise.data.listed import Categorical
        >>> from equipoise.data.schema import Schema
        >>> from equipoise.data.whole import Integer
        >>> columns = (Categorical(name="sex", values=("Female", "Male")), Integer(name="age", min=0, max=39, bins=4))
        >>> query = parse("age >= 20 and sex = Male", Schema("people", columns))
        >>> query.columns, [mask.tolist() for mask in query.masks]
        ((0, 1), [[False, True], [False, False, True, True]])
    """
    masks = parse_conditions(text, schema.columns)
    return Query(tuple(masks), tuple(masks.values()))


def describe(query: Query, schema: Schema) -> str:
    """A text that `parse` takes back to an equal query, as short and readable as we can make it.

    Example:
        >>> from equipoise.data.schema import Schema
        >>> from equipoise.data.whole import Integer
        >>> schema = Schema("people", (Integer(name="age", min=0, max=39, bins=4),))
        >>> describe(parse("age >= 10 and age < 30", schema), schema)
        'age in 10..29'
    """
    return describe_conditions(query.conditions, schema.columns)
