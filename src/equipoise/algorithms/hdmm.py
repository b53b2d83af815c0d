"""HDMM: the matrix mechanism for marginals, and a mixture fitted to its answers.

Paper: mckenna2018optimizing (the baseline of vietri2020new), arXiv v1; for marginals, as in xiao2023optimal, v2.

Pseudo-code                                        Here
  choose the strategy that minimises the error      queries.allocation.allocate (convex, with a certified gap)
  y = strategy(P) + noise                           MeasureStatic.step -> mechanisms.measure
  reconstruct the workload's answers from y         Release.unbiased -> queries.residuals.reconstruct
  (data, where they are wanted)                     Mixture.step

Guarantee: sum over measured marginals of 1/stddev^2-zCDP, one record replaced.
Accuracy: every answer is unbiased with a variance that `plan` prints before any data is touched; no unbiased plan over
  marginals and their sub-marginals has a smaller total variance, within the gap that is recorded.
Differences from the paper:
  1. The strategy is a choice of marginals and noise levels, which never forms the domain; no other strategies.
  2. The answers are those of the reconstruction; the synthetic rows come from a mixture fitted to the same
  measurements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from equipoise.algorithms.algorithm import Plan, Players, Setting
from equipoise.algorithms.static import Static, column_sets, plan_static
from equipoise.data_players.mixture import Mixture as MixturePlayer
from equipoise.errors import SettingError
from equipoise.queries.allocation import allocate

__all__ = ["Hdmm"]


@dataclass(frozen=True)
class Hdmm:
    """Options of HDMM."""

    name: ClassVar[str] = "hdmm"
    title: ClassVar[str] = "optimal static measurement of marginals, reconstructed without bias"
    citations: ClassVar[tuple[str, ...]] = ("mckenna2018optimizing", "xiao2023optimal")
    guarantee: ClassVar[str] = "zCDP"
    when: ClassVar[str] = "unbiased answers with known variances matter more than small errors"

    objective: Literal["mean", "max"] = "mean"
    num_components: int | None = None

    def plan(self, setting: Setting) -> Plan:
        """See `Algorithm.plan`."""
        return self._static(setting).plan(self, setting)

    def players(self, setting: Setting, plan: Plan) -> Players:
        """See `Algorithm.players`."""
        static = self._static(setting)
        data_player = MixturePlayer(
            workload=static.asked, num_rows=setting.num_rows, num_components=plan.options["num_components"]
        )
        return Players(static.query_player(), data_player, static.evidence())

    def _static(self, setting: Setting) -> Static:
        if setting.epsilon is not None:
            raise SettingError("hdmm has no pure variant; drop --pure, or use pep or mwem")
        sets = column_sets(setting.grouped, self.name)
        weights = [float(group.weight) for group in setting.grouped.groups]
        chosen = allocate(setting.grouped.domain.sizes, sets, weights=weights, objective=self.objective)
        return plan_static(setting, chosen.shares)
