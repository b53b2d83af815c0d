"""Best response in whole marginals with a budget that is annealed: cheap rounds first, better ones when they fail.

The whole budget is a number of units, what one round of the fixed schedule costs. A round of u units measures with
1/√u of the noise and selects with √u times the parameter. The game begins with rounds of one unit. When a round moved
the model by no more than its noise would (the sum of |change| over the m measured cells is at most m σ √(2/π)), its
measurements were too noisy to teach anything, and from then on rounds have four times the units: half the noise.
When the units left are fewer than two rounds take, one round takes them all and the game is over (mckenna2022aim,
section 4.3 in v2; MECHANISMS section 10, item 5).

Guarantees:
    Rounds of u units cost exactly u times a round of one, as fractions, when √u is a power of two; the last round is
    rounded to the private side. So the run never costs more than all units, which is what the plan reserves, and the
    gate refuses if it did. How many units a round takes depends on the moves and on the model fitted to them: both
    public, so choosing so is free (adaptive composition with a fixed total, a zCDP filter).

    A second start replays the same schedule: units spent are read off the recorded moves' noise, and what was played
    is the same game's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from equipoise.core import FloatArray, IntArray, Move
from equipoise.privacy import accountant
from equipoise.privacy.gate import Gate
from equipoise.privacy.private import Private
from equipoise.queries.played import Played
from equipoise.query_players.best_marginal import BestMarginal
from equipoise.query_players.best_response import Seen

__all__ = ["Annealed", "Annealing"]


class Annealing(NamedTuple):
    """Where the schedule is. All but what `seen` holds of the truth is public.

    Attributes:
        seen: The truth and what was measured.
        units_left: What is left of the budget.
        units: What a round takes at present.
        ids: Queries that the last move measured.
        before: The model's answers to them when that move was made.
    """

    seen: Seen
    units_left: int
    units: int
    ids: IntArray
    before: FloatArray


@dataclass(frozen=True)
class Annealed:
    """Select and measure one marginal a round, for as much as the schedule says.

    Attributes:
        one_unit: The player of a round of one unit, with Gaussian noise.
        num_units: The budget; the number of rounds if none fails.
    """

    one_unit: BestMarginal
    num_units: int

    def init(self, truth: Private) -> Annealing:
        """The whole budget, rounds of one unit."""
        nothing = np.zeros(0, dtype=np.int64)
        return Annealing(self.one_unit.init(truth), self.num_units, 1, nothing, np.zeros(0))

    def step(self, gate: Gate, state: Annealing, played: Played) -> tuple[Annealing, Move]:
        """Judge the last round, then select and measure in one transaction of the gate."""
        judged = self._judge(state, played)
        units = judged.units if judged.units_left >= 2 * judged.units else judged.units_left
        seen, move = self.round_of(units).step(gate, judged.seen, played)
        return self._after(judged, seen, played, move), move

    def recall(self, state: Annealing, played: Played, move: Move) -> Annealing:
        """The state after a recorded move."""
        judged = self._judge(state, played)
        return self._after(judged, self.one_unit.recall(judged.seen, played, move), played, move)

    def over(self, state: Annealing) -> bool:
        """Whether the budget is used up."""
        return state.units_left == 0

    def round_of(self, units: int) -> BestMarginal:
        """The player of a round of so many units.

        Guarantees:
            Its two events cost at most `units` times those of `one_unit`.
        """
        root = math.isqrt(units)
        factor = Fraction(root) if root**2 == units else accountant.root_below(Fraction(units))
        stddev = self._stddev / math.sqrt(units)
        while Fraction(stddev) ** 2 * units < Fraction(self._stddev) ** 2:
            stddev = math.nextafter(stddev, math.inf)
        return replace(
            self.one_unit, selection_epsilon=self.one_unit.selection_epsilon * factor, measurement_stddev=stddev
        )

    @property
    def _stddev(self) -> float:
        assert self.one_unit.measurement_stddev is not None, "annealing needs Gaussian noise"
        return self.one_unit.measurement_stddev

    def _judge(self, state: Annealing, played: Played) -> Annealing:
        """Four times the units from here on, if the last round moved the model by no more than noise does."""
        if len(state.ids) == 0:
            return state
        moved = self.one_unit.num_rows * float(np.abs(played.answers[state.ids] - state.before).sum())
        noise = self._stddev / math.sqrt(state.units) * math.sqrt(2 / math.pi) * len(state.ids)
        return state._replace(units=4 * state.units) if moved <= noise else state

    def _after(self, state: Annealing, seen: Seen, played: Played, move: Move) -> Annealing:
        # From the recorded noise, not from the schedule: a game that is taken up again may not spend a unit twice.
        units = min(state.units_left, round((self._stddev / float(move.stddev)) ** 2))
        return Annealing(seen, state.units_left - units, max(units, 1), move.ids, played.answers[move.ids])
