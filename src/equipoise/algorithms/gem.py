"""GEM: a generator network against the exponential mechanism.

Paper: liu2021iterative (report/references.bib), Algorithms 3 and 4, arXiv v2.

Pseudo-code                                        Here
  G_0 a random network, z_1 .. z_B ~ N(0, I)        Generator.init
  for t = 1 .. T:                                   game.loop.play
    q_t ~ exponential mechanism, |q(P) - q(G)|      BestResponse.step, or BestMarginal.step for whole marginals
    m_t = q_t(P) + noise                            the same: mechanisms.select, then mechanisms.measure
    repeat until every |m_i - q_i(G)| < gamma:      Generator.step
      J = {i: |m_i - q_i(G)| >= gamma}
      a step of Adam on the mean of |m_i - q_i(G)| over J
  return the moving average of G_T/2 .. G_T         Generator.play

Guarantee: T (selection_epsilon^2/8 + 1/(2 stddev^2))-zCDP, one record replaced (liu2021iterative, Theorem 1, v2).
Accuracy: no bound is known; training a network may stall anywhere.
Differences from the paper:
  1. Selection weights are exp(alpha epsilon_0 n |error|), as in its appendix B.1: Algorithm 3 halves the exponent and
     wastes three quarters of the selection's budget (MECHANISMS E-001-1). The guarantee is that of Theorem 1.
  2. gamma comes from noisy measurements, never from a true error (E-001-5).
  3. The network: noise of length 512 and two hidden layers of 1024, all of which the output layer reads; batch
     normalisation by the batch itself. The paper gives the widths only.
  4. `mode="practice"`, the default: a round measures a whole marginal (`moves`), the loss is the squared error in
     standard deviations until the noise explains what is left, and the layers have a quarter of the widths.
     `mode="paper"` is the algorithm above with the paper's parameters: single cells, alpha = 0.67. Post-processing of
     the moves, both.
  5. `schedule` and `score` as in `algorithms.pep`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from equipoise.algorithms import rounds
from equipoise.algorithms.algorithm import Plan, Players, Setting, require_fit
from equipoise.algorithms.select_measure import Schedule, Split, split
from equipoise.algorithms.select_plan import plan_rounds, players_of
from equipoise.data_players.generator import Generator, memory_bytes
from equipoise.query_players.best_marginal import Score

__all__ = ["Gem"]

ALPHA = Fraction(67, 100)
"""liu2021iterative, Table 2: the share of epsilon_0 for selection."""


@dataclass(frozen=True)
class Gem:
    """Options of GEM; None means: the mode's value, or worked out from public quantities (`algorithms.rounds`)."""

    name: ClassVar[str] = "gem"
    title: ClassVar[str] = "a generator network fitted to everything measured, against the exponential mechanism"
    citations: ClassVar[tuple[str, ...]] = ("liu2021iterative",)
    guarantee: ClassVar[str] = "zCDP by Gaussian measurements, or pure epsilon with --pure"
    when: ClassVar[str] = "many columns, to compare with the paper; mixture is faster and more accurate"

    num_rounds: int | None = None
    moves: Literal["marginal", "cell"] | None = None
    selection_share: Fraction | None = None
    num_products: int = 1000
    learning_rate: float | None = None
    max_steps: int | None = None
    weight_memory: float = 0.5
    resample: bool = False
    schedule: Schedule = "fixed"
    score: Score = "largest"
    mode: Literal["practice", "paper"] = "practice"

    def plan(self, setting: Setting) -> Plan:
        """See `Algorithm.plan`."""
        num_rounds = self.num_rounds
        if num_rounds is None:
            whole, annealed = self._moves == "marginal", self.schedule == "annealed"
            num_rounds = rounds.pep_rounds(setting, whole_marginals=whole, annealed=annealed)
        budget = self._split(setting, num_rounds)
        player = self._player(setting, budget.num_rounds)
        memory = memory_bytes(setting.grouped, player.num_products, player.widths)
        require_fit(memory, setting, f"{self.name} with {self.num_products} products")
        return plan_rounds(
            self,
            setting,
            budget,
            memory=memory,
            num_rounds=num_rounds,
            learning_rate=player.learning_rate,
            max_steps=player.max_steps,
        )

    def players(self, setting: Setting, plan: Plan) -> Players:
        """See `Algorithm.players`."""
        budget = self._split(setting, plan.options["num_rounds"])
        return players_of(setting, budget, self._player(setting, plan.num_rounds), repeats=False)

    def _player(self, setting: Setting, num_rounds: int) -> Generator:
        paper = self.mode == "paper"
        return Generator(
            workload=setting.grouped,
            num_rows=setting.num_rows,
            num_rounds=num_rounds,
            num_products=self.num_products,
            widths=(512, 1024, 1024) if paper else (128, 256, 256),
            loss="absolute" if paper else "squared",
            learning_rate=(1e-4 if paper else 6e-3) if self.learning_rate is None else self.learning_rate,
            max_steps=(100 if paper else 1000) if self.max_steps is None else self.max_steps,
            weight_memory=self.weight_memory,
            resample=self.resample,
        )

    @property
    def _moves(self) -> Literal["marginal", "cell"]:
        return self.moves or ("cell" if self.mode == "paper" else "marginal")

    def _split(self, setting: Setting, num_rounds: int) -> Split:
        papers = ALPHA**2 / (ALPHA**2 + (1 - ALPHA) ** 2) if self.mode == "paper" else None
        return split(
            setting,
            num_rounds=num_rounds,
            selection_share=papers if self.selection_share is None else self.selection_share,
            moves=self._moves,
            schedule=self.schedule,
            score=self.score,
        )
