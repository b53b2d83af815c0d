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
from typing import ClassVar

from equipoise.algorithms.algorithm import Setting
from equipoise.algorithms.leader import Law, LeaderOptions
from equipoise.data_players.best_records import Noise

__all__ = ["SepFem"]


@dataclass(frozen=True)
class SepFem(LeaderOptions):
    """Options of sepFEM: those of `LeaderOptions`."""

    name: ClassVar[str] = "sep_fem"
    title: ClassVar[str] = "FEM with Laplace noise on queries that separate the records"
    citations: ClassVar[tuple[str, ...]] = ("vietri2020new",)
    guarantee: ClassVar[str] = "zCDP by the exponential mechanism, or pure epsilon with --pure"
    when: ClassVar[str] = "as fem; comparison with the literature"

    def noise_law(self) -> Law:
        """See `LeaderOptions.noise_law`."""
        return "laplace"

    def regret(self, setting: Setting) -> float:
        """2 sqrt(40) M^(3/4) d^(1/2)."""
        separators, dimension = _lengths(setting)
        return 2 * math.sqrt(40) * math.pow(separators, 0.75) * math.sqrt(dimension)

    def theory_noise(self, setting: Setting, num_rounds: int) -> Noise:
        """Laplace, of scale sqrt(2 sqrt(M) T/(5 d))."""
        separators, dimension = _lengths(setting)
        return Noise("laplace", math.sqrt(2 * math.sqrt(separators) * num_rounds / (5 * dimension)))


def _lengths(setting: Setting) -> tuple[int, float]:
    """M, the number of separator queries, and d = log|X|."""
    sizes = setting.workload.domain.sizes
    return sum(sizes), sum(math.log(size) for size in sizes)
