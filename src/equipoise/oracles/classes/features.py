"""Records as bits: one a literal "column is code", which is what a query of a class names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.core import Codes
from equipoise.errors import SettingError

__all__ = ["Features", "Literal"]


class Literal(NamedTuple):
    """The statement that a column has a code, or has not."""

    column: int
    code: int
    negated: bool = False


@dataclass(frozen=True)
class Features:
    """The literals that make up a record's bits.

    Example:
        >>> Features.of([2, 3], signs="positive").literals[0], Features.of([2, 3]).num_features
        (Literal(column=0, code=1, negated=False), 5)
    """

    literals: tuple[Literal, ...]

    @classmethod
    def of(cls, sizes: Sequence[int], *, signs: str = "one_hot") -> Features:
        """The literals of columns with these numbers of values.

        Args:
            sizes: Values of each column.
            signs: "positive": code 1 of binary columns, one-hot for the others; "one_hot": one-hot for all, which gives
                binary columns both signs; "both": one-hot, and for columns of three or more values its negations.
        """
        if signs not in ("positive", "one_hot", "both"):
            raise SettingError("signs must be positive, one_hot or both")
        literals = []
        for column, size in enumerate(sizes):
            first = 1 if size == 2 and signs == "positive" else 0
            literals += [Literal(column, code) for code in range(first, size)]
            if size > 2 and signs == "both":
                literals += [Literal(column, code, True) for code in range(size)]
        return cls(tuple(literals))

    @property
    def num_features(self) -> int:
        """How many bits."""
        return len(self.literals)

    def bits(self, codes: Codes) -> NDArray[np.uint8]:
        """Encoded rows (num_columns, num_rows) as bits (num_rows, num_features)."""
        bits = np.empty((codes.shape[1], self.num_features), dtype=np.uint8)
        for place, (column, code, negated) in enumerate(self.literals):
            bits[:, place] = (codes[column] == code) != negated
        return bits
