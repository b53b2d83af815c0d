"""sepFEM: FEM with noise on queries that separate the records.

Paper: vietri2020new (report/references.bib), Algorithm 3, arXiv v1.

Pseudo-code                                        Here
  q_0 uniform over the queries and negations        BestRecords.init
  separator queries q~_1 .. q~_M: any two records   "column = value", for each value (for bits: "column = 1")
    differ on one of them
  for t = 1 .. T:                                   game.loop.play
    for j = 1 .. s: sigma_j Laplace noise,
      x_j = argmax_x sum_{i<t} q_i(x)
                     + sum_l sigma_jl q~_l(x)       BestRecords.step, by an oracle: all copies at once
    D_t = {x_1 .. x_s}                              BestRecords.play
    q_t ~ exponential mechanism, q(P) - q(D_t)      SignedResponse.step: mechanisms.select
  return the union of all D_t                       BestRecords.conclude

Guarantee: T selection_epsilon^2/8-zCDP, or T selection_epsilon-DP with --pure; one record replaced: FEM's.
Accuracy: as FEM with 2 sqrt(40) M^(3/4) d^(1/2)/sqrt(T) for the data player, d = log|X| and noise of scale
  sqrt(2 sqrt(M) T/(5 d)) (vietri2020new, Theorem 8, with the constants of docs/mechanisms.md); `mode="theory"` sets it.
Differences from the paper:
  1. Those of FEM (algorithms/fem.py).
  2. The separator is that of conjunctions: one query a value. With it sepFEM is FEM with Laplace noise (a test).
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

__all__ = ["SepFem"]


@dataclass(frozen=True)
class SepFem:
    """Options of sepFEM; None means: work it out from public quantities (`algorithms.leader`)."""

    name: ClassVar[str] = "sep_fem"
    title: ClassVar[str] = "FEM with Laplace noise on queries that separate the records"
    citations: ClassVar[tuple[str, ...]] = ("vietri2020new",)
    guarantee: ClassVar[str] = "zCDP by the exponential mechanism, or pure epsilon with --pure"
    when: ClassVar[str] = "as fem; comparison with the literature"

    num_rounds: int | None = None
    selection_epsilon: Fraction | None = None
    noise_scale: float | None = None
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
        sizes = setting.workload.domain.sizes
        separators, dimension = sum(sizes), sum(math.log(size) for size in sizes)
        theory = self.mode == "theory"
        regret = 2 * math.sqrt(40) * separators**0.75 * math.sqrt(dimension)
        leader = Leader.of(
            setting,
            num_rounds=_theory_rounds(setting, regret) if theory else self.num_rounds,
            selection_epsilon=None if theory else self.selection_epsilon,
            noise_scale=self.noise_scale,
            law="laplace",
            num_records=self.num_records,
        )
        if not theory:
            return leader
        scale = math.sqrt(2 * math.sqrt(separators) * leader.num_rounds / (5 * dimension))
        return leader.in_theory(
            setting, noise=Noise("laplace", scale), data_regret=regret / math.sqrt(leader.num_rounds)
        )


def _theory_rounds(setting: Setting, regret: float) -> int:
    """Where the two players' regrets meet."""
    resolution = setting.num_rows * math.sqrt(2 * setting.rho_per_record)
    return math.ceil(regret * resolution / math.log(2 * setting.workload.num_queries / BETA))
