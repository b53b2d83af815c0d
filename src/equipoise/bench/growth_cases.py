"""The sizes at which cost growth is measured, and the algorithms that have them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import ClassVar

from equipoise.algorithms import ALGORITHMS

__all__ = [
    "AXES",
    "BASE",
    "CASES",
    "METHODS",
    "NAMES",
    "ORDER",
    "SMALL",
    "Case",
    "Size",
    "across",
    "has_rounds",
    "line",
]

ORDER = 3


@dataclass(frozen=True)
class Size:
    """How large a problem is; queries are the cells of so many three-way marginals."""

    rows: int = 50_000
    attributes: int = 8
    values: int = 3
    marginals: int = 20
    rounds: int = 6

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in asdict(self).items())


BASE = Size()
SMALL = Size(rows=200, attributes=4, values=2, marginals=4, rounds=2)
"""Of the release that only imports."""

AXES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "rows": ((10_000, 250_000), (100_000, 1_000_000)),
    "attributes": ((6, 12), (7, 10)),
    "values": ((2, 6), (4, 5)),
    "marginals": ((10, 56), (30, 40)),
    "rounds": ((3, 18), (9, 12)),
}
"""What is changed, and to what besides the base; quick runs have two values more than the base, whole ones four."""

NAMES = {name: name for name in AXES} | {"marginals": "queries", "values": "values an attribute"}
"""Axes in words."""

METHODS = tuple(algorithm for algorithm in ALGORITHMS if algorithm.name != "auto")
"""All but `auto`, which here is one of the others."""


@dataclass(frozen=True)
class Case:
    """An algorithm at all sizes of the quick part, or of the rest."""

    table: ClassVar[str] = "made up"
    method: str
    quick: bool = True

    @property
    def label(self) -> str:
        """The row's name."""
        return self.method if self.quick else f"{self.method}, more sizes"

    @property
    def sizes(self) -> tuple[Size, ...]:
        """What is measured, each once."""
        return tuple(
            dict.fromkeys(size for axis in AXES for size, quick in _line(self.method, axis) if quick == self.quick)
        )


def has_rounds(method: str) -> bool:
    """Whether an algorithm's number of rounds can be set."""
    return any("num_rounds" in algorithm.__dataclass_fields__ for algorithm in METHODS if algorithm.name == method)


def line(method: str, axis: str) -> list[Size]:
    """An algorithm's sizes along an axis, ascending, the base among them."""
    return [size for size, _ in _line(method, axis)]


def _line(method: str, axis: str) -> list[tuple[Size, bool]]:
    if axis == "rounds" and not has_rounds(method):
        return []
    quick, whole = AXES[axis]
    sizes = [(BASE, True)] + [(replace(BASE, **{axis: value}), True) for value in quick]
    sizes += [(replace(BASE, **{axis: value}), False) for value in whole]
    return sorted(sizes, key=lambda each: int(getattr(each[0], axis)))


CASES = tuple(Case(algorithm.name, quick) for quick in (True, False) for algorithm in METHODS)


def across(size: Size, axis: str) -> float:
    """A size's place on an axis; marginals are counted by their cells, the queries."""
    value = float(getattr(size, axis))
    return value * size.values**ORDER if axis == "marginals" else value
