"""Mixture: measure what is worth measuring, top up what is worst, fit a mixture of products to it. The default.

Paper: none of the five alone. The measurement is the matrix mechanism's in its form for marginals
(xiao2023optimal, arXiv v2); the model, a mixture of products, is what gem and rap fit by gradients (liu2021iterative).

Pseudo-code                                        Here
  where noise drowns single values:                 merged_plan.plan_merged
    measure single columns; merge rare values       MeasureStatic.step; Merging.chosen; from here on of parts
  choose marginals and noise from public facts      measurement_plan.choose_measurements
  y_B = M_B(P) + noise for each marginal B chosen   MeasureStatic.step -> mechanisms.measure
  where that is coarse, a few times:                top_up.plan_topped_up
    fit a draft D; select B, off and likely to be   Mixture.step; BestMarginal.step -> mechanisms.select
    measure M_B(P) again                            BestMarginal.step -> mechanisms.measure
  repeat for each column, the others fixed:         Mixture.step
    minimise sum_B |M_B(D) - y_B|^2 / stddev_B^2    a quadratic on simplices; small cells count less (mixture_prior)
  return D = (1/K) sum_k prod_c P_kc                Mixture.play

Guarantee: sum over B of 1/stddev_B^2, and epsilon^2/8 for each selection, in zCDP, one record replaced (a marginal has
  squared sensitivity 2).
Accuracy: the best unbiased answers have known errors before any data is touched (queries/residuals.py, `plan` prints
  them); the fit is post-processing that only adds what is known anyway: no negative cells, few components.
Differences from the paper: it is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from equipoise.algorithms.algorithm import Plan, Players, Setting
from equipoise.algorithms.measurement_plan import Objective
from equipoise.algorithms.merged_plan import MergedPlan, is_coarse, plan_merged
from equipoise.algorithms.top_up import ToppedUp, plan_topped_up
from equipoise.data_players.mixture import Mixture as MixturePlayer
from equipoise.errors import SettingError

__all__ = ["Mixture"]


@dataclass(frozen=True)
class Mixture:
    """Options of the mixture; None means: work it out from public quantities."""

    name: ClassVar[str] = "mixture"
    title: ClassVar[str] = "a mixture of products fitted to optimally measured marginals"
    citations: ClassVar[tuple[str, ...]] = ("xiao2023optimal", "liu2021iterative")
    guarantee: ClassVar[str] = "zCDP"
    when: ClassVar[str] = "any number of columns: the default"

    num_components: int | None = None
    num_sweeps: int | None = None
    objective: Objective = "both"
    num_top_ups: int | None = None
    merges: bool | None = None

    def plan(self, setting: Setting) -> Plan:
        """See `Algorithm.plan`."""
        return self._measured(setting).plan(self, setting)

    def players(self, setting: Setting, plan: Plan) -> Players:
        """See `Algorithm.players`."""
        measured = self._measured(setting)
        data_player = MixturePlayer(
            workload=measured.fitted,
            num_rows=setting.num_rows,
            num_components=plan.options["num_components"],
            num_sweeps=self.num_sweeps,
            objective=self.objective,
            num_drafts=measured.num_rounds,
        )
        return measured.players(setting, data_player)

    def _measured(self, setting: Setting) -> ToppedUp | MergedPlan:
        objective, num_rounds = self.objective, self.num_top_ups
        if is_coarse(setting) if self.merges is None else self.merges:
            merged = plan_merged(setting, self.name, objective=objective, num_rounds=num_rounds)
            if merged is not None:
                return merged
            if self.merges:
                raise SettingError("merges=true needs a zCDP budget and a top-up: drop --pure, or num_top_ups=0")
        return plan_topped_up(setting, self.name, objective=objective, num_rounds=num_rounds)
