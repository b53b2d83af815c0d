"""A tuned release while it is unfinished: paid for in one event, its runs sealed until the best of them is chosen.

The whole price is debited in the transaction that draws how many runs there will be and which candidate each tries.
What the runs then draw is committed like any move, but to the table `sealed`: it is as secret as the rows themselves,
since only one run was paid for. A second start after a kill finds the same number, the same candidates and the same
draws, and goes on; nobody can throw the dice again because they did not like the time it took. The best run's moves
become the release's moves in the transaction that deletes everything else. Closing an unfinished tuned release deletes
it all and gives nothing back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from equipoise.core import Move
from equipoise.errors import BudgetError
from equipoise.privacy import store
from equipoise.privacy.accountant import Cost, cost
from equipoise.privacy.chain import append, write
from equipoise.privacy.cost import cost_from_text, cost_to_text
from equipoise.privacy.events import Event, Tuned
from equipoise.privacy.gate import within
from equipoise.privacy.run import Run
from equipoise.privacy.stored_moves import move_from_bytes, move_to_bytes

__all__ = ["Chosen", "SealedBook", "Trials"]

_DRAW = -1
"""The part that holds the candidates; the game of trial t is part 2t and its score part 2t + 1."""


class Chosen(NamedTuple):
    """The run that is released: public."""

    candidate: int
    score: int


class SealedBook:
    """The `Book` of one part of a trial: kept to a reservation of its own, charged to nobody (the whole was paid)."""

    def __init__(self, run: Run, part: int, reserved: Cost) -> None:
        self._run, self._part = run, part
        self.rows_per_unit = run.rows_per_unit
        self.reserved = reserved

    def _rows(self, connection: sa.Connection) -> Sequence[Any]:
        table = store.sealed
        return connection.execute(
            sa.select(table.c.spent, table.c.body)
            .where(table.c.run == self._run.key, table.c.part == self._part)
            .order_by(table.c.number)
        ).all()

    def moves(self) -> list[Move]:
        """Committed moves, oldest first."""
        with store.read(self._run.engine) as connection:
            return [move_from_bytes(row.body) for row in self._rows(connection)]

    def record(self, number: int, draw: Callable[[Callable[[Event, Cost], None], Cost], Move]) -> Move:
        """Draw and store in one transaction (see `gate.Book`)."""
        with write(self._run.engine, self._run.account) as connection:
            rows = self._rows(connection)
            if number < len(rows):
                return move_from_bytes(rows[number].body)
            self._run.open_row(connection)
            spent = cost_from_text(rows[-1].spent) if rows else Cost()
            prices: list[Cost] = []
            move = draw(lambda _, price: prices.append(price), spent)
            _insert(connection, self._run, self._part, number, sum(prices, spent), move)
        return move


def _insert(connection: sa.Connection, run: Run, part: int, number: int, spent: Cost, move: Move) -> None:
    values = {"run": run.key, "part": part, "number": number, "spent": cost_to_text(spent)}
    connection.execute(sa.insert(store.sealed).values(body=move_to_bytes(move), **values))


class Trials:
    """The trials of one tuned release.

    Guarantees:
        Precondition: the event's `budget` is what each trial's gates are given, the score's included. Statement: the
        release costs the event (`accountant.cost`, Tuned), though it may be interrupted and begun again at any point.
        Proof: papernot2022hyper and the proof of privacy/random_runs.py, which need that K and the candidates do not
        depend on the data and are drawn once: they are stored in the transaction of the debit, and found again.
    """

    def __init__(self, run: Run) -> None:
        self._run = run

    def begin(self, event: Tuned, draw: Callable[[], Sequence[int]]) -> tuple[int, ...]:
        """The candidate of each trial, drawn and stored together with the debit of the whole; the first time only.

        Raises:
            BudgetError: the run did not reserve this much.
        """
        run, table = self._run, store.sealed
        with write(run.engine, run.account) as connection:
            row = run.open_row(connection)
            stored = connection.execute(
                sa.select(table.c.body).where(table.c.run == run.key, table.c.part == _DRAW)
            ).scalar()
            if stored is not None:
                return tuple(int(i) for i in move_from_bytes(stored).ids)
            before, price = cost_from_text(row.spent), cost(event)
            if not within(before + price, run.reserved):
                raise BudgetError("the tuning asked for more than it reserved; nothing was released")
            run.charge(connection, 0, before, [(event, price)])
            candidates = np.asarray(draw(), dtype=np.int64)
            _insert(connection, run, _DRAW, 0, Cost(), Move(candidates, np.zeros_like(candidates), None, 0.0))
        return tuple(int(i) for i in candidates)

    def game(self, trial: int, reserved: Cost) -> SealedBook:
        """Where a trial's game writes."""
        return SealedBook(self._run, 2 * trial, reserved)

    def score(self, trial: int, reserved: Cost) -> SealedBook:
        """Where a trial's score is written."""
        return SealedBook(self._run, 2 * trial + 1, reserved)

    def choose(self, trial: int, chosen: Chosen) -> None:
        """Make a trial's game the release's, and forget all else, in one transaction."""
        run = self._run
        moves = self.game(trial, Cost()).moves()
        with write(run.engine, run.account) as connection:
            run.open_row(connection)
            bodies = [move_to_bytes(move) for move in moves]
            for number, body in enumerate(bodies):
                connection.execute(sa.insert(store.moves).values(run=run.key, number=number, body=body))
            answers = [hashlib.sha256(body).hexdigest() for body in bodies]
            entry = {"what": "chosen", "run": run.key, **chosen._asdict(), "answers": answers}
            append(connection, run.account, run.key, entry)
            connection.execute(sa.delete(store.sealed).where(store.sealed.c.run == run.key))

    @property
    def chosen(self) -> Chosen | None:
        """What was chosen, or None while nothing is."""
        found = [body for body in self._run.entries() if body["what"] == "chosen"]
        return Chosen(found[0]["candidate"], found[0]["score"]) if found else None
