"""An algorithm as something to audit: its own plan and players, on a toy table and its neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.algorithms import Algorithm, Plan, Players, Setting
from equipoise.algorithms.algorithm import require_within, uses_public
from equipoise.audit.book import MemoryBook
from equipoise.audit.enumeration import Law, Made, enumerate_move
from equipoise.audit.toys import TinyGame, public_rows, standard
from equipoise.core import Move
from equipoise.privacy import Private
from equipoise.privacy.cost import Cost
from equipoise.privacy.gate import Gate
from equipoise.privacy.noise import Noise
from equipoise.queries.played import Played
from equipoise.query_players.player import Stops

__all__ = ["RHO", "Subject", "quick_options", "subject_of"]

RHO = Fraction(1, 2)
EPSILON = Fraction(2)
MEMORY = 2**31


@dataclass(frozen=True, eq=False)
class Subject:
    """A plan with its players, and the table they play on.

    Attributes:
        game: The table and its workload.
        plan: The algorithm's own.
        players: The algorithm's own.
        history: Moves of one game, played with the product's noise, and what was played before each.
    """

    game: TinyGame
    plan: Plan
    players: Players

    def truth(self, rows: NDArray[np.int64]) -> Private:
        """The counts that the plan asks for."""
        return Private(self.plan.asked.count_rows(rows.astype(np.uint8)), self.plan.asked)

    @property
    def neighbour(self) -> NDArray[np.int64]:
        """The table with one (0, 0) replaced by a (1, 1)."""
        return self.game.neighbour(tuple(int(size) - 1 for size in (2, 2)))

    @cached_property
    def history(self) -> tuple[list[Move], list[Played], MemoryBook]:
        """One game with real noise. The last repair, which nobody answers, is left out."""
        book = MemoryBook(self.plan.reserve)
        gate, query_player, data_player = Gate(book), self.players.query_player, self.players.data_player
        moves: list[Move] = []
        seen: list[Played] = []
        secret = query_player.init(self.truth(self.game.rows))
        state = data_player.init(np.random.default_rng([0, 0]))
        for number in range(self.plan.num_rounds):
            seen.append(Played(data_player.play(state), self.plan.asked))
            secret, move = query_player.step(gate, secret, seen[-1])
            moves.append(move)
            if number == self.plan.num_rounds - 1 or (isinstance(query_player, Stops) and query_player.over(secret)):
                break
            state = data_player.step(np.random.default_rng([0, number + 1]), state, moves)
        return moves, seen, book

    def play(self, rows: NDArray[np.int64], number: int, noise: Noise | None = None) -> Made:
        """Move `number` on a table, after the history's moves before it."""
        moves, seen, before = self.history
        begun = before.ends[number - 1] if number else 0
        book = MemoryBook(self.plan.reserve, stored=moves[:number], charged=list(before.charged[:begun]))
        query_player = self.players.query_player
        secret = query_player.init(self.truth(rows))
        for past in range(number):
            secret = query_player.recall(secret, seen[past], moves[past])
        secret, move = query_player.step(Gate(book, noise=noise), secret, seen[number])
        over = isinstance(query_player, Stops) and query_player.over(secret)
        return Made(move, sum((price for _, price in book.charged[begun:]), Cost()), over)

    def law(self, number: int, *, sabotage: float = 1.0, only: tuple[str, ...] = ()) -> Law:
        """The law of a move on the table and on its neighbour."""
        return enumerate_move(
            lambda noise: self.play(self.game.rows, number, noise),
            lambda noise: self.play(self.neighbour, number, noise),
            sabotage=sabotage,
            only=only,
        )


def quick_options(algorithm: type[Any], given: Sequence[str] = ()) -> dict[str, Any]:
    """Options that make an algorithm's game short, for those of its options that are not given."""
    known = {field.name for field in fields(algorithm)}
    short = {
        **{"num_rounds": 2, "num_draws": 2, "num_records": 2, "num_selected": 2, "moves": "cell"},
        **{"num_relaxed": 20, "num_products": 20, "max_steps": 20, "public_rounds": 2},
    }
    return {name: value for name, value in short.items() if name in known and name not in given}


def subject_of(algorithm: Algorithm, *, pure: bool = False, game: TinyGame | None = None) -> Subject:
    """An algorithm on a toy table.

    Raises:
        SettingError: it refuses the table, or has no pure variant.
        BudgetError: its plan costs more than it was given.
    """
    toy = standard() if game is None else game
    public = public_rows()[0] if uses_public(algorithm) else None
    rho, epsilon = (None, EPSILON) if pure else (RHO, None)
    setting = Setting(toy.workload, toy.num_rows, rho, epsilon, 1, MEMORY, public)
    plan = algorithm.plan(setting)
    require_within(plan, setting)
    return Subject(toy, plan, algorithm.players(setting, plan))
