"""A plan for where noise is too coarse to tell a column's values apart: single columns first, then merged ones.

Part of the budget measures every column by itself. What that says merges rare values (`queries.merging`), and the rest
is planned, and topped up, as for a table whose columns have few values each. How few is fixed beforehand, so every
event is: a marginal of merged columns costs what one of values does, whichever values were merged.

Where the noise is coarser still, half of the first part waits until the other half has said of which of the workload's
answers least is known: it measures those, or columns that matter for them (`queries.unsure`), a fixed number of times.

What it is worth, at epsilon 0.1: on 10,000 loans of 53 columns both errors fall by a fifth, and the largest by another
eighth where what is least sure is measured; on 7,000 rows of Adult, and on the 7,634 of the ACS in Massachusetts with
560 triples, both fall by a tenth, and on 4,500 rows of Adult the largest by a fourteenth more (`docs/bench.md`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from equipoise.algorithms.algorithm import Plan, Players, Setting, price, require_fit
from equipoise.algorithms.measurement_plan import Objective
from equipoise.algorithms.static import Static, plan_static
from equipoise.algorithms.top_up import ToppedUp, plan_topped_up
from equipoise.data.domain import Domain
from equipoise.data_players.merged_mixture import MergedMixture
from equipoise.data_players.mixture import Mixture
from equipoise.privacy import accountant
from equipoise.privacy.events import Event, Gaussian
from equipoise.queries.workload import Group, Workload
from equipoise.query_players.measure_unsure import SENSITIVITY_SQUARED, MeasureUnsure
from equipoise.query_players.merged import Merged
from equipoise.query_players.top_up import TopUp

__all__ = ["MergedPlan", "is_coarse", "plan_merged"]

FIRST = Fraction(1, 2)
"""Part of the budget for single columns as they are: nothing else is learnt where they are not known. From three to six
tenths does about as well."""

UNSURE = Fraction(1, 4)
"""Part of the budget that, from `COARSEST` noise on, `FIRST` leaves for what is least sure after the rest of it."""

TIMES = 2
"""Measurements of what is least sure, for each column; one to three do as well."""

MOST = 12
"""Parts of a column at most: with more, a pair has more cells than its noise lets one see."""

COARSE = 0.02
"""Noise of a single column's cells, as a part of the rows, if the columns share the budget, from which values are
merged. Below it the fit tells values apart as well as parts, and what a part hides, a strong dependence of rare values,
costs more."""

COARSEST = 0.042
"""Noise as above from which a part waits for what is least sure. Below, what is worst are pairs of columns that depend,
and to find them all columns should be known."""

NUM_SWEEPS = 3
"""Sweeps of a fit to merged columns, where nobody says how many. Three to five are best wherever values are merged; of
pilots, which tell that elsewhere, one in eight says ten or more, and its fit has half as much mean error again."""

NUM_TO_LARGE = 3
"""Sweeps for large cells after them. With six, two in five of the largest errors are 7 to 10 % larger."""

BYTES_A_CELL = 24
"""A cell that is counted, though it is merged with others: its count, what was played of it, and one more while either
is made."""

FEWER = 0.5
"""Cells of the workload's marginals that may be left by merging, relative to all: where columns have few values anyway,
there is nothing to gain."""


@dataclass(frozen=True)
class Unsure:
    """Measurements whose number and noise are known beforehand, and what of is not: see `MeasureUnsure`."""

    stddev: float
    num_times: int

    def events(self, setting: Setting) -> tuple[tuple[Event, int], ...]:
        """What they are charged, all alike."""
        each = Gaussian(Fraction(SENSITIVITY_SQUARED), Fraction(self.stddev) ** 2)
        return ((price(each, setting.rows_per_unit), self.num_times),)

    def query_player(self, setting: Setting, first: Static) -> MeasureUnsure:
        """Who makes them, after the first part."""
        known = max(stddev for stddev in first.stddevs if stddev is not None)
        return MeasureUnsure(setting.num_rows, setting.grouped.column_sets, known, self.stddev, self.num_times)


@dataclass(frozen=True)
class MergedPlan:
    """What is measured.

    Attributes:
        first: Single columns; what it asks for is all that is counted.
        unsure: How often what is least sure then is measured, and with what noise; None: it is not.
        later: The merged columns, as if each had as many parts as it may.
    """

    first: Static
    unsure: Unsure | None
    later: ToppedUp

    @property
    def num_rounds(self) -> int:
        """Rounds of the top-up."""
        return self.later.num_rounds

    @property
    def _drafts_more(self) -> int:
        """What is least sure is measured in a round of its own, which a draft answers."""
        return 0 if self.unsure is None else 1

    @property
    def fitted(self) -> Workload:
        """What a mixture is fitted to, but for the number of parts of each column."""
        return self.later.static.asked

    def plan(self, algorithm: object, setting: Setting) -> Plan:
        """The plan of an algorithm that fits a mixture to this; see `Static.plan`.

        Raises:
            CapacityError: the counts, or the fit, do not fit the memory.
        """
        plan = self.later.plan(algorithm, replace(setting, workload=self.fitted))
        memory = plan.memory_bytes + BYTES_A_CELL * self.first.asked.num_queries
        require_fit(memory, setting, f"{plan.method} counts the cells of all marginals and")
        return replace(
            plan,
            memory_bytes=memory,
            options=plan.options | {"merges": True},
            num_rounds=self._drafts_more + 1 + plan.num_rounds,
            events=self.first.events(setting) + (self.unsure.events(setting) if self.unsure else ()) + plan.events,
            forecast=replace(plan.forecast, bound=None),  # it would be one for parts, not for values
            asked=self.first.asked,
        )

    def players(self, setting: Setting, player: Mixture) -> Players:
        """The two players, of which one fits the merged columns with `player`."""
        sets = self.fitted.column_sets
        later = self.later.query_player(setting)
        assert isinstance(later, TopUp)
        asked = self.first.asked
        unsure = None if self.unsure is None else self.unsure.query_player(setting, self.first)
        query_player = Merged(asked, setting.num_rows, MOST, self.first.query_player(), unsure, later, sets)
        num_drafts = player.num_drafts + self._drafts_more
        fitting = replace(player, num_to_large=NUM_TO_LARGE, num_drafts=num_drafts)
        if player.num_sweeps is None:
            fitting = replace(fitting, num_sweeps=NUM_SWEEPS)
        data_player = MergedMixture(asked, sets, MOST, fitting)
        return Players(query_player, data_player, self.later.evidence(), asks=query_player.wider)


def is_coarse(setting: Setting) -> bool:
    """Whether values should be merged: by the number of rows, the columns and the budget alone."""
    if setting.rho is None:
        return False
    sizes, sets = setting.grouped.domain.sizes, setting.grouped.column_sets
    num_cells, num_parts = (
        sum(math.prod(min(sizes[c], most) for c in columns) for columns in sets) for most in (math.inf, MOST)
    )
    return _noise(setting) > COARSE and num_parts <= FEWER * num_cells


def _single(setting: Setting) -> dict[tuple[int, ...], float]:
    """The single columns to measure, all alike."""
    sizes = setting.grouped.domain.sizes
    return {(c,): 1.0 for columns in setting.grouped.column_sets for c in columns if sizes[c] > 1}


def _noise(setting: Setting) -> float:
    """Of a single column's cells, as a part of the rows, if the columns share the budget."""
    return math.sqrt(len(_single(setting)) / (setting.num_rows**2 * float(setting.rho_per_record)))


def plan_merged(setting: Setting, method: str, *, objective: Objective, num_rounds: int | None) -> MergedPlan | None:
    """Measurements of single and of merged columns; None where there would be no top-up to choose what to measure.

    Guarantees:
        The first part and the others add up to rho, so that all events together cost at most that (tested).

    Raises:
        QueryError: the workload has something else than marginals.
        SettingError: see `plan_topped_up`.
    """
    if setting.rho is None:
        return None
    assumed = replace(setting, workload=_with_parts(setting.grouped), rho=setting.rho * (1 - FIRST))
    later = plan_topped_up(assumed, method, objective=objective, num_rounds=num_rounds, part=1 - FIRST)
    if later.num_rounds == 0:
        return None
    sets, single = later.static.asked.column_sets, _single(setting)
    shares = {columns: single.get(columns, 0.0) for columns in dict.fromkeys((*sets, *single))}
    waits = UNSURE if _noise(setting) > COARSEST else Fraction(0)
    first = plan_static(replace(setting, rho=setting.rho * (FIRST - waits)), shares)
    if not waits:
        return MergedPlan(first, None, later)
    num_times = TIMES * len(single)
    rho = setting.rho_per_record * waits / num_times
    stddev = accountant.stddev_of(rho=rho, sensitivity_squared=SENSITIVITY_SQUARED)
    return MergedPlan(first, Unsure(stddev, num_times), later)


def _with_parts(workload: Workload) -> Workload:
    """The workload's marginals, each once, as if every column had as many parts as it may."""
    sizes = tuple(min(size, MOST) for size in workload.domain.sizes)
    weights: dict[tuple[int, ...], int] = {}
    for group in workload.groups:
        weights[group.columns] = max(group.weight, weights.get(group.columns, 1))
    groups = (Group(c, tuple(sizes[i] for i in c), weight=weight) for c, weight in weights.items())
    return Workload(Domain(workload.domain.columns, sizes), tuple(groups))
