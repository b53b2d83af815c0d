"""A book in memory for a run that another event has paid for: the gate holds it to its budget, nobody is charged."""

from __future__ import annotations

from collections.abc import Callable

from equipoise.core import Move
from equipoise.errors import LedgerError
from equipoise.privacy.accountant import Cost
from equipoise.privacy.capped import Paid
from equipoise.privacy.events import Event, Gated

__all__ = ["PaidBook"]


class PaidBook:
    """One of the runs that a `Gated` event of a ledger's run has paid for.

    Its moves end with the process: what is made of them is committed to the ledger as a whole, or was never made.

    Guarantees:
        Precondition: a `Gated` event of the ledger's run has paid for this run among its `num_runs`. Statement: what is
        drawn through a gate on this book costs at most the event's budget. Proof: the gate holds it to `reserved`,
        which is that budget, and the runs of one event add up (`accountant.cost`, Gated).
    """

    def __init__(self, paid: Paid) -> None:
        found = [event for event in paid.events() if isinstance(event, Gated)]
        if len(found) != 1:
            raise LedgerError("the ledger has not been charged for this method; nothing was looked at")
        self.rows_per_unit = 1  # the event is for one record; the ledger has multiplied it
        self.reserved = Cost(found[0].budget, None)
        self._moves: list[Move] = []
        self._spent = Cost()

    def moves(self) -> list[Move]:
        """See `gate.Book`."""
        return list(self._moves)

    def record(self, number: int, draw: Callable[[Callable[[Event, Cost], None], Cost], Move]) -> Move:
        """See `gate.Book`."""
        prices: list[Cost] = []
        move = draw(lambda _, price: prices.append(price), self._spent)
        self._spent = sum(prices, self._spent)
        self._moves.append(move)
        return move
