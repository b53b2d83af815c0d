"""GEM-Pub: a generator network taught by a public table, then GEM.

Paper: liu2021iterative (report/references.bib), Algorithms 3 and 4 with the start of appendix E, arXiv v2.

Pseudo-code                                        Here
  G_pub = a network that answers like the public    Pretrained.init, which plays GEM against the public rows
    table; no privacy is needed for it
  G_0 = G_pub                                       Pretrained.init: the weights, and nothing measured
  for t = 1 .. T:                                   game.loop.play
    q_t ~ exponential mechanism, |q(P) - q(G)|      BestResponse.step, or BestMarginal.step for whole marginals
    m_t = q_t(P) + noise                            the same: mechanisms.select, then mechanisms.measure
    train G on everything measured                  Generator.step
  return the moving average of G_T/2 .. G_T         Generator.play

Guarantee: that of gem: T (selection_epsilon^2/8 + 1/(2 stddev^2))-zCDP, one private record replaced. The pretraining
  reads no private record. Nothing is promised to the people in the public table.
Accuracy: no bound is known. The network can leave the public support, so the best-mixture-error is no limit.
Differences from the paper:
  1. Those of gem (algorithms/gem.py).
  2. A public table may lack columns ("reduced"): the lessons are the marginals of the columns it has, also those that
     are parts of the workload's marginals (appendix E.1).
  3. `mode="paper"`: a public round teaches the fifty answers that are furthest off, not the one: the same network
     sooner. The pretraining ends after `public_rounds`, or when ten of them brought nothing. `mode="practice"`, the
     default: all of them at once, as GEM measures them at once; and steps are a third of GEM's, which would undo what
     was taught.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal

from equipoise.algorithms.algorithm import Plan, Players, Setting, require_public, resolved
from equipoise.algorithms.gem import Gem
from equipoise.data_players.generator import Generator
from equipoise.data_players.pretrained import Pretrained

__all__ = ["GemPub"]

LEARNING_RATE = 2e-3
"""In practice. With GEM's 6e-3 what was taught is lost (Adult, epsilon 1: GEM's mean error); with 1e-3 the fit takes
five times as many steps, to the same."""

NUM_WORST, MAX_STEPS = 50, 100
"""Answers that a public round of the paper's mode teaches, and its steps."""


@dataclass(frozen=True)
class GemPub:
    """Options of GEM-Pub; None means: as for GEM."""

    name: ClassVar[str] = "gem_pub"
    title: ClassVar[str] = "a generator network taught by a public table, then fitted to everything measured"
    citations: ClassVar[tuple[str, ...]] = ("liu2021iterative", "liu2021leveraging")
    guarantee: ClassVar[str] = "zCDP by Gaussian measurements, or pure epsilon with --pure; the public rows have none"
    when: ClassVar[str] = "a public table, also one that lacks columns, to compare with the paper"
    uses_public: ClassVar[bool] = True

    num_rounds: int | None = None
    moves: Literal["marginal", "cell"] | None = None
    selection_share: Fraction | None = None
    num_products: int = 1000
    public_rounds: int = 20
    mode: Literal["practice", "paper"] = "practice"

    def plan(self, setting: Setting) -> Plan:
        """See `Algorithm.plan`: GEM's, under another name."""
        require_public(setting, self.name, all_columns=False)
        plan = self._gem.plan(setting)
        return replace(plan, method=self.name, options=resolved(self) | plan.options)

    def players(self, setting: Setting, plan: Plan) -> Players:
        """See `Algorithm.players`: GEM's, with the network taught first."""
        made = self._gem.players(setting, plan)
        assert isinstance(made.data_player, Generator)
        paper = self.mode == "paper"
        taught = Pretrained(
            generator=made.data_player,
            public=require_public(setting, self.name, all_columns=False),
            num_worst=NUM_WORST if paper else None,
            num_rounds=self.public_rounds,
            max_steps=MAX_STEPS if paper else None,
        )
        return replace(made, data_player=taught)

    @property
    def _gem(self) -> Gem:
        return Gem(
            num_rounds=self.num_rounds,
            moves=self.moves,
            selection_share=self.selection_share,
            num_products=self.num_products,
            learning_rate=None if self.mode == "paper" else LEARNING_RATE,
            mode=self.mode,
        )
