"""PEP-Pub: entropy projection that starts from a public table.

Paper: liu2021iterative (report/references.bib), Algorithms 1 and 2 with the start of appendix E, arXiv v2.

Pseudo-code                                        Here
  D_0 the public histogram, on its own support      EntropyProjection.init, with `public`
  for t = 1 .. T:                                   game.loop.play
    q_t ~ exponential mechanism, |q(P) - q(D)|      BestMarginal.step, or BestResponse.step for single cells
    m_t = q_t(P) + noise                            the same: mechanisms.select, then mechanisms.measure
    project D on the measured answers               EntropyProjection.step
  return D_T                                        EntropyProjection.play

Guarantee: T (selection_epsilon^2/8 + 1/(2 stddev^2))-zCDP; in the pure variant epsilon-DP; one private record replaced.
  Nothing is promised to the people in the public table.
Accuracy: no weights on the public rows do better than the best-mixture-error (queries/best_mixture.py).
Differences from the paper:
  1. A round measures a whole marginal by default (`moves="cell"` for the paper's single queries): twice the price of a
     cell, far more information. When there is a round for every marginal, all are measured at once.
  2. By default the projection is soft (`solver="noise_aware"`): an answer is moved from the public one towards the
     measured one as far as the noise of the latter and the number of public rows warrant
     (data_players/public_support.py, `trusted_rows`). "projection" is the paper's, "dual" the exact nearest point.
  3. The start is the public histogram, as the paper's text says; its public code starts uniform on the public rows
     (`start="uniform"`). A measured cell without a public row is skipped: no weights can change it.
  4. `mode="paper"` restores 1 and 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from equipoise.algorithms import rounds
from equipoise.algorithms.algorithm import Plan, Players, Setting
from equipoise.algorithms.pmw_pub import memory_of, starting_rows
from equipoise.algorithms.select_measure import Split, split
from equipoise.algorithms.select_plan import plan_rounds, players_of
from equipoise.data_players.entropy_projection import EntropyProjection

__all__ = ["PepPub"]


@dataclass(frozen=True)
class PepPub:
    """Options of PEP-Pub; None means: work it out from public quantities (`algorithms.rounds`)."""

    name: ClassVar[str] = "pep_pub"
    title: ClassVar[str] = "entropy projection from a public table on everything measured"
    citations: ClassVar[tuple[str, ...]] = ("liu2021iterative", "liu2021leveraging")
    guarantee: ClassVar[str] = "zCDP by Gaussian measurements, or pure epsilon with --pure; the public rows have none"
    when: ClassVar[str] = "a public table of the same kind of people, with all columns (--public), in any domain"
    set_by_mode: ClassVar[dict[str, str]] = {"paper": "moves solver"}
    uses_public: ClassVar[bool] = True

    num_rounds: int | None = None
    moves: Literal["marginal", "cell"] = "marginal"
    selection_share: Fraction | None = None
    solver: Literal["noise_aware", "projection", "dual"] = "noise_aware"
    start: Literal["public", "uniform"] = "public"
    mode: Literal["practice", "paper"] = "practice"

    def plan(self, setting: Setting) -> Plan:
        """See `Algorithm.plan`."""
        memory = memory_of(setting, self.name)
        num_rounds = self.num_rounds
        if num_rounds is None:
            num_rounds = rounds.pep_rounds(setting, whole_marginals=self._moves == "marginal")
        budget = self._split(setting, num_rounds)
        return plan_rounds(
            self,
            setting,
            budget,
            memory=memory,
            num_rounds=num_rounds,
            solver="projection" if self.mode == "paper" else self.solver,
        )

    def players(self, setting: Setting, plan: Plan) -> Players:
        """See `Algorithm.players`."""
        budget = self._split(setting, plan.options["num_rounds"])
        data_player = EntropyProjection(
            workload=setting.grouped,
            num_rows=setting.num_rows,
            solver=plan.options["solver"],
            public=starting_rows(setting, self.name, self.start),
        )
        return players_of(setting, budget, data_player, repeats=False)

    @property
    def _moves(self) -> Literal["marginal", "cell"]:
        return "cell" if self.mode == "paper" else self.moves

    def _split(self, setting: Setting, num_rounds: int) -> Split:
        return split(setting, num_rounds=num_rounds, selection_share=self.selection_share, moves=self._moves)
