"""A plan for where noise is too coarse to tell a column's values apart: single columns first, then merged ones.

Part of the budget measures every column by itself. What that says merges rare values (`queries.merging`), and the rest
is planned, and topped up, as for a table whose columns have few values each. How few is fixed beforehand, so every
event is: a marginal of merged columns costs what one of values does, whichever values were merged.

What it is worth, at epsilon 0.1: on 10,000 loans of 53 columns the mean error falls by a fifth; on 7,000 rows of Adult,
and on the 7,634 of the ACS in Massachusetts with 560 triples, both errors fall by a tenth (`docs/bench.md`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from equipoise.algorithms.algorithm import Plan, Players, Setting, require_fit
from equipoise.algorithms.measurement_plan import Objective
from equipoise.algorithms.static import Static, plan_static
from equipoise.algorithms.top_up import ToppedUp, plan_topped_up
from equipoise.data.domain import Domain
from equipoise.data_players.merged_mixture import MergedMixture
from equipoise.data_players.mixture import Mixture
from equipoise.queries.workload import Group, Workload
from equipoise.query_players.merged import Merged
from equipoise.query_players.top_up import TopUp

__all__ = ["MergedPlan", "is_coarse", "plan_merged"]

FIRST = Fraction(1, 2)
"""Part of the budget for single columns as they are: nothing else is learnt where they are not known. From three to six
tenths does about as well."""

MOST = 12
"""Parts of a column at most: with more, a pair has more cells than its noise lets one see."""

COARSE = 0.02
"""Noise of a single column's cells, as a part of the rows, if the columns share the budget, from which values are
merged. Below it the fit tells values apart as well as parts, and what a part hides, a strong dependence of rare values,
costs more."""

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
class MergedPlan:
    """What is measured.

    Attributes:
        first: Single columns; what it asks for is all that is counted.
        later: The merged columns, as if each had as many parts as it may.
    """

    first: Static
    later: ToppedUp

    @property
    def num_rounds(self) -> int:
        """Rounds of the top-up."""
        return self.later.num_rounds

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
            num_rounds=1 + plan.num_rounds,
            events=self.first.events(setting) + plan.events,
            forecast=replace(plan.forecast, bound=None),  # it would be one for parts, not for values
            asked=self.first.asked,
        )

    def players(self, setting: Setting, player: Mixture) -> Players:
        """The two players, of which one fits the merged columns with `player`."""
        sets = self.fitted.column_sets
        later = self.later.query_player(setting)
        assert isinstance(later, TopUp)
        asked = self.first.asked
        query_player = Merged(asked, setting.num_rows, MOST, self.first.query_player(), later, sets)
        fitting = replace(player, num_to_large=NUM_TO_LARGE)
        if player.num_sweeps is None:
            fitting = replace(fitting, num_sweeps=NUM_SWEEPS)
        data_player = MergedMixture(asked, sets, MOST, fitting)
        return Players(query_player, data_player, self.later.evidence(), asks=query_player.wider)


def is_coarse(setting: Setting) -> bool:
    """Whether values should be merged: by the number of rows, the columns and the budget alone."""
    if setting.rho is None:
        return False
    sizes, sets = setting.grouped.domain.sizes, setting.grouped.column_sets
    used = {c for columns in sets for c in columns if sizes[c] > 1}
    noise = math.sqrt(len(used) / (setting.num_rows**2 * float(setting.rho_per_record)))
    num_cells, num_parts = (
        sum(math.prod(min(sizes[c], most) for c in columns) for columns in sets) for most in (math.inf, MOST)
    )
    return noise > COARSE and num_parts <= FEWER * num_cells


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
    sizes = setting.grouped.domain.sizes
    sets = later.static.asked.column_sets
    single: dict[tuple[int, ...], float] = {
        (c,): 1.0 for columns in setting.grouped.column_sets for c in columns if sizes[c] > 1
    }
    shares = {columns: single.get(columns, 0.0) for columns in dict.fromkeys((*sets, *single))}
    return MergedPlan(plan_static(replace(setting, rho=setting.rho * FIRST), shares), later)


def _with_parts(workload: Workload) -> Workload:
    """The workload's marginals, each once, as if every column had as many parts as it may."""
    sizes = tuple(min(size, MOST) for size in workload.domain.sizes)
    weights: dict[tuple[int, ...], int] = {}
    for group in workload.groups:
        weights[group.columns] = max(group.weight, weights.get(group.columns, 1))
    groups = (Group(c, tuple(sizes[i] for i in c), weight=weight) for c, weight in weights.items())
    return Workload(Domain(workload.domain.columns, sizes), tuple(groups))
