"""Which tests noticed changes so far, and so which to run first."""

from __future__ import annotations

import collections
from dataclasses import dataclass, field
from typing import Protocol

OWN = ("tests/unit/privacy", "src/equipoise/privacy")
"""What is most likely to notice a change."""


class Place(Protocol):
    """Where a change was made."""

    @property
    def file(self) -> str: ...
    @property
    def function(self) -> str: ...


@dataclass
class Record:
    """How often each test was run on mutants of a function, or of a file, and how often it noticed."""

    runs: collections.Counter[tuple[str, str]] = field(default_factory=collections.Counter)
    kills: collections.Counter[tuple[str, str]] = field(default_factory=collections.Counter)

    def note(self, mutant: Place, chosen: list[str], killer: str | None) -> None:
        """These were run, in this order, until the killer."""
        ran = chosen if killer is None else chosen[: chosen.index(killer) + 1]
        for place in (mutant.file, f"{mutant.file} {mutant.function}"):
            self.runs.update((place, name) for name in ran)
            self.kills[place, killer or ""] += 1

    def seconds(self, mutant: Place, name: str, cost: float) -> float:
        """Seconds of this test a kill, as far as one can know: what noticed changes of the same function goes first."""
        kills, runs = (0.3 if name.startswith(OWN) else 0.1), 1.0
        for place, weight in ((mutant.file, 1), (f"{mutant.file} {mutant.function}", 4)):
            kills += weight * self.kills[place, name]
            runs += weight * self.runs[place, name]
        return (cost + 0.002) * runs / kills
