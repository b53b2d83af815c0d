"""A ledger run that lives in memory: the `Book` of games that are played to be looked at, not to be released."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from equipoise.core import Move
from equipoise.privacy.accountant import Cost
from equipoise.privacy.events import Event

__all__ = ["MemoryBook"]


@dataclass
class MemoryBook:
    """Keeps moves and charges in lists; `ends` has the number of charges after each move that was made here."""

    reserved: Cost
    rows_per_unit: int = 1
    stored: list[Move] = field(default_factory=list)
    charged: list[tuple[Event, Cost]] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    @property
    def spent(self) -> Cost:
        """What was charged so far."""
        total = Cost()
        for _, price in self.charged:
            total = total + price
        return total

    def moves(self) -> list[Move]:
        """Moves made so far, oldest first."""
        return list(self.stored)

    def record(self, number: int, draw: Callable[[Callable[[Event, Cost], None], Cost], Move]) -> Move:
        """Draw and keep (see `gate.Book`)."""
        if number < len(self.stored):
            return self.stored[number]
        pending: list[tuple[Event, Cost]] = []
        move = draw(lambda event, price: pending.append((event, price)), self.spent)
        self.charged += pending
        self.ends.append(len(self.charged))
        self.stored.append(move)
        return move
