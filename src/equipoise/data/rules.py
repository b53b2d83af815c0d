"""Rules: combinations of values that cannot be, declared in the schema and public like the rest of it.

    [rules]
    impossible = ["age < 15 and marital = Married"]            conditions that no record fulfils together
    implies = ["relationship = Husband -> sex = Male",         records that fulfil the left side fulfil the right side
               "city in {Lyon, Nice} -> country = France"]     a column that follows from another: one line a value

Conditions are written as in queries (data/conditions.py). A missing value fulfils no `=` or `<`: a husband whose sex is
missing breaks the rule above. Rules are never read from the data. A private record that breaks one is an error in the
data: it is counted like any other, the model never produces it, and nothing is said about whether there are any.

All rules together are kept as boxes, sets of records of the form "this column has one of these values, and that column
one of those": a record is possible when it is in no box.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from equipoise.core import Codes
from equipoise.data.columns import Column
from equipoise.data.conditions import Conditions, Mask, parse_conditions
from equipoise.data.items import sizes_of
from equipoise.errors import QueryError, SchemaError

__all__ = ["Rules", "columns_of_rule", "compile_rules"]

MAX_JOINT = 2**20
"""Combinations of values that the columns of one rule may have: the fit keeps a number for each."""
MAX_STEPS = 200_000
"""Sets that the search for a possible record looks at before it gives up; rules in use take a few dozen."""
ARROW = "->"


@dataclass(frozen=True, eq=False)
class Rules:
    """Boxes of impossible records.

    Attributes:
        shape: Number of values of each column.
        boxes: Each a set of conditions that no record fulfils together; every mask has some codes, and not all.

    Example:
        >>> young, married = np.array([True, False]), np.array([False, True])
        >>> rules = Rules((2, 2, 3), ({0: young, 1: married},))
        >>> rules.broken_by(np.array([[0, 0, 1], [0, 1, 1], [2, 2, 2]])).tolist()
        [False, True, False]
        >>> rules.allow({1: married}), rules.allow({0: young, 1: married})
        (True, False)
    """

    shape: tuple[int, ...]
    boxes: tuple[Conditions, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.boxes)

    def broken_by(self, codes: Codes) -> Mask:
        """Which rows break a rule."""
        broken = np.zeros(codes.shape[1], dtype=np.bool_)
        for box in self.boxes:
            inside = np.ones(codes.shape[1], dtype=np.bool_)
            for column, mask in box.items():
                inside &= mask[codes[column]]
            broken |= inside
        return broken

    def possible_cells(self) -> NDArray[np.bool_]:
        """Which cells of the whole domain are possible; for domains that fit in memory."""
        return ~_union(self.boxes, tuple(range(len(self.shape))), self.shape)

    def impossible_in(self, columns: tuple[int, ...]) -> NDArray[np.bool_]:
        """The cells of a marginal that lie wholly in a box."""
        return _union([box for box in self.boxes if set(box) <= set(columns)], columns, self.shape)

    def on(self, columns: Sequence[int]) -> Rules:
        """The rules about some of the columns alone, in a domain of just these."""
        places = {column: place for place, column in enumerate(columns)}
        kept = [{places[c]: mask for c, mask in box.items()} for box in self.boxes if set(box) <= set(columns)]
        return Rules(tuple(self.shape[c] for c in columns), tuple(kept))

    def inside(self, conditions: Conditions) -> Rules:
        """These rules, and that every record fulfils the conditions."""
        return Rules(self.shape, self.boxes + tuple({c: ~mask} for c, mask in conditions.items() if not mask.all()))

    def allow(self, conditions: Conditions) -> bool:
        """Whether some record that fulfils the conditions is possible.

        Raises:
            QueryError: The search gave up.
        """
        steps = iter(range(MAX_STEPS))
        return all(mask.any() for mask in conditions.values()) and _search(self.ordered, dict(conditions), 0, steps)

    @cached_property
    def ordered(self) -> tuple[Conditions, ...]:
        """The boxes with the column that most boxes share first, which keeps what is left of a set in few pieces."""
        shared = Counter(column for box in self.boxes for column in box)
        inner = [dict(sorted(box.items(), key=lambda pair: (-shared[pair[0]], pair[0]))) for box in self.boxes]
        return tuple(sorted(inner, key=lambda box: [(-shared[c], c) for c in box]))


def pieces(conditions: Conditions, box: Conditions) -> Iterator[Conditions] | None:
    """What is left of a set of records outside a box, as disjoint sets; None when they do not meet.

    Column by column: outside the box in the first; inside in the first and outside in the second; and so on.
    """
    inside = {c: mask & conditions[c] if c in conditions else mask for c, mask in box.items()}
    if not all(mask.any() for mask in inside.values()):
        return None
    return _left(conditions, box, inside)


def _left(conditions: Conditions, box: Conditions, inside: Conditions) -> Iterator[Conditions]:
    fixed = dict(conditions)
    for column, mask in box.items():
        outside = ~mask & conditions[column] if column in conditions else ~mask
        if outside.any():
            yield {**fixed, column: outside}
        fixed[column] = inside[column]


def _search(boxes: Sequence[Conditions], conditions: Conditions, first: int, steps: Iterator[int]) -> bool:
    if next(steps, None) is None:
        raise QueryError("the schema's rules are too entangled to tell what is possible; use fewer or simpler rules")
    for number in range(first, len(boxes)):
        left = pieces(conditions, boxes[number])
        if left is not None:
            return any(_search(boxes, piece, number + 1, steps) for piece in left)
    return True


def _union(boxes: Sequence[Conditions], columns: tuple[int, ...], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    union = np.zeros([shape[c] for c in columns], dtype=np.bool_)
    for box in boxes:
        union[np.ix_(*(np.flatnonzero(box[c]) if c in box else np.arange(shape[c]) for c in columns))] = True
    return union


def columns_of_rule(text: str, columns: Sequence[Column]) -> set[int]:
    """Which columns a rule of either kind is about."""
    return {column for side in _sides(text) for column in parse_conditions(side, columns)}


def compile_rules(impossible: Sequence[str], implies: Sequence[str], columns: Sequence[Column]) -> Rules:
    """The rules that texts stand for.

    Raises:
        SchemaError: Names the rule, and says what is wrong with it: it does not parse, names an unknown column or
            value, is about too many combinations, or leaves no possible record together with the others.
    """
    shape = sizes_of(columns)
    rules = Rules(shape)
    for key, texts in (("impossible", impossible), ("implies", implies)):
        for text in texts:
            where = f"[rules] {key}, {text!r}"
            try:
                found = _boxes(text, columns, implication=key == "implies")
            except QueryError as error:
                raise SchemaError(f"{where}: {str(error).replace(' of the query', ' of the rule')}") from None
            for box in found:
                if (joint := math.prod(shape[c] for c in box)) > MAX_JOINT:
                    raise SchemaError(
                        f"{where}: its columns have {joint:,} combinations of values, and a rule takes at most"
                        f" {MAX_JOINT:,}; name fewer columns, or declare coarser bins"
                    )
            rules = Rules(shape, rules.boxes + tuple(found))
            if not _possible(rules, where):
                raise SchemaError(f"{where}: with the rules before it, no record at all would be possible")
    return rules


def _possible(rules: Rules, where: str) -> bool:
    try:
        return rules.allow({})
    except QueryError as error:
        raise SchemaError(f"{where}: {error}") from None


def _sides(text: str) -> list[str]:
    """The two sides of an arrow that stands outside quotes, or the whole text."""
    quote = ""
    for position, sign in enumerate(text):
        if sign in "'`" and quote in ("", sign):
            quote = "" if quote else sign
        if not quote and text.startswith(ARROW, position):
            return [text[:position], text[position + len(ARROW) :]]
    return [text]


def _boxes(text: str, columns: Sequence[Column], *, implication: bool) -> list[Conditions]:
    sides = _sides(text)
    if implication != (len(sides) == 2):
        form = "`conditions -> conditions`" if implication else "conditions joined by `and`, without an arrow"
        raise QueryError(f"write it as {form}")
    given = parse_conditions(sides[0], columns)
    boxes = [given]
    if implication:
        # "If A then B and C" forbids A without B, and A without C.
        then = parse_conditions(sides[1], columns)
        boxes = [{**given, c: given[c] & ~mask if c in given else ~mask} for c, mask in then.items()]
    kept = [box for box in boxes if all(mask.any() for mask in box.values())]
    return [{c: mask for c, mask in box.items() if not mask.all()} for box in kept]
