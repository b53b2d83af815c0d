"""What a rule may name: statements about one column each, made from the schema alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from equipoise.core import Codes
from equipoise.data.columns import Column
from equipoise.data.conditions import Mask, describe_conditions

__all__ = ["Literals"]

Literal: TypeAlias = tuple[int, Mask]
"""A column's position, and the codes for which the statement is true."""


@dataclass(frozen=True, eq=False)
class Literals:
    """The statements that make up a record's bits.

    A column without an order has one for each of its values; a column with an order has "at least" and "below" for
    each of its cut points, and one for a missing value. So a rule can name both signs of a binary column.

    Attributes:
        columns: The schema's columns; the literals refer to them by position.
        each: The literals.

    Example:
        >>> from equipoise.data.listed import Categorical
        >>> from equipoise.data.whole import Integer
        >>> columns = (Categorical(name="sex", values=["Female", "Male"]), Integer(name="age", min=0, max=99, bins=3))
        >>> literals = Literals.of(columns, [0, 1])
        >>> literals.texts[1:4]
        ('sex = Male', 'age >= 33', 'age in 0..32')
        >>> literals.bits(np.array([[1], [0]])).tolist()
        [[0, 1, 0, 1, 0, 1]]
    """

    columns: Sequence[Column]
    each: tuple[Literal, ...]

    @classmethod
    def of(cls, columns: Sequence[Column], places: Sequence[int]) -> Literals:
        """The literals of the columns at these places."""
        return cls(columns, tuple((place, mask) for place in places for mask in _masks(columns[place])))

    @property
    def texts(self) -> tuple[str, ...]:
        """Each literal as a condition that `equipoise answer` understands."""
        return tuple(describe_conditions({place: mask}, self.columns) for place, mask in self.each)

    def conjunction(self, named: Sequence[int]) -> str:
        """Several literals at once, in words; what is said of one column is said once, as plainly as it can be.

        Example:
            >>> from equipoise.data.whole import Integer
            >>> literals = Literals.of((Integer(name="age", min=0, max=99, bins=4),), [0])
            >>> literals.conjunction([0, 2]), literals.conjunction([1, 2]), literals.conjunction([])
            ('age >= 50', 'never', 'always')
        """
        masks: dict[int, Mask] = {}
        for place, mask in (self.each[number] for number in named):
            masks[place] = masks[place] & mask if place in masks else mask
        if not all(mask.any() for mask in masks.values()):
            return "never"
        return describe_conditions(masks, self.columns) or "always"

    def bits(self, codes: Codes) -> NDArray[np.uint8]:
        """Encoded rows (num_columns, num_rows) as bits (num_rows, num_literals)."""
        bits = np.empty((codes.shape[1], len(self.each)), dtype=np.uint8)
        for number, (place, mask) in enumerate(self.each):
            bits[:, number] = mask[codes[place]]
        return bits


def _masks(column: Column) -> Iterator[Mask]:
    codes = np.arange(column.size)
    if not column.ordinal or column.kind == "codes":  # codes are numbered, which need not be an order
        yield from (codes == code for code in codes)
        return
    present = codes < column.num_values
    for cut in range(1, column.num_values):
        yield present & (codes >= cut)
        yield present & (codes < cut)
    if column.nullable:
        yield ~present
