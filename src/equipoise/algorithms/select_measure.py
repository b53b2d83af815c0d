"""The budget of select-measure algorithms: rho (or pure epsilon) split over rounds, selection and measurement."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from equipoise.algorithms.algorithm import Forecast, Setting, price
from equipoise.errors import SettingError
from equipoise.game.error_bars import SelectionEvidence
from equipoise.privacy import accountant
from equipoise.privacy.events import Event, Exponential, Gaussian, Laplace, PermuteAndFlip
from equipoise.query_players.best_response import BestResponse

__all__ = ["Split", "split", "split_pure"]


@dataclass(frozen=True)
class Split:
    """What each of `num_rounds` rounds may spend on selecting, and on measuring, `num_selected` queries."""

    num_rounds: int
    num_selected: int
    selection_epsilon: Fraction
    measurement_stddev: float
    measurement_epsilon: Fraction | None = None

    def events(self, setting: Setting) -> tuple[tuple[Event, int], ...]:
        """What the whole run will be charged."""
        select: Event
        measure: Event
        if self.measurement_epsilon is not None:
            select, measure = PermuteAndFlip(self.selection_epsilon), Laplace(Fraction(1), 1 / self.measurement_epsilon)
        else:
            select = Exponential(self.selection_epsilon, self.num_selected)
            measure = Gaussian(Fraction(1), Fraction(self.measurement_stddev) ** 2)
        unit = setting.rows_per_unit
        return (price(select, unit), self.num_rounds), (price(measure, unit), self.num_rounds * self.num_selected)

    def query_player(self, setting: Setting, *, repeats: bool) -> BestResponse:
        """The query player that spends exactly this."""
        return BestResponse(
            num_rows=setting.num_rows,
            selection_epsilon=self.selection_epsilon,
            measurement_stddev=None if self.measurement_epsilon is not None else self.measurement_stddev,
            measurement_epsilon=self.measurement_epsilon,
            num_selected=self.num_selected,
            repeats=repeats,
        )

    def evidence(self, *, repeats: bool) -> SelectionEvidence:
        """What the error bars need to know."""
        return SelectionEvidence(self.selection_epsilon, repeats, gaussian=self.measurement_epsilon is None)

    def forecast(self, setting: Setting, bound: float | None = None) -> Forecast:
        """The two sources of error that the budget fixes, as fractions of the rows.

        An error of (2/epsilon) log |Q| counts is about where the exponential mechanism begins to tell the worst
        query from the rest.
        """
        resolution = 2 * math.log(max(2, setting.workload.num_queries)) / float(self.selection_epsilon)
        return Forecast(self.measurement_stddev / setting.num_rows, resolution / setting.num_rows, bound)


def split(setting: Setting, *, num_rounds: int, selection_share: Fraction, num_selected: int = 1) -> Split:
    """Spend rho evenly over the rounds: a share on selection, the rest on measurement.

    Guarantees:
        num_rounds num_selected (selection_epsilon^2/8 + 1/(2 stddev^2)) <= rho per record, by rounding the one down
        and the other up; at least 0.99 of it is used (tested).

    Example: rho = 0.014270343, 100 rounds, half and half give selection_epsilon 0.023892 and stddev 83.7111 (a test).
    """
    if num_rounds < 1 or num_selected < 1:
        raise SettingError("num_rounds and num_selected must be at least 1")
    if not 0 < selection_share < 1:
        raise SettingError("selection_share must lie strictly between 0 and 1")
    each = setting.rho_per_record / (num_rounds * num_selected)
    return Split(
        num_rounds=num_rounds,
        num_selected=num_selected,
        selection_epsilon=accountant.root_below(8 * selection_share * each),
        measurement_stddev=accountant.stddev_of(rho=(1 - selection_share) * each),
    )


def split_pure(setting: Setting, *, num_rounds: int) -> Split:
    """Spend a pure epsilon evenly: epsilon/(2T) a selection and a measurement (hardt2012simple, Figure 1, v1)."""
    if num_rounds < 1:
        raise SettingError("num_rounds must be at least 1")
    each = setting.epsilon_per_record / (2 * num_rounds)
    return Split(
        num_rounds=num_rounds,
        num_selected=1,
        selection_epsilon=each,
        measurement_stddev=math.sqrt(2) / float(each),
        measurement_epsilon=each,
    )
