"""The game: a query player and a data player take turns. Every algorithm of Equipoise is this loop.

Moves already in the ledger (a release that was killed and started again) are replayed to the data player and cost
nothing; the game goes on from there. The data player's randomness is drawn anew for each round from the recorded
seed, so a replay is the same game.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from equipoise.core import DataPlayer, Distribution, Move, Progress, silent
from equipoise.privacy.gate import Gate
from equipoise.privacy.private import Private
from equipoise.queries.played import Played
from equipoise.queries.workload import Workload
from equipoise.query_players.player import QueryPlayer

__all__ = ["Outcome", "play"]

DataState = TypeVar("DataState")
QueryState = TypeVar("QueryState")


@dataclass(frozen=True)
class Outcome:
    """How a game ended.

    Attributes:
        distribution: What the data player plays last: the release's model.
        moves: Every move, oldest first.
        last_played: What the query player answered with its last move (None when there were no rounds).
    """

    distribution: Distribution
    moves: tuple[Move, ...]
    last_played: Played | None


def play(
    *,
    gate: Gate,
    truth: Private,
    workload: Workload,
    query_player: QueryPlayer[QueryState],
    data_player: DataPlayer[DataState],
    num_rounds: int,
    seed: int,
    progress: Progress = silent,
) -> Outcome:
    """Play `num_rounds` rounds and return what the data player holds at the end."""
    recorded = gate.moves
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
        if number == num_rounds - 1:
            played.answers  # noqa: B018  the certificate needs them as they were before the last repair
        moves.append(move)
        state = data_player.step(np.random.default_rng([seed, number + 1]), state, moves)
        progress(number + 1, num_rounds)
    return Outcome(data_player.play(state), tuple(moves), played)
