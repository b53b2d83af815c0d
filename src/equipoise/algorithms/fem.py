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
from typing import ClassVar

from equipoise.algorithms.algorithm import Setting
from equipoise.algorithms.leader import Law, LeaderOptions
from equipoise.data_players.best_records import Noise

__all__ = ["Fem"]


@dataclass(frozen=True)
class Fem(LeaderOptions):
    """Options of FEM: those of `LeaderOptions`, and the law of the noise."""

    name: ClassVar[str] = "fem"
    title: ClassVar[str] = "follow the perturbed leader over records against the exponential mechanism"
    citations: ClassVar[tuple[str, ...]] = ("vietri2020new",)
    guarantee: ClassVar[str] = "zCDP by the exponential mechanism, or pure epsilon with --pure"
    when: ClassVar[str] = "very large domains and small budgets; comparison with the literature"

    law: Law = "exponential"

    def noise_law(self) -> Law:
        """See `LeaderOptions.noise_law`."""
        return self.law

    def regret(self, setting: Setting) -> float:
        """5 d^(3/2), with d the length of the one-hot record."""
        return 5 * math.pow(_width(setting), 1.5)

    def theory_noise(self, setting: Setting, num_rounds: int) -> Noise:
        """Exponential, of mean 50 sqrt(dT)."""
        return Noise("exponential", 50 * math.sqrt(_width(setting) * num_rounds))


def _width(setting: Setting) -> int:
    return sum(setting.workload.domain.sizes)
