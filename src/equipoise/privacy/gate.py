"""The gate: debit, draw, store, in one transaction; only a committed move is ever seen by anyone else.

Killed before the commit: nothing was released and nothing is owed. Killed after: the move is in the ledger and the game
goes on from it. That makes every answer exactly-once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from equipoise.core import Move
from equipoise.errors import BudgetError
from equipoise.privacy.accountant import Cost, cost
from equipoise.privacy.events import Event, Group, Tuned
from equipoise.privacy.noise import ExactNoise, Noise

__all__ = ["Book", "Gate", "Turn", "within"]


class Book(Protocol):
    """Where a gate writes: an open run of a ledger."""

    rows_per_unit: int
    reserved: Cost

    def moves(self) -> list[Move]:
        """Committed moves, oldest first."""
        ...

    def record(self, number: int, draw: Callable[[Callable[[Event, Cost], None], Cost], Move]) -> Move:
        """In one transaction: call `draw(charge, spent)`, store what it charged and the move it returns.

        `spent` is what the run has been charged so far. If move `number` is already stored, returns that one and
        draws nothing.
        """
        ...


def within(spent: Cost, reserved: Cost) -> bool:
    """Whether a cost fits a reservation, in the reservation's currency (pure epsilon when it is a pure one).

    Guarantees:
        Precondition: both are costs of one run. Statement: True only if every part that the reservation's currency has
        is covered. Proof: by comparison of exact fractions, part by part; a pure reservation needs a pure cost.
    """
    if reserved.epsilon is not None:
        return (
            spent.epsilon is not None
            and spent.epsilon <= reserved.epsilon
            and spent.delta <= reserved.delta
            and spent.conditional_epsilon <= reserved.conditional_epsilon
        )
    most = reserved.gaussian
    if most is not None and not spent.is_nothing and (spent.gaussian is None or spent.gaussian > most):
        return False
    return (
        spent.rho <= reserved.rho
        and spent.delta <= reserved.delta
        and spent.shift <= reserved.shift
        and spent.factor <= reserved.factor
        and spent.conditional_rho <= reserved.conditional_rho
    )


@dataclass
class Turn:
    """One move in the making. Mechanisms debit it before they open a count."""

    noise: Noise
    rows_per_unit: int
    reserved: Cost
    spent: Cost
    charge: Callable[[Event, Cost], None]

    def debit(self, event: Event) -> None:
        """Charge an event to the run.

        Guarantees:
            Raises `BudgetError` before anything is looked at when the run's reservation does not cover the event;
            the test compares exact fractions and uses public quantities only (a zCDP filter, docs/mechanisms.md).
        """
        charged: Event = event
        if self.rows_per_unit > 1 and not isinstance(event, Group | Tuned):  # a tuned run's budget is a unit's already
            charged = Group(event, self.rows_per_unit)
        price = cost(charged)
        after = self.spent + price
        if not within(after, self.reserved):
            raise BudgetError("the run asked for more than it reserved; nothing further was released")
        self.charge(charged, price)
        self.spent = after


class Gate:
    """The only way from the truth to a move.

    Guarantees:
        Precondition: moves are made by `play` alone. Statement: what the run was charged never exceeds what it
        reserved, whatever its moves were, and every move that anybody saw was paid for. Proof: `Turn.debit` refuses
        before a count is opened (a filter on exact sums: docs/mechanisms.md, Composition and conversion); the book
        commits charges and move together or neither.

    Example:
        A query player's step calls `gate.play(lambda turn: ...)`, and inside it the mechanisms: `select(turn, ...)`.
    """

    def __init__(self, book: Book, *, noise: Noise | None = None) -> None:
        self._book = book
        self._noise = ExactNoise() if noise is None else noise
        self._moves = book.moves()

    @property
    def noise(self) -> Noise:
        """The source of noise, for what was paid for in an earlier move."""
        return self._noise

    @property
    def moves(self) -> tuple[Move, ...]:
        """Every committed move of this run, oldest first."""
        return tuple(self._moves)

    def play(self, draw: Callable[[Turn], Move]) -> Move:
        """Make the next move: debit, draw and store it in one transaction, then return it."""

        def within_transaction(charge: Callable[[Event, Cost], None], spent: Cost) -> Move:
            return draw(Turn(self._noise, self._book.rows_per_unit, self._book.reserved, spent, charge))

        move = self._book.record(len(self._moves), within_transaction)
        self._moves.append(move)
        return move
