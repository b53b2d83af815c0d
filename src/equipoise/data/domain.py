"""A finite product domain: named columns, each with codes 0..size-1."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from equipoise.errors import QueryError

__all__ = ["Domain"]


@dataclass(frozen=True)
class Domain:
    """Column names and how many values each has.

    Example:
        >>> domain = Domain(("sex", "age"), (2, 10))
        >>> domain.num_cells, domain.index(["age"]), domain.project(["age"])
        (20, (1,), Domain(columns=('age',), sizes=(10,)))
    """

    columns: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def num_cells(self) -> int:
        """Size of the whole domain, as an exact integer."""
        return math.prod(self.sizes)

    @property
    def num_values(self) -> int:
        """Sum of the columns' sizes: the length of a one-hot record."""
        return sum(self.sizes)

    def index(self, columns: Iterable[str]) -> tuple[int, ...]:
        """Positions of the named columns."""
        positions = {name: i for i, name in enumerate(self.columns)}
        names = list(columns)
        for name in names:
            if name not in positions:
                raise QueryError(f"there is no column {name!r}; the columns are {', '.join(self.columns)}")
        return tuple(positions[name] for name in names)

    def project(self, columns: Iterable[str]) -> Domain:
        """The domain of some of the columns, in the order given."""
        ids = self.index(columns)
        return Domain(tuple(self.columns[i] for i in ids), tuple(self.sizes[i] for i in ids))
