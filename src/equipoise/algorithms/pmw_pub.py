"""PMW-Pub: multiplicative weights on the rows of a public table.

Paper: liu2021leveraging (report/references.bib), Algorithm 1, arXiv v2.

Pseudo-code                                        Here
  D_0 the public histogram, on its own support      MultiplicativeWeights.init, with `public`
  for t = 1 .. T:                                   game.loop.play
    q_t ~ exponential mechanism, |q(P) - q(D)|      BestMarginal.step, or BestResponse.step for single cells
    m_t = q_t(P) + noise                            the same: mechanisms.select, then mechanisms.measure
    D_t(x) ~ D(x) exp(q_t(x) (m_t - q_t(D)) / 2)    MultiplicativeWeights.step
    repeat where an earlier m_i is still off        MultiplicativeWeights.step, `replay`
  return D_T                                        MultiplicativeWeights.play

Guarantee: T (selection_epsilon^2/8 + 1/(2 stddev^2))-zCDP; in the pure variant epsilon-DP; one private record replaced.
  Nothing is promised to the people in the public table.
Accuracy: no weights on the public rows do better than the best-mixture-error (queries/best_mixture.py); with exact
  measurements the error comes down to it (liu2021leveraging, Theorem 4.7, v2).
Differences from the paper:
  1. zCDP accounting and discrete Gaussian noise by default (another guarantee); `--pure` gives a pure budget.
  2. A round measures a whole marginal by default (`moves="cell"` for the paper's single queries): twice the price of a
     cell, far more information. When there is a round for every marginal, all are measured at once.
  3. Earlier measurements are replayed in passes over all of them, as many as their noise deserves beside what the
     public rows know already (`replay="threshold"` is the paper's rule). Post-processing: no guarantee changes.
  4. `mode="paper"` restores 2 and 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from equipoise.algorithms import rounds
from equipoise.algorithms.algorithm import Plan, Players, Setting, require_public
from equipoise.algorithms.select_measure import Split, split
from equipoise.algorithms.select_plan import plan_rounds, players_of
from equipoise.data.public import PublicRows
from equipoise.data_players.multiplicative_weights import MultiplicativeWeights
from equipoise.data_players.public_support import memory_bytes
from equipoise.errors import CapacityError

__all__ = ["PmwPub", "memory_of", "starting_rows"]


@dataclass(frozen=True)
class PmwPub:
    """Options of PMW-Pub; None means: work it out from public quantities (`algorithms.rounds`)."""

    name: ClassVar[str] = "pmw_pub"
    title: ClassVar[str] = "multiplicative weights on the rows of a public table, against the exponential mechanism"
    citations: ClassVar[tuple[str, ...]] = ("liu2021leveraging", "hardt2012simple")
    guarantee: ClassVar[str] = "zCDP by Gaussian measurements, or pure epsilon with --pure; the public rows have none"
    when: ClassVar[str] = "a public table of the same kind of people, with all columns (--public); pep_pub is better"
    set_by_mode: ClassVar[dict[str, str]] = {"paper": "moves replay"}
    uses_public: ClassVar[bool] = True

    num_rounds: int | None = None
    moves: Literal["marginal", "cell"] = "marginal"
    selection_share: Fraction | None = None
    replay: Literal["threshold", "cycles", "none"] = "cycles"
    start: Literal["public", "uniform"] = "public"
    mode: Literal["practice", "paper"] = "practice"

    def plan(self, setting: Setting) -> Plan:
        """See `Algorithm.plan`."""
        memory = memory_of(setting, self.name)
        num_rounds = self.num_rounds
        if num_rounds is None:
            num_rounds = rounds.mwem_rounds(setting, whole_marginals=self._moves == "marginal")
        budget = self._split(setting, num_rounds)
        return plan_rounds(
            self,
            setting,
            budget,
            memory=memory,
            num_rounds=num_rounds,
            replay="threshold" if self.mode == "paper" else self.replay,
        )

    def players(self, setting: Setting, plan: Plan) -> Players:
        """See `Algorithm.players`."""
        budget = self._split(setting, plan.options["num_rounds"])
        data_player = MultiplicativeWeights(
            workload=setting.grouped,
            num_rows=setting.num_rows,
            replay=plan.options["replay"],
            public=starting_rows(setting, self.name, self.start),
        )
        return players_of(setting, budget, data_player, repeats=True)

    @property
    def _moves(self) -> Literal["marginal", "cell"]:
        return "cell" if self.mode == "paper" else self.moves

    def _split(self, setting: Setting, num_rounds: int) -> Split:
        return split(setting, num_rounds=num_rounds, selection_share=self.selection_share, moves=self._moves)


def starting_rows(setting: Setting, method: str, start: Literal["public", "uniform"]) -> PublicRows:
    """The public rows, as often as they come or each once."""
    public = require_public(setting, method)
    return public if start == "public" else public.flattened()


def memory_of(setting: Setting, method: str) -> int:
    """Memory that the public rows take with this workload.

    Raises:
        CapacityError: it is above the limit.
        SettingError: there are no public rows, or they lack a column.
    """
    public = require_public(setting, method)
    needed = memory_bytes(public, setting.grouped)
    if needed > setting.memory_limit:
        raise CapacityError(
            f"{method} remembers which queries each of the {public.num_distinct:,} distinct public rows satisfies:"
            f" about {needed / 2**30:.3g} GiB, and the limit is {setting.memory_limit / 2**30:.3g} GiB. Give fewer"
            " public rows, ask fewer queries, or raise --memory."
        )
    return needed
