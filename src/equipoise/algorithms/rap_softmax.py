"""RAP-softmax: relaxed adaptive projection with rows that are products of distributions.

Paper: liu2021iterative (report/references.bib), appendix B.2, "RAP-softmax", arXiv v2.

Pseudo-code                                        Here
  M random in R^(n' x d'), D = softmax(M)           RelaxedPlayer.init
  for t = 1 .. T:                                   game.loop.play
    K queries by one-shot top-K, |q(P) - q(D)|      BestResponse.step -> mechanisms.select
    m_i = q_i(P) + noise for each of them           BestResponse.step -> mechanisms.measure
    M = argmin sum_i (q_i(D) - m_i)^2, all measured RelaxedPlayer.step: Adam
  return D                                          RelaxedPlayer.play

Guarantee: T K (selection_epsilon^2/8 + 1/(2 stddev^2))-zCDP, one record replaced; with T = 1, where everything is
  measured, l2^2/(2 stddev^2).
Accuracy: no bound is known for what Adam finds.
Differences from the paper:
  1. The budget of a round is divided by K (MECHANISMS E-001-2), half for selecting and half for measuring.
  2. T and K are chosen from public quantities by default.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from equipoise.algorithms.algorithm import Plan, Players, Setting
from equipoise.algorithms.rap import make_plan, make_players

__all__ = ["RapSoftmax"]


@dataclass(frozen=True)
class RapSoftmax:
    """Options of RAP-softmax; None means: work it out from public quantities."""

    name: ClassVar[str] = "rap_softmax"
    title: ClassVar[str] = "a mixture of products fitted to everything measured, several queries a round"
    citations: ClassVar[tuple[str, ...]] = ("liu2021iterative", "aydore2021differentially")
    guarantee: ClassVar[str] = "zCDP"
    when: ClassVar[str] = "many columns, to compare with the paper; mixture is more accurate"

    num_rounds: int | None = None
    num_selected: int | None = None
    selection_share: Fraction = Fraction(1, 2)
    num_relaxed: int = 1000
    learning_rate: float = 0.1
    max_steps: int = 200

    def plan(self, setting: Setting) -> Plan:
        """See `Algorithm.plan`."""
        return make_plan(self, setting)

    def players(self, setting: Setting, plan: Plan) -> Players:
        """See `Algorithm.players`."""
        return make_players(self, setting, plan, relaxation="softmax")
