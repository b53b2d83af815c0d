"""FEM: follow the perturbed leader over the records against the exponential mechanism over the queries.

Paper: vietri2020new (report/references.bib), Algorithm 2, arXiv v1.

Pseudo-code                                        Here
  q_0 uniform over the queries and negations        BestRecords.init
  for t = 1 .. T:                                   game.loop.play
    for j = 1 .. s: sigma_j exponential noise,
      x_j = argmax_x sum_{i<t} q_i(x) - <x, sigma_j>    BestRecords.step, by an oracle: all copies at once
    D_t = {x_1 .. x_s}                              BestRecords.play
    q_t ~ exponential mechanism, q(P) - q(D_t)      SignedResponse.step: mechanisms.select
  return the union of all D_t                       BestRecords.conclude

Guarantee: T selection_epsilon^2/8-zCDP, or T selection_epsilon-DP with --pure; one record replaced. The paper charges
  selection_epsilon^2/2 (vietri2020new, Lemma 4): four times as much. It does not rest on the oracle.
Accuracy: error at most 5 d^(3/2)/sqrt(T) + sqrt(T/(2 rho)) log(2T|Q|/beta)/n and half of alpha for sampling, with d the
  length of the one-hot record, noise of mean 50 sqrt(dT) and s = 8 log(4T|Q|/beta)/alpha^2 (vietri2020new, Theorem 7,
  with the constants of docs/mechanisms.md). Of use only for very large tables; `mode="theory"` sets it.
Differences from the paper:
  1. selection_epsilon = sqrt(8 rho/T) instead of sqrt(2 rho/T): see Guarantee. As many rounds as the budget covers,
     rounded down; published code plays one round more.
  2. `noise_scale` is the mean of the noise. The paper's eta is a rate in the theorems and a scale in the experiments.
  3. The records that answer the last selection belong to the union too. Post-processing.
  4. A table of bits only has noise on "is 1", as {0,1}^d has in the paper; others on every value of the one-hot record.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from equipoise.algorithms.algorithm import Plan, Players, Setting
from equipoise.algorithms.leader import BETA, Leader
from equipoise.algorithms.records import OracleName
from equipoise.data_players.best_records import Noise

__all__ = ["Fem"]


@dataclass(frozen=True)
class Fem:
    """Options of FEM; None means: work it out from public quantities (`algorithms.leader`)."""

    name: ClassVar[str] = "fem"
    title: ClassVar[str] = "follow the perturbed leader over records against the exponential mechanism"
    citations: ClassVar[tuple[str, ...]] = ("vietri2020new",)
    guarantee: ClassVar[str] = "zCDP by the exponential mechanism, or pure epsilon with --pure"
    when: ClassVar[str] = "very large domains and small budgets; comparison with the literature"

    num_rounds: int | None = None
    selection_epsilon: Fraction | None = None
    noise_scale: float | None = None
    law: Literal["exponential", "laplace"] = "exponential"
    num_records: int = 50
    oracle: OracleName = "branch_and_bound"
    mode: Literal["practice", "theory"] = "practice"

    def plan(self, setting: Setting) -> Plan:
        """See `Algorithm.plan`."""
        return self._leader(setting).plan(self, setting)

    def players(self, setting: Setting, plan: Plan) -> Players:
        """See `Algorithm.players`."""
        return self._leader(setting).players(setting, self.oracle)

    def _leader(self, setting: Setting) -> Leader:
        width = sum(setting.workload.domain.sizes)
        theory = self.mode == "theory"
        leader = Leader.of(
            setting,
            num_rounds=_theory_rounds(setting, width) if theory else self.num_rounds,
            selection_epsilon=None if theory else self.selection_epsilon,
            noise_scale=self.noise_scale,
            law=self.law,
            num_records=self.num_records,
        )
        if not theory:
            return leader
        return leader.in_theory(
            setting,
            noise=Noise("exponential", 50 * math.sqrt(width * leader.num_rounds)),
            data_regret=5 * width**1.5 / math.sqrt(leader.num_rounds),
        )


def _theory_rounds(setting: Setting, width: int) -> int:
    """Where the two players' regrets meet: 5 d^(3/2) n √(2 rho)/log(2|Q|/beta)."""
    resolution = setting.num_rows * math.sqrt(2 * setting.rho_per_record)
    return math.ceil(5 * math.pow(width, 1.5) * resolution / math.log(2 * setting.workload.num_queries / BETA))
