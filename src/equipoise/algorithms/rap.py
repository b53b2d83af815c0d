"""RAP: relaxed adaptive projection, against one-shot selection of several queries a round.

Paper: aydore2021differentially (report/references.bib), as restated in liu2021iterative, appendix B.2, arXiv v2.

Pseudo-code                                        Here
  D a random relaxed table in [-1, 1]^(n' x d')     RelaxedPlayer.init
  for t = 1 .. T:                                   game.loop.play
    K queries by report-noisy-max, |q(P) - q(D)|    BestResponse.step -> mechanisms.select (one-shot top-K)
    m_i = q_i(P) + noise for each of them           BestResponse.step -> mechanisms.measure
    D = argmin sum_i (q_i(D) - m_i)^2, all measured RelaxedPlayer.step: Adam, clipped after each step
  (T = 1: every query is measured, none selected)   MeasureAll.step
  return D                                          RelaxedPlayer.play

Guarantee: T K (selection_epsilon^2/8 + 1/(2 stddev^2))-zCDP, one record replaced; with T = 1, l2^2/(2 stddev^2).
Accuracy: no bound is known for what Adam finds.
Differences from the paper:
  1. The budget of a round is divided by K: as printed in liu2021iterative, Algorithm 1 spends K times its rho
     (MECHANISMS E-001-2). Selecting and measuring get half each.
  2. Products of one-hot entries are the only relaxation of a query; the paper has others for other classes.
  3. Each column of a row is projected on the distributions, as the authors' later code does; `relaxation="clip"` is the
     paper's. On Adult at epsilon 1 the largest error is then 0.4, and with the projection 0.035 (`bench/figures.py`).
  4. With "clip" the released model is a distribution: each column of a row clipped to [0, 1] and normalised, which
     loses most of the fit. The paper answers with the relaxed table (`output="relaxed"`), whose answers need not be
     those of any table; rows are then rounded towards its answers.
  5. T and K are chosen from public quantities by default.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

from equipoise.algorithms import rounds
from equipoise.algorithms.algorithm import Plan, Players, Setting, require_fit, resolved
from equipoise.algorithms.select_measure import Split, split
from equipoise.data_players.relaxed_rows import RelaxedPlayer, memory_bytes
from equipoise.errors import SettingError

__all__ = ["Rap", "make_plan", "make_players"]


def selection_budget(
    setting: Setting, num_rounds: int | None, num_selected: int | None, selection_share: Fraction
) -> tuple[Split, int]:
    """The budget of T rounds of K queries each, and K; one round measures everything.

    By default T = K, and TK is twice the number of single-cell rounds that MWEM would play (`algorithms.rounds`):
    a fit to all measurements makes more of them than one that sees each once.
    """
    if any(number is not None and number < 1 for number in (num_rounds, num_selected)):
        raise SettingError("num_rounds and num_selected must be at least 1; leave them out to have them worked out")
    _ = setting.rho_per_record  # refuses a pure budget: top-K selection has no pure variant here
    total = 2 * rounds.mwem_rounds(setting)
    if num_selected is None:
        num_selected = math.ceil(math.sqrt(total) if num_rounds is None else total / num_rounds)
    num_selected = min(num_selected, setting.grouped.num_queries)
    num_rounds = num_rounds or max(2, math.ceil(total / num_selected))
    if num_rounds == 1:
        groups = len(setting.grouped.groups)
        return split(setting, num_rounds=groups, selection_share=selection_share, moves="marginal"), num_selected
    return split(
        setting, num_rounds=num_rounds, selection_share=selection_share, num_selected=num_selected
    ), num_selected


def make_plan(algorithm: Any, setting: Setting) -> Plan:
    """The plan of `Rap` and of `RapSoftmax`, which differ in the data player alone."""
    budget, num_selected = selection_budget(
        setting, algorithm.num_rounds, algorithm.num_selected, algorithm.selection_share
    )
    memory = memory_bytes(setting.grouped, algorithm.num_relaxed)
    require_fit(memory, setting, f"{algorithm.name} with {algorithm.num_relaxed} relaxed rows")
    return Plan(
        method=algorithm.name,
        options=resolved(algorithm, num_rounds=budget.num_rounds, num_selected=num_selected),
        num_rounds=budget.num_rounds,
        events=budget.events(setting),
        pure=False,
        memory_bytes=memory,
        forecast=budget.forecast(setting),
        asked=setting.grouped,
    )


def make_players(algorithm: Any, setting: Setting, plan: Plan, **relaxed: Any) -> Players:
    """The players of `Rap` and of `RapSoftmax`; `relaxed` says how the data player's differs."""
    options = plan.options
    budget, _ = selection_budget(setting, options["num_rounds"], options["num_selected"], algorithm.selection_share)
    data_player = RelaxedPlayer(
        workload=setting.grouped,
        num_rows=setting.num_rows,
        num_rounds=plan.num_rounds,
        num_relaxed=algorithm.num_relaxed,
        learning_rate=algorithm.learning_rate,
        max_steps=algorithm.max_steps,
        **relaxed,
    )
    query_player = budget.query_player(setting, repeats=False)
    return Players(query_player, data_player, budget.evidence(setting, repeats=False))


@dataclass(frozen=True)
class Rap:
    """Options of RAP; None means: work it out from public quantities."""

    name: ClassVar[str] = "rap"
    title: ClassVar[str] = "a relaxed table fitted to everything measured, several queries a round"
    citations: ClassVar[tuple[str, ...]] = ("aydore2021differentially", "liu2021iterative")
    guarantee: ClassVar[str] = "zCDP"
    when: ClassVar[str] = "to compare with the paper; rap_softmax is more accurate, mixture more so"

    num_rounds: int | None = None
    num_selected: int | None = None
    selection_share: Fraction = Fraction(1, 2)
    num_relaxed: int = 1000
    relaxation: Literal["clip", "sparsemax"] = "sparsemax"
    output: Literal["normalised", "relaxed"] = "normalised"
    learning_rate: float = 1e-3
    max_steps: int = 1000

    def plan(self, setting: Setting) -> Plan:
        """See `Algorithm.plan`."""
        return make_plan(self, setting)

    def players(self, setting: Setting, plan: Plan) -> Players:
        """See `Algorithm.players`."""
        return make_players(self, setting, plan, relaxation=self.relaxation, output=self.output)
