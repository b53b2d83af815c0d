"""PEP: private entropy projection against the exponential mechanism.

Paper: liu2021iterative (report/references.bib), Algorithms 1 and 2, arXiv v2.

Pseudo-code                                        Here
  D_0 uniform over the domain                       EntropyProjection.init
  for t = 1 .. T:                                   game.loop.play
    q_t ~ exponential mechanism, |q(P) - q(D)|      BestResponse.step -> mechanisms.select
    m_t = q_t(P) + noise                            BestResponse.step -> mechanisms.measure
    repeat until every |m_i - q_i(D)| <= gamma:     EntropyProjection.step
      i = argmax |m_i - q_i(D)|
      D(x) ~ D(x) exp(lambda q_i(x)),
      lambda = log[m_i (1 - q_i(D)) / ((1 - m_i) q_i(D))]
  return D_T                                        EntropyProjection.play

Guarantee: T (selection_epsilon^2/8 + 1/(2 stddev^2))-zCDP, one record replaced (liu2021iterative, Theorem 1, v2).
Accuracy: with projections that stop at gamma, which all noise stays within, each round lowers KL(P || D) by at least
  2 (error - 2 gamma)^2 (Pythagoras, then Pinsker), so some round has error at most sqrt(log|X|/(2T)) + 2 gamma plus
  the slack of the selection.
Differences from the paper:
  1. Its gamma, log(|Q|/beta)/epsilon, is not on the scale of answers; ours is 0, or in theory mode the noise's reach.
  2. `solver="dual"` finds the maximum-entropy distribution itself instead of a feasible point. Post-processing.
  3. Answers and measurements are clamped to [1e-6, 1 - 1e-6] before the logarithm. Post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from equipoise.algorithms import rounds
from equipoise.algorithms.algorithm import Plan, Players, Setting, require_memory, resolved
from equipoise.algorithms.select_measure import Split, split
from equipoise.data_players.entropy_projection import EntropyProjection, memory_bytes

__all__ = ["Pep"]

BETA = 0.05
"""Failure probability of the accuracy bound in the forecast."""


@dataclass(frozen=True)
class Pep:
    """Options of PEP; None means: work it out from public quantities (`algorithms.rounds`)."""

    name: ClassVar[str] = "pep"
    title: ClassVar[str] = "entropy projection on everything measured, against the exponential mechanism"
    citations: ClassVar[tuple[str, ...]] = ("liu2021iterative",)
    guarantee: ClassVar[str] = "zCDP"
    when: ClassVar[str] = "domains that fit in memory: the most accurate of the whole-domain methods"

    num_rounds: int | None = None
    selection_share: Fraction = Fraction(1, 2)
    solver: Literal["projection", "dual"] = "projection"
    mode: Literal["practice", "theory"] = "practice"

    def plan(self, setting: Setting) -> Plan:
        """See `Algorithm.plan`."""
        memory = memory_bytes(setting.workload.domain.num_cells)
        require_memory(memory, setting, self.name)
        theory = self.mode == "theory"
        num_rounds = self.num_rounds or (self._theory_rounds(setting) if theory else rounds.pep_rounds(setting))
        budget = split(setting, num_rounds=num_rounds, selection_share=self.selection_share)
        return Plan(
            method=self.name,
            options=resolved(self, num_rounds=num_rounds),
            num_rounds=num_rounds,
            events=budget.events(setting),
            pure=False,
            memory_bytes=memory,
            forecast=budget.forecast(setting, error_bound(setting, budget) if theory else None),
        )

    def players(self, setting: Setting, plan: Plan) -> Players:
        """See `Algorithm.players`."""
        budget = split(setting, num_rounds=plan.num_rounds, selection_share=self.selection_share)
        data_player = EntropyProjection(
            workload=setting.workload,
            num_rows=setting.num_rows,
            solver=self.solver,
            tolerance="noise" if self.mode == "theory" else 0.0,
        )
        return Players(budget.query_player(setting, repeats=False), data_player, budget.evidence(repeats=False))

    def _theory_rounds(self, setting: Setting) -> int:
        """The number of rounds with the smallest bound: a search over a geometric grid, public quantities only."""

        def bound(num_rounds: int) -> float:
            return error_bound(setting, split(setting, num_rounds=num_rounds, selection_share=self.selection_share))

        return min(sorted({max(1, round(1.1**k)) for k in range(0, 100)}), key=bound)


def error_bound(setting: Setting, budget: Split) -> float:
    """The accuracy bound of the module's docstring for the best round, with probability 1 - BETA."""
    workload, n, num_rounds = setting.workload, setting.num_rows, budget.num_rounds
    gamma = budget.measurement_stddev / n * math.sqrt(2 * math.log(4 * num_rounds / BETA))
    slack = 2 / (n * float(budget.selection_epsilon)) * math.log(2 * num_rounds * workload.num_queries / BETA)
    return math.sqrt(math.log(workload.domain.num_cells) / (2 * num_rounds)) + 2 * gamma + slack
