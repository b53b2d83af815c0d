"""Conditions on columns as text: `sex = Female and age in 30..39`. The form of queries and of a schema's rules.

    query    literal { and literal }
    literal  column = item            column != item        every value but that one, a missing one included
             column < value           also <= > >=          never a missing value
             column in item           column not in item
             column in {item, ...}    column not in {item, ...}
             column is missing        column is not missing
    item     value, or a range: low..high, low.. or ..high
    value    a word, or quoted: 'a and b', with '' for a quote inside
    column   a word, or in backquotes: `income>50K`

Several literals on one column are all required. Which values and ranges a column takes is the column's business
(data/columns.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, ParamSpec, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from equipoise.data.columns import MISSING, Column, Comparison, listing
from equipoise.data.items import names_of
from equipoise.errors import QueryError

__all__ = ["Conditions", "Mask", "describe_conditions", "parse_conditions"]

Mask: TypeAlias = NDArray[np.bool_]
Conditions: TypeAlias = Mapping[int, Mask]
"""For each column that is restricted, by its position: which of its codes are meant."""

P = ParamSpec("P")

WORD = r"(?:(?!\.\.)[^\s'`=<>!{},])+"
TOKEN = re.compile(
    rf"\s*(?:(?P<sign>!=|<=|>=|\.\.|[=<>{{}},])|'(?P<quoted>(?:[^']|'')*)'|`(?P<name>(?:[^`]|``)*)`|(?P<word>{WORD}))"
)
KEYWORDS = frozenset({"and", "in", "is", "missing", "not"})


class Token(NamedTuple):
    """A piece of a query's text: kind is sign, quoted, name, word or end."""

    kind: str
    text: str
    start: int

    @property
    def keyword(self) -> str:
        """The word in lower case, or the sign; empty for anything quoted."""
        return self.text.lower() if self.kind in ("word", "sign") else ""


def parse_conditions(text: str, columns: Sequence[Column]) -> Conditions:
    """The conditions that a text stands for.

    Raises:
        QueryError: Says at which character, what was expected there, and which columns or values are legal.

    Example:
        >>> from equipoise.data.whole import Integer
        >>> conditions = parse_conditions("age >= 20", (Integer(name="age", min=0, max=39, bins=4),))
        >>> conditions[0].tolist()
        [False, False, True, True]
    """
    return _Parser(text, columns).conditions()


class _Parser:
    """Reads tokens from left to right, one method a line of the grammar."""

    def __init__(self, text: str, columns: Sequence[Column]) -> None:
        self.columns = columns
        self.tokens = _tokens(text)
        self.position = 0

    @property
    def next(self) -> Token:
        return self.tokens[self.position]

    def take(self) -> Token:
        token = self.next
        self.position += token.kind != "end"
        return token

    def accept(self, keyword: str) -> bool:
        found = self.next.keyword == keyword
        self.position += found
        return found

    def refuse(self, expected: str) -> QueryError:
        found = "the end" if self.next.kind == "end" else repr(self.next.text)
        return QueryError(f"at character {self.next.start + 1} of the query: expected {expected}, found {found}")

    def conditions(self) -> Conditions:
        masks: dict[int, Mask] = {}
        while True:
            column, mask = self.literal()
            masks[column] = masks[column] & mask if column in masks else mask
            if self.next.kind == "end":
                return masks
            if not self.accept("and"):
                raise self.refuse("`and` or the end (quote a value that has spaces)")

    def literal(self) -> tuple[int, Mask]:
        start = self.next.start
        index = self.column()
        column = self.columns[index]
        try:
            return index, self.condition(column)
        except _Misfit as error:
            raise QueryError(f"in the condition at character {start + 1} of the query: {error}") from error

    def column(self) -> int:
        names = names_of(self.columns)
        if self.next.kind not in ("word", "name") or self.next.text not in names:
            raise self.refuse(f"a column ({listing(names)}; in backquotes if its name has spaces or signs)")
        return names.index(self.take().text)

    def condition(self, column: Column) -> Mask:
        operator = self.next.keyword
        if operator in ("=", "!="):
            self.take()
            mask = self.item(column)
            return mask if operator == "=" else ~mask
        if operator in ("<", "<=", ">", ">="):
            self.take()
            return _ask(column.compare, cast(Comparison, operator), self.value())
        if self.accept("is"):
            negated = self.accept("not")
            if not self.accept("missing"):
                raise self.refuse("`missing`")
            return self.missing(column) ^ negated
        negated = self.accept("not")
        if not self.accept("in"):
            raise self.refuse("`in`" if negated else "one of = != < <= > >= in, not in, is missing")
        mask = self.items(column) if self.accept("{") else self.item(column)
        return mask ^ negated

    def missing(self, column: Column) -> Mask:
        if not column.nullable:
            raise _Misfit(f"column {column.name!r}: it is not nullable, so no value is missing")
        return _ask(column.equals, MISSING)

    def items(self, column: Column) -> Mask:
        mask = np.zeros(column.size, dtype=np.bool_)
        if self.accept("}"):
            return mask
        while True:
            mask |= self.item(column)
            if self.accept("}"):
                return mask
            if not self.accept(","):
                raise self.refuse("`,` or `}`")

    def item(self, column: Column) -> Mask:
        low = None if self.next.keyword == ".." else self.value()
        if not self.accept(".."):
            assert low is not None
            return _ask(column.equals, low)
        # A bare `..` would be every value but the missing one; `is not missing` says that better.
        high = self.value() if low is None or self.next.kind == "quoted" or self._at_value() else None
        if low is not None and high is not None and f"{low}..{high}" in column.labels:
            return _ask(column.equals, f"{low}..{high}")
        return _ask(column.between, low, high)

    def _at_value(self) -> bool:
        return self.next.kind == "word" and self.next.keyword not in KEYWORDS

    def value(self) -> str:
        if self.next.kind != "quoted" and not self._at_value():
            raise self.refuse("a value (quote it if it has spaces or signs, or is a keyword)")
        return self.take().text


class _Misfit(Exception):
    """A condition that the column refuses; becomes a QueryError with its place."""


def _ask(method: Callable[P, Mask], *args: P.args, **kwargs: P.kwargs) -> Mask:
    try:
        return method(*args, **kwargs)
    except QueryError as error:
        raise _Misfit(str(error)) from error


def _tokens(text: str) -> list[Token]:
    tokens, end = [], 0
    stop = len(text.rstrip())
    while end < stop:
        match = TOKEN.match(text, end)
        if match is None:
            start = end + len(text[end:]) - len(text[end:].lstrip())
            raise QueryError(
                f"at character {start + 1} of the query: a quote that is not closed, or a sign that has no meaning here"
            )
        kind = str(match.lastgroup)
        quote = {"quoted": "'", "name": "`"}.get(kind)
        part = match[kind]
        tokens.append(
            Token(kind, part.replace(2 * quote, quote) if quote else part, match.start(kind) - (quote is not None))
        )
        end = match.end()
    return [*tokens, Token("end", "", stop)]


def describe_conditions(conditions: Conditions, columns: Sequence[Column]) -> str:
    """A text that `parse_conditions` takes back to the same conditions, as short and readable as we can make it."""
    parts = []
    for index, mask in conditions.items():
        column = columns[index]
        name = _quoted(column.name, "`")
        parts.append(next(text for text in _candidates(column, name, mask) if _means(text, columns, index, mask)))
    return " and ".join(parts)


def _means(text: str, columns: Sequence[Column], index: int, mask: Mask) -> bool:
    try:
        found = parse_conditions(text, columns)
    except QueryError:
        return False
    return list(found) == [index] and np.array_equal(found[index], mask)


def _candidates(column: Column, name: str, mask: Mask) -> Iterator[str]:
    """Texts that may stand for a mask, the most readable first; the last always does, as any label is a legal item."""
    chosen = np.flatnonzero(mask)
    others = np.flatnonzero(~mask)
    labels = column.labels
    if len(chosen) == 1:
        yield from _single(name, labels[chosen[0]], "=", "is")
    if len(others) == 1 and labels[others[0]] == MISSING:
        yield f"{name} is not missing"
    if column.ordinal and len(chosen) and chosen[-1] - chosen[0] + 1 == len(chosen):
        low = _quoted(labels[chosen[0]].split("..")[0])
        high = _quoted(labels[chosen[-1]].split("..")[-1])
        if len(chosen) > 1 and chosen[0] == 0:
            yield f"{name} <= {high}"
            yield f"{name} < {high}"
        if len(chosen) > 1:
            yield f"{name} >= {low}"
        yield f"{name} in {low}..{high}"
    if len(others) == 1:
        yield from _single(name, labels[others[0]], "!=", "is not")
    if len(others) < len(chosen):
        yield f"{name} not in {{{', '.join(_quoted(labels[code]) for code in others)}}}"
    yield f"{name} in {{{', '.join(_quoted(labels[code]) for code in chosen)}}}"


def _single(name: str, label: str, sign: str, verb: str) -> Iterator[str]:
    if label == MISSING:
        yield f"{name} {verb} missing"
    if ".." not in label:
        yield f"{name} {sign} {_quoted(label)}"


def _quoted(text: str, quote: str = "'") -> str:
    if re.fullmatch(WORD, text) and text.lower() not in KEYWORDS:
        return text
    return quote + text.replace(quote, 2 * quote) + quote
