"""The budget of select-measure algorithms: rho (or pure epsilon) split over rounds, selection and measurement.

A round's move is one cell (the papers'), or a whole marginal, which costs twice as much whatever its size. When
there is a round for every marginal nothing need be selected, and everything is measured at once. With
`schedule="annealed"` the rounds of whole marginals are units of a budget that later rounds may take several of
(`query_players.annealed`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from equipoise.algorithms import rounds
from equipoise.algorithms.algorithm import Forecast, Setting, price
from equipoise.errors import SettingError
from equipoise.game.error_bars import SelectionEvidence
from equipoise.privacy import accountant
from equipoise.privacy.events import Event, Exponential, Gaussian, Laplace, PermuteAndFlip
from equipoise.query_players.annealed import Annealed
from equipoise.query_players.best_marginal import BestMarginal, MeasureAll, PairScore, Score
from equipoise.query_players.best_response import BestResponse, laplace_stddev
from equipoise.query_players.player import QueryPlayer

__all__ = ["Moves", "Schedule", "Split", "split"]

Moves: TypeAlias = Literal["cell", "marginal", "everything"]
Schedule: TypeAlias = Literal["fixed", "annealed"]


@dataclass(frozen=True)
class Split:
    """What each round spends.

    Attributes:
        moves: What a round measures.
        num_rounds: Rounds of the game.
        selection_share: Asked for selecting; without effect when nothing is selected.
        num_selected: Cells selected and measured in one round (1 for whole marginals).
        sensitivity_squared: Squared L2 sensitivity of one measurement.
        sensitivity: L1 sensitivity of one measurement.
        selection_epsilon: Parameter of one selection; None when nothing is selected.
        measurement_stddev: Of the noise of one count.
        measurement_epsilon: Pure epsilon of one measurement; None in the zCDP variant.
        schedule: Whether later rounds of whole marginals may take the budget of several.
        score: How whole marginals are compared (`query_players.best_marginal`).
    """

    moves: Moves
    num_rounds: int
    selection_share: Fraction
    num_selected: int
    sensitivity_squared: int
    sensitivity: int
    selection_epsilon: Fraction | None
    measurement_stddev: float
    measurement_epsilon: Fraction | None = None
    schedule: Schedule = "fixed"
    score: Score | PairScore = "largest"

    def events(self, setting: Setting) -> tuple[tuple[Event, int], ...]:
        """What the whole run will be charged; when the schedule is annealed, other events that cost no more."""
        unit, pure = setting.rows_per_unit, self.measurement_epsilon is not None
        charged: list[tuple[Event, int]] = []
        if self.selection_epsilon is not None:
            epsilon = self.selection_epsilon
            select = PermuteAndFlip(epsilon) if pure else Exponential(epsilon, self.num_selected)
            charged.append((price(select, unit), self.num_rounds))
        measure: Event = Gaussian(Fraction(self.sensitivity_squared), Fraction(self.measurement_stddev) ** 2)
        if self.measurement_epsilon is not None:
            measure = Laplace(Fraction(self.sensitivity), self.sensitivity / self.measurement_epsilon)
        charged.append((price(measure, unit), self.num_rounds * self.num_selected))
        return tuple(charged)

    def query_player(self, setting: Setting, *, repeats: bool) -> QueryPlayer[Any]:
        """The query player that spends exactly this."""
        stddev = None if self.measurement_epsilon is not None else self.measurement_stddev
        if self.selection_epsilon is None:
            return MeasureAll(setting.num_rows, stddev, self.measurement_epsilon)
        if self.moves == "marginal":
            player = BestMarginal(
                num_rows=setting.num_rows,
                sensitivity_squared=self.sensitivity_squared,
                sensitivity=self.sensitivity,
                selection_epsilon=self.selection_epsilon,
                measurement_stddev=stddev,
                measurement_epsilon=self.measurement_epsilon,
                score=self.score,
                repeats=self.schedule == "annealed",
            )
            return Annealed(player, self.num_rounds) if self.schedule == "annealed" else player
        return BestResponse(
            num_rows=setting.num_rows,
            selection_epsilon=self.selection_epsilon,
            measurement_stddev=stddev,
            measurement_epsilon=self.measurement_epsilon,
            num_selected=self.num_selected,
            repeats=repeats,
        )

    def evidence(self, setting: Setting, *, repeats: bool) -> SelectionEvidence | None:
        """What the error bars need to know; None when the score that was selected by does not bound every error.

        An annealed schedule's last selection has a parameter of at least `selection_epsilon`, so bars are wide enough.
        """
        if self.moves == "marginal" and self.score != "largest":
            return None
        return SelectionEvidence(
            epsilon=self.selection_epsilon,
            num_candidates=self._num_candidates(setting),
            repeats=repeats if self.moves == "cell" else self.schedule == "annealed",
            gaussian=self.measurement_epsilon is None,
        )

    def forecast(self, setting: Setting, bound: float | None = None) -> Forecast:
        """The two sources of error that the budget fixes, as fractions of the rows.

        An error of (2/epsilon) log(candidates) counts is about where the selection begins to tell the worst from the
        rest.
        """
        resolution = 0.0
        if self.selection_epsilon is not None:
            resolution = 2 * math.log(max(2, self._num_candidates(setting))) / float(self.selection_epsilon)
        return Forecast(self.measurement_stddev / setting.num_rows, resolution / setting.num_rows, bound)

    def _num_candidates(self, setting: Setting) -> int:
        return setting.grouped.num_queries if self.moves == "cell" else len(setting.grouped.groups)


def split(
    setting: Setting,
    *,
    num_rounds: int,
    selection_share: Fraction | None,
    moves: Literal["cell", "marginal"] = "cell",
    num_selected: int = 1,
    schedule: Schedule = "fixed",
    score: Score | PairScore = "largest",
) -> Split:
    """Spend the budget evenly over the rounds: a share on selection, the rest on measurement.

    With as many rounds as there are marginals, all of them are measured at once and the selection's share is theirs
    too. No share given means `rounds.selection_share`.

    Guarantees:
        num_rounds num_selected (selection_epsilon^2/8 + l2^2/(2 stddev^2)) <= rho per record, by rounding the one
        down and the other up, and at least 0.99 of it is used; a pure epsilon is used up exactly (both tested).

    Example: rho = 0.014270343, 100 rounds of one cell, half and half give selection_epsilon 0.023892 and stddev
    83.7111 (a test).
    """
    if num_rounds < 1 or num_selected < 1:
        raise SettingError("num_rounds and num_selected must be at least 1")
    share = rounds.selection_share(whole_marginals=moves == "marginal") if selection_share is None else selection_share
    if not 0 < share < 1:
        raise SettingError("selection_share must lie strictly between 0 and 1")
    groups = setting.grouped.groups
    annealed = schedule == "annealed"
    if annealed and (moves == "cell" or setting.epsilon is not None):
        raise SettingError("an annealed schedule needs whole marginals and a zCDP budget; drop schedule=annealed")
    kind: Moves = "everything" if moves == "marginal" and num_rounds >= len(groups) and not annealed else moves
    if kind == "everything":
        norms = [setting.grouped.norms()]
        num_rounds = 1
    else:
        norms = [group.norms() for group in groups] if kind == "marginal" else []
    squared = max([1, *(norm.l2_squared for norm in norms)])
    linear = max([1, *(norm.l1 for norm in norms)])
    selecting = Fraction(0) if kind == "everything" else share
    parts = num_rounds * num_selected
    if setting.epsilon is not None:
        each = setting.epsilon_per_record / parts
        measured = (1 - selecting) * each
        return Split(
            *(kind, num_rounds, share, num_selected, squared, linear),
            selection_epsilon=selecting * each or None,
            measurement_stddev=laplace_stddev(linear / measured),
            measurement_epsilon=measured,
            score=score,
        )
    each = setting.rho_per_record / parts
    return Split(
        *(kind, num_rounds, share, num_selected, squared, linear),
        selection_epsilon=accountant.root_below(8 * selecting * each) if selecting else None,
        measurement_stddev=accountant.stddev_of(rho=(1 - selecting) * each, sensitivity_squared=squared),
        schedule=schedule,
        score=score,
    )
