"""A data player that does not know who it is until the first move says so: one player for each public table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.core import DataPlayer, Distribution, Move
from equipoise.data.distributions import MixtureOfProducts

__all__ = ["Chosen"]


@dataclass(frozen=True)
class Chosen:
    """Plays as the player that the first move names, on the moves after it.

    Attributes:
        players: One for each thing to choose.
        shape: Number of values of each column: before the choice, the uniform distribution is played.
    """

    players: tuple[DataPlayer[Any], ...]
    shape: tuple[int, ...]

    def init(self, rng: np.random.Generator) -> tuple[int, Any] | None:
        """Undecided."""
        return None

    def step(self, rng: np.random.Generator, state: tuple[int, Any] | None, moves: Sequence[Move]) -> tuple[int, Any]:
        """The chosen player's first state, then its steps."""
        if state is None:
            state = (number := int(moves[0].ids[0])), self.players[number].init(rng)
        number, inner = state
        return number, self.players[number].step(rng, inner, moves[1:]) if len(moves) > 1 else inner

    def play(self, state: tuple[int, Any] | None) -> Distribution:
        """What the chosen player plays."""
        if state is None:
            return MixtureOfProducts(tuple(np.full((1, size), 1.0 / size) for size in self.shape), np.ones(1))
        return self.players[state[0]].play(state[1])
