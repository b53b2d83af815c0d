"""Any data player, held to numbers: a fit that ends in NaN or infinity does not reach a query player or a release.

The measurements are paid for and kept in the ledger, so a fit that breaks is no reason to give up the release, and
another try with the same seed would break alike. The last model that was made of numbers is played on instead, and the
statement and the report say so: accuracy suffers, the guarantee does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from equipoise.core import Concludes, Conclusion, DataPlayer, Distribution, Move
from equipoise.data.distributions import NotFinite, is_finite
from equipoise.errors import SettingError

__all__ = ["Finite", "Held"]


class Held(NamedTuple):
    """The state: the player's own, what is played, in how many rounds that was an older model, and of how many."""

    inner: Any
    played: Distribution
    num_broken: int = 0
    num_rounds: int = 0


@dataclass(frozen=True)
class Finite:
    """Plays what `player` plays, as long as that is made of numbers."""

    player: DataPlayer[Any]

    def init(self, rng: np.random.Generator) -> Held:
        """See `DataPlayer.init`.

        Raises:
            SettingError: the player starts with what are no numbers.
        """
        inner = self.player.init(rng)
        played = self._played(inner)
        if played is None:
            raise SettingError("the method starts from numbers that are not finite; choose smaller options")
        return Held(inner, played)

    def step(self, rng: np.random.Generator, state: Held, moves: Sequence[Move]) -> Held:
        """See `DataPlayer.step`; a step that breaks leaves what is played as it was."""
        try:
            # What these warnings tell of is looked for below.
            with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
                inner = self.player.step(rng, state.inner, moves)
                played = self._played(inner)
        except NotFinite:
            inner, played = state.inner, None
        broken = played is None
        return Held(inner, played or state.played, state.num_broken + broken, state.num_rounds + 1)

    def play(self, state: Held) -> Distribution:
        """The newest model that is made of numbers."""
        return state.played

    def conclude(self, state: Held) -> Conclusion:
        """What the player concludes with, if that is made of numbers, and in how many rounds it was not."""
        end, sound = Conclusion(state.played), True
        if isinstance(self.player, Concludes):
            end = self.player.conclude(state.inner)
            sound = is_finite(end.distribution)
        if sound and not state.num_broken:
            return end
        where = f"in {state.num_broken} of {state.num_rounds} rounds" if sound else "at the end"
        note = (
            f"the fit gave no finite numbers {where}, and the model before was kept: accuracy has suffered, the"
            " guarantee has not. Next time, try smaller options (a learning rate, say)"
        )
        return Conclusion(end.distribution if sound else state.played, (*end.notes, note))

    def _played(self, inner: Any) -> Distribution | None:
        try:
            played = self.player.play(inner)
        except NotFinite:
            return None
        return played if is_finite(played) else None
