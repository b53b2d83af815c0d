"""Independent: noisy shares of every column, and nothing of how they hang together. A toy, to be copied.

Paper: none; docs/adding.md. (For a real one: its key in report/references.bib, the algorithm's number, the version.)

Pseudo-code                                        Here
  every column uniform                              ColumnShares.init
  for t = 1 .. T:                                   game.loop.play
    M_t ~ exponential mechanism, |M(P) - M(D)|      BestMarginal.step: mechanisms.select
    m_t = M_t(P) + noise                            the same: mechanisms.measure
    each column = the mean of what m_1 .. m_t say   ColumnShares.step
  return the product of the columns                 ColumnShares.play

Guarantee: T (selection_epsilon^2/8 + 1/stddev^2)-zCDP, one record replaced (a marginal has squared sensitivity 2).
Accuracy: that of independence at best.
Differences from the paper: there is none to differ from.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from examples.adding.column_shares import ColumnShares

from equipoise.algorithms.algorithm import Plan, Players, Setting
from equipoise.algorithms.select_measure import Split, split
from equipoise.algorithms.select_plan import plan_rounds, players_of

__all__ = ["Independent"]


@dataclass(frozen=True)
class Independent:
    """Options: they become `--option num_rounds=5`."""

    name: ClassVar[str] = "independent"
    title: ClassVar[str] = "noisy shares of every column, as if columns had nothing to do with each other"
    citations: ClassVar[tuple[str, ...]] = ("liu2021iterative",)
    guarantee: ClassVar[str] = "zCDP by Gaussian measurements"
    when: ClassVar[str] = "to see how an algorithm is written"

    num_rounds: int = 4

    def plan(self, setting: Setting) -> Plan:
        """See `Algorithm.plan`: public settings in, everything that will happen and cost out."""
        memory = 16 * sum(setting.grouped.domain.sizes)
        return plan_rounds(self, setting, self._split(setting), memory=memory)

    def players(self, setting: Setting, plan: Plan) -> Players:
        """See `Algorithm.players`."""
        data_player = ColumnShares(setting.grouped, setting.num_rows)
        return players_of(setting, self._split(setting), data_player, repeats=False)

    def _split(self, setting: Setting) -> Split:
        num_rounds = min(self.num_rounds, len(setting.grouped.groups))
        return split(setting, num_rounds=num_rounds, selection_share=Fraction(1, 5), moves="marginal")
