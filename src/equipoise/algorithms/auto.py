"""Auto: pick the method from public facts, and say why.

Paper: none; it composes nothing of its own.

Pseudo-code                                        Here
  a pure budget, or ranges and conjunctions:        pep if the domain fits, else refuse
  everything else:                                  mixture

Guarantee: the chosen method's; the choice looks at nothing private.
Accuracy: the chosen method's.
Differences from the paper: there is none to differ from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from equipoise.algorithms.algorithm import Algorithm, Plan, Players, Setting
from equipoise.algorithms.mixture import Mixture
from equipoise.algorithms.pep import Pep

__all__ = ["Auto"]


@dataclass(frozen=True)
class Auto:
    """Options of the choice."""

    name: ClassVar[str] = "auto"
    title: ClassVar[str] = "chooses the method from public facts, and says why"
    citations: ClassVar[tuple[str, ...]] = ("liu2021iterative", "xiao2023optimal")
    guarantee: ClassVar[str] = "that of the method it chooses"
    when: ClassVar[str] = "always, unless you know better"

    objective: Literal["both", "max", "mean"] = "both"

    def plan(self, setting: Setting) -> Plan:
        """See `Algorithm.plan`; the plan is the chosen method's, with the reason among its options."""
        method, reason = self._choose(setting)
        plan = method.plan(setting)
        return replace(plan, options=plan.options | {"chosen_because": reason})

    def players(self, setting: Setting, plan: Plan) -> Players:
        """See `Algorithm.players`."""
        method, _ = self._choose(setting)
        return method.players(setting, plan)

    def _choose(self, setting: Setting) -> tuple[Algorithm, str]:
        if setting.epsilon is not None:
            return Pep(), "the budget is pure, which mixture does not offer"
        if any(group.masks is not None for group in setting.workload.groups):
            return Pep(), "the workload has ranges or conjunctions, which mixture does not model"
        return Mixture(
            objective=self.objective
        ), "a workload of marginals: the most accurate method on every table tried"
