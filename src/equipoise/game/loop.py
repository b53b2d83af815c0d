"""The game: a query player and a data player take turns. Every algorithm of Equipoise is this loop.

Moves already in the ledger (a release that was killed and started again) are replayed to the data player and cost
nothing; the game goes on from there. The data player's randomness is drawn anew for each round from the recorded
seed, so a replay is the same game.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from equipoise.core import Concludes, Conclusion, DataPlayer, Distribution, Move, Progress, heard_by, silent
from equipoise.privacy.gate import Gate
from equipoise.privacy.private import Private
from equipoise.queries.played import Played
from equipoise.queries.queries import Queries
from equipoise.query_players.player import PaysFirst, QueryPlayer, Stops

__all__ = ["Outcome", "play"]

PARTS = 1000
"""Progress is told in thousandths of a round: some games have one round, which takes minutes."""

DataState = TypeVar("DataState")
QueryState = TypeVar("QueryState")


@dataclass(frozen=True)
class Outcome:
    """How a game ended.

    Attributes:
        distribution: The release's model: what the data player plays last, or what it concludes with.
        moves: Every move, oldest first.
        last_played: What the query player answered with its last move (None when there were no rounds).
        notes: What did not go as asked, in words; public.
    """

    distribution: Distribution
    moves: tuple[Move, ...]
    last_played: Played | None
    notes: tuple[str, ...] = ()


def _within(number: int, num_rounds: int, progress: Progress) -> Progress:
    """Progress within a round as progress of the game."""

    def heard(done: int, total: int) -> None:
        progress(PARTS * number + PARTS * min(done, total) // max(total, 1), PARTS * num_rounds)

    return heard


# Matrix products of a game are small. Further threads of BLAS make them no faster, and spin while they wait, at the
# cost of who has work: JAX's threads, or other runs.
@threadpool_limits.wrap(limits=1, user_api="blas")  # type: ignore[untyped-decorator]
def play(
    *,
    gate: Gate,
    truth: Private,
    workload: Queries,
    query_player: QueryPlayer[QueryState],
    data_player: DataPlayer[DataState],
    num_rounds: int,
    seed: int,
    progress: Progress = silent,
) -> Outcome:
    """Play `num_rounds` rounds, or until the query player stops, and return what the data player holds at the end."""
    recorded = query_player.rounds(gate.moves) if isinstance(query_player, PaysFirst) else gate.moves
    moves: list[Move] = []
    played: Played | None = None
    secret = query_player.init(truth)
    state = data_player.init(np.random.default_rng([seed, 0]))
    for number in range(num_rounds):
        played = Played(data_player.play(state), workload)
        if number < len(recorded):
            move = recorded[number]
            secret = query_player.recall(secret, played, move)
        else:
            secret, move = query_player.step(gate, secret, played)
        last = number == num_rounds - 1 or (isinstance(query_player, Stops) and query_player.over(secret))
        if last:
            played.answers  # noqa: B018  the certificate needs them as they were before the last repair
        moves.append(move)
        with heard_by(_within(number, num_rounds, progress)):
            state = data_player.step(np.random.default_rng([seed, number + 1]), state, moves)
        progress(PARTS * (num_rounds if last else number + 1), PARTS * num_rounds)
        if last:
            break
    end = data_player.conclude(state) if isinstance(data_player, Concludes) else Conclusion(data_player.play(state))
    return Outcome(end.distribution, tuple(moves), played, end.notes)
