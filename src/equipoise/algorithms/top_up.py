"""A static plan, topped up: part of the budget is kept for the marginals that a first fit turns out to be worst at.

A plan made without data spreads its noise evenly, and a fit that may not follow the noise misses the few dependences
that are far stronger than expected. A selection finds them for next to nothing: a largest error of a twentieth of the
rows stands out among hundreds of marginals for a fiftieth of a budget that measures each of them only to within a
thirtieth. How much is kept, and for how many rounds, depends on public facts alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from equipoise.algorithms.algorithm import Plan, Players, Setting
from equipoise.algorithms.measurement_plan import Objective, choose_measurements
from equipoise.algorithms.select_measure import Split, split
from equipoise.algorithms.static import Static, column_sets, plan_static
from equipoise.data_players.mixture import Mixture
from equipoise.errors import SettingError
from equipoise.game.error_bars import SelectionEvidence
from equipoise.queries.lattice import closure
from equipoise.queries.workload import Workload
from equipoise.query_players.best_marginal import BestMarginal
from equipoise.query_players.measure_static import MeasureStatic
from equipoise.query_players.top_up import TopUp

__all__ = ["ToppedUp", "plan_topped_up"]

KEPT, NUM_ROUNDS = 0.24, 8.0
"""Part of the budget that the top-up spends in all, and its rounds, at `USUAL` noise."""

KEPT_GROWS, ROUNDS_GROW = 1.3, 1.0
"""Powers of the noise with which they grow: the less can be measured, the more must be chosen."""

MOST_KEPT, MOST_ROUNDS = 0.3, 8
"""Where that ends: what is not measured at first is not known when there is something to choose."""

FEWEST_CANDIDATES = 7
"""Marginals that could be selected, from which there is a top-up: among fewer a plan may as well measure each. Rounds
are fewer than half of them."""

SELECTION_SHARE = Fraction(2, 5)
"""Part of a round for the selection: among many pairs it must not miss the one that stands out, whose cells the rest
then tells well enough."""

MOST_COLUMNS = 2
"""Columns of a marginal that may be selected, at most: what stands out does so in a pair, and a marginal of more
columns costs as much but has its noise in more cells."""

COARSE, USUAL = 0.012, 0.03
"""Noise, as a part of the rows, from which there is a top-up, and where it is as above: that of a marginal when all of
the workload's share the budget equally. With less noise the fit may go on until it has learnt what stands out."""


@dataclass(frozen=True)
class ToppedUp:
    """What is measured first, and what later rounds spend; None: nothing."""

    static: Static
    later: Split | None

    @property
    def num_rounds(self) -> int:
        """Rounds after the first."""
        return 0 if self.later is None else self.later.num_rounds

    def plan(self, algorithm: object, setting: Setting) -> Plan:
        """The plan of an algorithm that fits a mixture to this; see `Static.plan`."""
        plan = self.static.plan(algorithm, setting, num_drafts=self.num_rounds)
        later = () if self.later is None else self.later.events(setting)
        return replace(
            plan,
            options=plan.options | {"num_top_ups": self.num_rounds},
            num_rounds=1 + self.num_rounds,
            events=plan.events + later,
        )

    @property
    def fitted(self) -> Workload:
        """What a mixture is fitted to."""
        return self.static.asked

    def players(self, setting: Setting, player: Mixture) -> Players:
        """The two players, of which one is `player`."""
        return Players(self.query_player(setting), player, self.evidence())

    def query_player(self, setting: Setting) -> MeasureStatic | TopUp:
        """The query player that spends exactly this."""
        first = self.static.query_player()
        if self.later is None:
            return first
        selecting = self.later.query_player(setting, repeats=True)
        assert isinstance(selecting, BestMarginal)
        return TopUp(first, replace(selecting, repeats=True, candidates=self._candidates))

    @property
    def _candidates(self) -> tuple[int, ...]:
        groups = enumerate(self.static.asked.groups)
        return tuple(number for number, group in groups if len(group.columns) <= MOST_COLUMNS)

    def evidence(self) -> SelectionEvidence:
        """What the error bars need to know: the measurements' noise. A selection among pairs tells only of pairs."""
        return replace(self.static.evidence(), repeats=True)


def plan_topped_up(
    setting: Setting, method: str, *, objective: Objective, num_rounds: int | None, part: Fraction = Fraction(1)
) -> ToppedUp:
    """Measurements for a workload of marginals: what `choose_measurements` says, and a top-up.

    Args:
        setting: The public facts.
        method: Whose plan it is, for messages.
        objective: See `choose_measurements`.
        num_rounds: Rounds of the top-up; None: worked out.
        part: What the setting's budget is of a whole, by which the top-up is measured: a part of the whole is kept for
            it.

    Guarantees:
        The plan's part and the rounds' parts add up to rho, so that all events together cost at most that, and at least
        0.99 of it (tested).

    Raises:
        QueryError: the workload has something else than marginals.
        SettingError: the budget is pure, or there are so many rounds that too little is left for the plan.
    """
    if setting.epsilon is not None or setting.rho is None:
        raise SettingError(f"{method} has no pure variant; drop --pure, or use pep or mwem")
    sets = column_sets(setting.grouped, method)
    sizes = setting.grouped.domain.sizes
    resolution = setting.num_rows**2 * float(setting.rho_per_record)
    subsets = closure(tuple(c for c in columns if sizes[c] > 1) for columns in sets)
    candidates = [columns for columns in subsets if len(columns) <= MOST_COLUMNS]
    usual_rounds, each = _usual(math.sqrt(len(sets) / resolution))
    each /= part
    if num_rounds is None:
        num_rounds = min(usual_rounds, (len(candidates) - 1) // 2) if len(candidates) >= FEWEST_CANDIDATES else 0
    kept, most_kept = num_rounds * each, min(Fraction(1, 2) / part, Fraction(9, 10))
    if num_rounds < 0 or kept > most_kept or (num_rounds and len(candidates) <= num_rounds):
        raise SettingError(
            f"num_top_ups must lie between 0 and {int(most_kept / each)}, and below the number of marginals that could"
            f" be selected, {len(candidates)}"
        )
    chosen = choose_measurements(sizes, sets, resolution * float(1 - kept), objective=objective)
    if num_rounds == 0:
        return ToppedUp(plan_static(setting, chosen.shares), None)
    shares = dict.fromkeys(candidates, 0.0) | dict(chosen.shares)
    static = plan_static(replace(setting, rho=setting.rho * (1 - kept)), shares)
    later = replace(setting, workload=static.asked, rho=setting.rho * kept)
    rounds = split(later, num_rounds=num_rounds, selection_share=SELECTION_SHARE, moves="marginal", score="agreement")
    return ToppedUp(static, rounds)


def _usual(noise: float) -> tuple[int, Fraction]:
    """Rounds where nobody says how many, and the part of the budget that each spends (also of those asked for).

    Example:
        >>> _usual(0.03), _usual(0.2), _usual(0.001)[0]
        ((8, Fraction(3, 100)), (8, Fraction(19, 500)), 0)
    """
    relative = max(noise, COARSE) / USUAL
    num_rounds = min(MOST_ROUNDS, round(NUM_ROUNDS * relative**ROUNDS_GROW))
    kept = min(MOST_KEPT, KEPT * relative**KEPT_GROWS)
    return num_rounds if noise > COARSE else 0, Fraction(round(1000 * kept / num_rounds), 1000)
