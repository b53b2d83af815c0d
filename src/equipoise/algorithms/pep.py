"""PEP: private entropy projection against the exponential mechanism.

Paper: liu2021iterative (report/references.bib), Algorithms 1 and 2, arXiv v2.

Pseudo-code                                        Here
  D_0 uniform over the domain                       EntropyProjection.init
  for t = 1 .. T:                                   game.loop.play
    q_t ~ exponential mechanism, |q(P) - q(D)|      BestMarginal.step, or BestResponse.step for single cells
    m_t = q_t(P) + noise                            the same: mechanisms.select, then mechanisms.measure
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
  1. A round measures a whole marginal by default (`moves="cell"` for the paper's single queries): twice the price of a
     cell, far more information. When there is a round for every marginal, all are measured at once.
  2. Its gamma, log(|Q|/beta)/epsilon, is not on the scale of answers; ours is 0, or in theory mode the noise's reach.
  3. By default the projection is soft, by each measurement's own noise (`solver="noise_aware"`); "projection" is the
     paper's, "dual" the exact maximum-entropy point of its feasible set. Post-processing, all three.
  4. Answers and measurements are clamped to [1e-6, 1 - 1e-6] before the logarithm. Post-processing.
  5. On request, whole marginals are scored with their noise in mind (`score`) and later rounds take the budget of
     several (`schedule="annealed"`, `query_players.annealed`): the total stays what the plan reserves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from equipoise.algorithms import rounds
from equipoise.algorithms.algorithm import Plan, Players, Setting, require_memory
from equipoise.algorithms.select_measure import Schedule, Split, split
from equipoise.algorithms.select_plan import plan_rounds, players_of, rounds_of_least
from equipoise.data_players.entropy_projection import EntropyProjection, memory_bytes
from equipoise.query_players.best_marginal import Score

__all__ = ["Pep"]

BETA = 0.05
"""Failure probability of the accuracy bound in the forecast."""


@dataclass(frozen=True)
class Pep:
    """Options of PEP; None means: work it out from public quantities (`algorithms.rounds`)."""

    name: ClassVar[str] = "pep"
    title: ClassVar[str] = "entropy projection on everything measured, against the exponential mechanism"
    citations: ClassVar[tuple[str, ...]] = ("liu2021iterative",)
    guarantee: ClassVar[str] = "zCDP by Gaussian measurements, or pure epsilon with --pure"
    when: ClassVar[str] = "domains that fit in memory: the most accurate of the whole-domain methods"
    set_by_mode: ClassVar[dict[str, str]] = {"theory": "moves solver schedule score"}

    num_rounds: int | None = None
    moves: Literal["marginal", "cell"] = "marginal"
    selection_share: Fraction | None = None
    solver: Literal["noise_aware", "projection", "dual"] = "noise_aware"
    schedule: Schedule = "fixed"
    score: Score = "largest"
    mode: Literal["practice", "theory"] = "practice"

    def plan(self, setting: Setting) -> Plan:
        """See `Algorithm.plan`."""
        memory = memory_bytes(setting.grouped.domain.num_cells)
        require_memory(memory, setting, self.name)
        theory = self.mode == "theory"
        num_rounds = self.num_rounds
        if num_rounds is None:
            num_rounds = (
                self._theory_rounds(setting)
                if theory
                else rounds.pep_rounds(
                    setting, whole_marginals=self.moves == "marginal", annealed=self.schedule == "annealed"
                )
            )
        budget = self._split(setting, num_rounds)
        return plan_rounds(
            self,
            setting,
            budget,
            memory=memory,
            bound=error_bound(setting, budget) if theory else None,
            num_rounds=num_rounds,
            solver="projection" if theory else self.solver,
        )

    def players(self, setting: Setting, plan: Plan) -> Players:
        """See `Algorithm.players`."""
        budget = self._split(setting, plan.options["num_rounds"])
        data_player = EntropyProjection(
            workload=setting.grouped,
            num_rows=setting.num_rows,
            solver=plan.options["solver"],
            tolerance="noise" if self.mode == "theory" else 0.0,
        )
        return players_of(setting, budget, data_player, repeats=False)

    @property
    def _moves(self) -> Literal["marginal", "cell"]:
        # The bound is about single queries.
        return "cell" if self.mode == "theory" else self.moves

    def _split(self, setting: Setting, num_rounds: int) -> Split:
        return split(
            setting,
            num_rounds=num_rounds,
            selection_share=self.selection_share,
            moves=self._moves,
            schedule=self.schedule,
            score=self.score,
        )

    def _theory_rounds(self, setting: Setting) -> int:
        return rounds_of_least(lambda num_rounds: error_bound(setting, self._split(setting, num_rounds)))


def error_bound(setting: Setting, budget: Split) -> float:
    """The accuracy bound of the module's docstring for the best round, with probability 1 - BETA."""
    workload, n, num_rounds = setting.grouped, setting.num_rows, budget.num_rounds
    gamma = budget.measurement_stddev / n * math.sqrt(2 * math.log(4 * num_rounds / BETA))
    assert budget.selection_epsilon is not None
    slack = 2 / (n * float(budget.selection_epsilon)) * math.log(2 * num_rounds * workload.num_queries / BETA)
    return math.sqrt(math.log(workload.domain.num_cells) / (2 * num_rounds)) + 2 * gamma + slack
