"""MWEM: multiplicative weights against the exponential mechanism.

Paper: hardt2012simple (report/references.bib), Figure 1, arXiv v1; with the accounting of liu2021iterative, Algorithm
1, arXiv v2.

Pseudo-code                                        Here
  D_0 uniform over the domain                       MultiplicativeWeights.init
  for t = 1 .. T:                                   game.loop.play
    q_t ~ exponential mechanism, |q(P) - q(D)|      BestMarginal.step, or BestResponse.step for single cells
    m_t = q_t(P) + noise                            the same: mechanisms.select, then mechanisms.measure
    D_t(x) ~ D(x) exp(q_t(x) (m_t - q_t(D)) / 2)    MultiplicativeWeights.step
    repeat the update on earlier measurements       MultiplicativeWeights.step, `replay`
  return D_T, or the average of D_1 .. D_T          MultiplicativeWeights.play, `output`

Guarantee: T (selection_epsilon^2/8 + 1/(2 stddev^2))-zCDP; in the pure variant epsilon-DP; one record replaced.
Accuracy: the average of D_1 .. D_T has error at most 2 sqrt(log|X|/T) + a with probability 1 - beta, where
  a = (2/(n selection_epsilon)) log(2T|Q|/beta) + (stddev/n) sqrt(2 log(4T/beta)): the potential argument of
  hardt2012simple, Theorem 2.2, with Gaussian noise (docs/mechanisms.md).
Differences from the paper:
  1. zCDP accounting and discrete Gaussian noise by default (another guarantee); `--pure` gives the paper's pure budget.
  2. Pure selection is permute-and-flip instead of the exponential mechanism: never worse (mckenna2020permute).
  3. The last iterate by default, which is what works; `mode="theory"` returns the average, as the theorem needs.
  4. Earlier measurements are replayed: `replay="cycles"` goes over all of them several times (hardt2012simple, section
     4), "threshold" once over those that are off by at least half as much as the newest (liu2021leveraging, section 5,
     v2). Answers are recomputed before each step. Post-processing: no guarantee changes.
  5. A round measures a whole marginal by default (`moves="cell"` for the paper's single queries): twice the price of a
     cell, far more information. When there is a round for every marginal, all are measured at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from equipoise.algorithms import rounds
from equipoise.algorithms.algorithm import Plan, Players, Setting, require_memory
from equipoise.algorithms.select_measure import Split, split
from equipoise.algorithms.select_plan import plan_rounds, players_of, rounds_of_least
from equipoise.data_players.multiplicative_weights import MultiplicativeWeights, memory_bytes

__all__ = ["Mwem"]

BETA = 0.05
"""Failure probability of the accuracy bound in the forecast."""


@dataclass(frozen=True)
class Mwem:
    """Options of MWEM; None means: work it out from public quantities (`algorithms.rounds`)."""

    name: ClassVar[str] = "mwem"
    title: ClassVar[str] = "multiplicative weights on the whole domain against the exponential mechanism"
    citations: ClassVar[tuple[str, ...]] = ("hardt2012simple", "liu2021iterative")
    guarantee: ClassVar[str] = "zCDP by Gaussian measurements, or pure epsilon with --pure"
    when: ClassVar[str] = "small domains and a pure budget; otherwise pep is more accurate"
    set_by_mode: ClassVar[dict[str, str]] = {"theory": "moves replay output"}

    num_rounds: int | None = None
    moves: Literal["marginal", "cell"] = "marginal"
    selection_share: Fraction | None = None
    replay: Literal["threshold", "cycles", "none"] = "cycles"
    output: Literal["last", "average"] = "last"
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
                else rounds.mwem_rounds(setting, whole_marginals=self.moves == "marginal")
            )
        budget = self._split(setting, num_rounds)
        return plan_rounds(
            self,
            setting,
            budget,
            memory=memory,
            bound=error_bound(setting, budget) if theory else None,
            num_rounds=num_rounds,
            replay="none" if theory else self.replay,
            output="average" if theory else self.output,
        )

    def players(self, setting: Setting, plan: Plan) -> Players:
        """See `Algorithm.players`."""
        budget = self._split(setting, plan.options["num_rounds"])
        data_player = MultiplicativeWeights(
            workload=setting.grouped,
            num_rows=setting.num_rows,
            replay=plan.options["replay"],
            average=plan.options["output"] == "average",
        )
        return players_of(setting, budget, data_player, repeats=True)

    @property
    def _moves(self) -> Literal["marginal", "cell"]:
        # The theorem is about single queries.
        return "cell" if self.mode == "theory" else self.moves

    def _split(self, setting: Setting, num_rounds: int) -> Split:
        return split(setting, num_rounds=num_rounds, selection_share=self.selection_share, moves=self._moves)

    def _theory_rounds(self, setting: Setting) -> int:
        return rounds_of_least(lambda num_rounds: error_bound(setting, self._split(setting, num_rounds)))


def error_bound(setting: Setting, budget: Split) -> float:
    """The accuracy bound of the module's docstring for this budget, with probability 1 - BETA.

    Laplace noise of scale b stays within b log(2T/beta) in all T rounds with probability 1 - beta/2, Gaussian within
    stddev sqrt(2 log(4T/beta)).
    """
    workload, n, rounds_ = setting.grouped, setting.num_rows, budget.num_rounds
    assert budget.selection_epsilon is not None
    select = 2 / (n * float(budget.selection_epsilon)) * math.log(2 * rounds_ * workload.num_queries / BETA)
    if budget.measurement_epsilon is not None:
        measure = math.log(2 * rounds_ / BETA) / (n * float(budget.measurement_epsilon))
    else:
        measure = budget.measurement_stddev / n * math.sqrt(2 * math.log(4 * rounds_ / BETA))
    return 2 * math.sqrt(math.log(workload.domain.num_cells) / rounds_) + select + measure
