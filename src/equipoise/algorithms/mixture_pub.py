"""Mixture-Pub: mixture, pooled with public tables by what each is worth.

Paper: none alone. The measurement and the model are those of `mixture`; the tilt is that of PEP-Pub (liu2021iterative,
appendix E, arXiv v2), on a support that public rows do not limit.

Pseudo-code                                        Here
  y_B = M_B(P) + noise for each marginal B chosen   Mixture.plan, MeasureStatic.step -> mechanisms.measure
  D_mix = the mixture fitted to y                   Mixture.step
  N_mix = its worth, from public facts              expected_error below
  N_j = the worth of public table j, from y         public_support.trusted_rows
  D_0 ~ N_mix D_mix + sum_j N_j D_j                 PublicMixture.step
  D = argmin sum_B |M_B(D) - y_B|^2/(2 stddev_B^2)  the same: SoftRows.fit
        + (N_mix + sum_j N_j) KL(D || D_0)

Guarantee: that of mixture: sum over B of 1/stddev_B^2-zCDP, one private record replaced. Everything after the
  measurements is post-processing. Nothing is promised to the people in the public tables.
Accuracy: no bound is known. As the measurements contradict a public table its worth falls to nothing, and what is left
  is mixture.
Differences from the paper: it is ours. Public tables may lack columns; several may be given, and all are used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from equipoise.algorithms.algorithm import Plan, Players, Setting, require_fit, require_public, resolved
from equipoise.algorithms.measurement_plan import choose_measurements
from equipoise.algorithms.mixture import Mixture
from equipoise.algorithms.static import column_sets
from equipoise.data_players.mixture import Mixture as MixturePlayer
from equipoise.data_players.public_mixture import PublicMixture, memory_bytes

__all__ = ["MixturePub"]


@dataclass(frozen=True)
class MixturePub:
    """Options of the pool: those of the mixture."""

    name: ClassVar[str] = "mixture_pub"
    title: ClassVar[str] = "a mixture of products, pooled with public tables by what the measurements say of them"
    citations: ClassVar[tuple[str, ...]] = ("xiao2023optimal", "liu2021iterative", "liu2021leveraging")
    guarantee: ClassVar[str] = "zCDP; the public rows have none"
    when: ClassVar[str] = "any public tables, also bad ones or such that lack columns: the default with --public"
    uses_public: ClassVar[bool] = True
    takes_several: ClassVar[bool] = True

    num_components: int | None = None
    num_sweeps: int | None = None
    objective: Literal["both", "max", "mean"] = "both"

    def plan(self, setting: Setting) -> Plan:
        """See `Algorithm.plan`: the mixture's, and the memory of the pool."""
        require_public(setting, self.name, all_columns=False)
        plan = self._mixture.plan(setting)
        memory = plan.memory_bytes + memory_bytes(setting.publics, setting.grouped)
        require_fit(
            memory, setting, f"{self.name} with {plan.options['num_components']} components", "Give fewer public rows"
        )
        return replace(plan, method=self.name, options=resolved(self) | plan.options, memory_bytes=memory)

    def players(self, setting: Setting, plan: Plan) -> Players:
        """See `Algorithm.players`: the mixture's, its data player pooled."""
        made = self._mixture.players(setting, plan)
        assert isinstance(made.data_player, MixturePlayer)
        pooled = PublicMixture(made.data_player, setting.publics, expected_error=_expected_error(setting))
        return replace(made, data_player=pooled)

    @property
    def _mixture(self) -> Mixture:
        # No top-up: what the pool would be worst at is not what a draft of the mixture is.
        return Mixture(self.num_components, self.num_sweeps, self.objective, num_top_ups=0)


def _expected_error(setting: Setting) -> float:
    """What `measurement_plan` expects of a fitted model: squared error a marginal, on average over the workload."""
    sets = column_sets(setting.grouped, MixturePub.name)
    resolution = setting.num_rows**2 * float(setting.rho_per_record)
    chosen = choose_measurements(setting.grouped.domain.sizes, sets, resolution, objective="mean")
    return chosen.expected / len(sets)
