"""Auto: pick the method from public facts, and say why.

Paper: none; it composes nothing of its own.

Pseudo-code                                        Here
  random cells, and the domain does not fit:        dual_query
  a pure budget, or ranges and conjunctions:        pep if the domain fits, else refuse
    with a public table of all columns:             pep_pub
  everything else:                                  mixture
    with public tables:                             mixture_pub

Guarantee: the chosen method's; the choice looks at nothing private.
Accuracy: the chosen method's.
Differences from the paper: there is none to differ from.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from equipoise.algorithms.algorithm import Algorithm, Plan, Players, Setting
from equipoise.algorithms.dual_query import DualQuery
from equipoise.algorithms.mixture import Mixture
from equipoise.algorithms.mixture_pub import MixturePub
from equipoise.algorithms.pep import Pep
from equipoise.algorithms.pep_pub import PepPub
from equipoise.algorithms.public_choice import PublicChoice
from equipoise.data_players.entropy_projection import memory_bytes
from equipoise.queries.conjunctions import Conjunctions

__all__ = ["Auto"]


@dataclass(frozen=True)
class Auto:
    """Options of the choice."""

    name: ClassVar[str] = "auto"
    title: ClassVar[str] = "chooses the method from public facts, and says why"
    citations: ClassVar[tuple[str, ...]] = ("liu2021iterative", "xiao2023optimal")
    guarantee: ClassVar[str] = "that of the method it chooses"
    when: ClassVar[str] = "always, unless you know better"
    uses_public: ClassVar[bool] = True
    takes_several: ClassVar[bool] = True

    objective: Literal["both", "max", "mean"] = "both"

    def plan(self, setting: Setting) -> Plan:
        """See `Algorithm.plan`; the plan is the chosen method's, with the reason among its options."""
        method, reason = self._choose(setting)
        plan = method.plan(setting)
        if plan.options.get("merges"):
            reason += "; rare values are counted together with their neighbours, as noise would drown each of them"
        return replace(plan, options=plan.options | {"chosen_because": reason})

    def players(self, setting: Setting, plan: Plan) -> Players:
        """See `Algorithm.players`."""
        method, _ = self._choose(setting)
        return method.players(setting, plan)

    def _choose(self, setting: Setting) -> tuple[Algorithm, str]:
        if isinstance(setting.workload, Conjunctions) and _too_wide(setting):
            return DualQuery(), "conjunctions over more columns than any other method can hold"
        obstacle = None
        if setting.epsilon is not None:
            obstacle = "the budget is pure, which mixture does not offer"
        elif any(group.masks is not None for group in setting.grouped.groups):
            obstacle = "the workload has ranges or conjunctions, which mixture does not model"
        if obstacle is not None:
            return _without_mixture(setting, obstacle)
        if setting.publics:
            reason = "a workload of marginals and public tables, which it uses as far as the measurements confirm them"
            return MixturePub(objective=self.objective), reason
        return Mixture(
            objective=self.objective
        ), "a workload of marginals: the most accurate method on every table tried"


def _too_wide(setting: Setting) -> bool:
    """Whether the whole domain does not fit in memory; its size itself may have thousands of digits."""
    cells = sum(math.log2(size) for size in setting.workload.domain.sizes)
    return cells > 40 or memory_bytes(setting.workload.domain.num_cells) > setting.memory_limit


def _without_mixture(setting: Setting, obstacle: str) -> tuple[Algorithm, str]:
    if not setting.publics:
        return Pep(), obstacle
    num_columns = len(setting.grouped.domain.sizes)
    if any(len(public.columns) < num_columns for public in setting.publics):
        return Pep(), f"{obstacle}; a public table lacks columns, so none is used"
    if len(setting.publics) > 1:
        return PublicChoice(PepPub()), f"{obstacle}; one of the public tables is chosen privately"
    return PepPub(), f"{obstacle}; the public table has all columns"
