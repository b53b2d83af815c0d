"""What a query player is: the only player that faces the truth; it returns nothing but its move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar, runtime_checkable

from equipoise.core import Move
from equipoise.privacy.gate import Gate
from equipoise.privacy.private import Private
from equipoise.queries.played import Played

__all__ = ["PaysFirst", "QueryPlayer", "Stops"]

State = TypeVar("State")
SeenState = TypeVar("SeenState", contravariant=True)


class QueryPlayer(Protocol[State]):
    """Finds queries on which the played data is wrong, and pays for every look."""

    def init(self, truth: Private) -> State:
        """The state before the first round; may hold private counts."""
        ...

    def step(self, gate: Gate, state: State, played: Played) -> tuple[State, Move]:
        """Make a move through the gate."""
        ...

    def recall(self, state: State, played: Played, move: Move) -> State:
        """The state after a move found in the ledger: what `step` returned when it made it; costs nothing."""
        ...


@runtime_checkable
class PaysFirst(Protocol):
    """A query player whose round is two entries of the ledger, the debit and then the choice (privacy/choice.py)."""

    def rounds(self, moves: Sequence[Move]) -> Sequence[Move]:
        """What was said in each round that the ledger has to its end."""
        ...


@runtime_checkable
class Stops(Protocol[SeenState]):
    """A query player that may need fewer rounds than were planned."""

    def over(self, state: SeenState) -> bool:
        """Whether the move that led to this state was the last: decided from public quantities only."""
        ...
