"""One statistical query: a conjunction, over distinct columns, of "the value is one of these"."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.core import Codes, Distribution
from equipoise.data.conditions import Conditions
from equipoise.errors import QueryError

__all__ = ["Query"]


@dataclass(frozen=True, eq=False)
class Query:
    """q(x) = Π_l masks[l][x at columns[l]].

    Cells of marginals, conjunctions of literals, ranges and prefixes are all of this form.

    Columns are kept in increasing order, whatever order they are given in.

    Attributes:
        columns: Positions of the columns in the domain, distinct, at least one.
        masks: For each of them, which codes count.

    Example:
        >>> query = Query((3, 0), (np.array([True, False]), np.array([False, True, True])))
        >>> query.columns, query.cell
        ((0, 3), None)
    """

    columns: tuple[int, ...]
    masks: tuple[NDArray[np.bool_], ...]

    def __post_init__(self) -> None:
        if not self.columns:
            raise QueryError("a query needs at least one column")
        if len(set(self.columns)) != len(self.columns) or len(self.masks) != len(self.columns):
            raise QueryError("a query needs distinct columns and one mask for each")
        order = np.argsort(self.columns)
        masks = []
        for i in order:
            mask = np.array(self.masks[i], dtype=np.bool_)
            if mask.ndim != 1 or mask.size == 0:
                raise QueryError("a query's mask has one entry for each value of its column")
            mask.setflags(write=False)
            masks.append(mask)
        object.__setattr__(self, "columns", tuple(int(self.columns[i]) for i in order))
        object.__setattr__(self, "masks", tuple(masks))

    @property
    def conditions(self) -> Conditions:
        """The same as a mask for each column."""
        return dict(zip(self.columns, self.masks, strict=True))

    @property
    def cell(self) -> tuple[int, ...] | None:
        """The codes, when each mask allows exactly one value: then the query is a cell of a marginal."""
        if any(mask.sum() != 1 for mask in self.masks):
            return None
        return tuple(int(mask.argmax()) for mask in self.masks)

    def answer(self, distribution: Distribution) -> float:
        """The probability that the query holds."""
        tensor = np.asarray(distribution.marginal(self.columns), dtype=np.float64)
        for mask in self.masks:
            tensor = tensor[mask].sum(axis=0)
        return float(tensor)

    def selects(self, codes: Codes) -> NDArray[np.bool_]:
        """Which rows the query holds for.

        Example:
            >>> Query((1,), (np.array([False, True]),)).selects(np.array([[0, 0, 0], [1, 0, 1]], dtype=np.uint8))
            array([ True, False,  True])
        """
        chosen = self.masks[0][codes[self.columns[0]]]
        for column, mask in zip(self.columns[1:], self.masks[1:], strict=True):
            chosen = chosen & mask[codes[column]]
        return np.asarray(chosen)

    def _key(self) -> tuple[object, ...]:
        return (self.columns, tuple((mask.size, mask.tobytes()) for mask in self.masks))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Query) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())
