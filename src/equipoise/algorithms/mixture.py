"""Mixture: measure what is worth measuring, once; fit a mixture of products to it. The default.

Paper: none of the five alone. The measurement is the matrix mechanism's in its form for marginals
(xiao2023optimal, arXiv v2); the model, a mixture of products, is what gem and rap fit by gradients (liu2021iterative).

Pseudo-code                                        Here
  choose marginals and noise from public facts      measurement_plan.choose_measurements
  y_B = M_B(P) + noise for each marginal B chosen   MeasureStatic.step -> mechanisms.measure
  repeat for each column, the others fixed:         Mixture.step
    minimise sum_B |M_B(D) - y_B|^2 / stddev_B^2    a quadratic on simplices; small cells count less (mixture_prior)
  return D = (1/K) sum_k prod_c P_kc                Mixture.play

Guarantee: sum over B of 1/stddev_B^2-zCDP, one record replaced (a marginal has squared sensitivity 2).
Accuracy: the best unbiased answers have known errors before any data is touched (queries/residuals.py, `plan` prints
  them); the fit is post-processing that only adds what is known anyway: no negative cells, few components.
Differences from the paper: it is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from equipoise.algorithms.algorithm import Plan, Players, Setting
from equipoise.algorithms.measurement_plan import choose_measurements
from equipoise.algorithms.static import Static, column_sets, plan_static
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

    num_components: int = 1000
    num_sweeps: int | None = None
    objective: Literal["both", "max", "mean"] = "both"

    def plan(self, setting: Setting) -> Plan:
        """See `Algorithm.plan`."""
        return self._static(setting).plan(self, setting)

    def players(self, setting: Setting, plan: Plan) -> Players:
        """See `Algorithm.players`."""
        static = self._static(setting)
        data_player = MixturePlayer(
            workload=static.asked,
            num_rows=setting.num_rows,
            num_components=self.num_components,
            num_sweeps=self.num_sweeps,
            objective=self.objective,
        )
        return Players(static.query_player(), data_player, static.evidence())

    def _static(self, setting: Setting) -> Static:
        if setting.epsilon is not None:
            raise SettingError("mixture has no pure variant; drop --pure, or use pep or mwem")
        sets = column_sets(setting.grouped, self.name)
        resolution = setting.num_rows**2 * float(setting.rho_per_record)
        chosen = choose_measurements(setting.grouped.domain.sizes, sets, resolution, objective=self.objective)
        return plan_static(setting, chosen.shares)
