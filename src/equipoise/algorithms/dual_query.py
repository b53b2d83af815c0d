"""DualQuery: multiplicative weights over the queries against an optimisation oracle over the records.

Paper: gaboardi2014dual (report/references.bib), Algorithm 1, arXiv v2.

Pseudo-code                                        Here
  Q^1 uniform over the queries and negations        Hedge.init
  for t = 1 .. T:                                   game.loop.play
    draw s queries from Q^t                         Hedge.step: mechanisms.draw; uniform and free in round 1
    x^t = argmax_x sum of drawn q(x)                BestRecords.step, by an oracle
    Q^{t+1}_q ~ Q^t_q exp(eta (q(P) - q(x^t)))      Weights.updated
  return x^1 .. x^T                                 BestRecords.conclude

Guarantee: s eta^2 (T-1)T(2T-1)/(12 n^2)-zCDP, or s eta T(T-1)/n-DP with --pure; one record replaced. A draw after t
  updates is an exponential mechanism of parameter 2 eta t/n (gaboardi2014dual, Theorem 4.1, charges more: Lemma A of
  docs/mechanisms.md). It does not rest on the oracle, which sees drawn queries only.
Accuracy: error at most alpha with probability 1 - beta for T = 16 log|Q|/alpha^2, eta = alpha/4, s = 8 log(2|X|T/beta)/
  alpha^2 and an exact oracle (gaboardi2014dual, Theorem 4.2, whose constant 48 in s is loose).
Differences from the paper:
  1. zCDP accounting by the range of the log-ratio (another price, same mechanism); exact draws.
  2. `mode="practice"` (default) plays several records a round, with equal weights: best for the draws and some noise
     on the values (`noise_scale`), which answers in finer steps than one record. The noise is smaller on values that
     the draws so far asked for more often, so columns of which they say nothing now follow what they said before.
  3. It responds to the draws of the newest `memory` rounds, earlier ones weighted by how their queries' weights changed
     since, as far as what was played tells (`data_players.remembered`), which is free. 2 and 3 are post-processing.
  4. It leaves the records of the first rounds out (`burn_in`, a share of them): the first answers a uniform draw, and
     until the weights have found their level all records err to the same side, which the average would keep.
  5. A small workload of rare combinations is played together with others like them (`algorithms.padding`): the same
     mechanism on more queries, at the same price. `num_extra_queries=0` plays what was asked alone.
  6. Rounds and rate are worked out from the budget; any two of num_rounds, num_draws and rate fix the third.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from equipoise.algorithms import draw_budget
from equipoise.algorithms.algorithm import Plan, Players, Setting, price, require_fit, resolved
from equipoise.algorithms.draw_budget import Drawing
from equipoise.algorithms.padding import padded
from equipoise.algorithms.records import (
    OracleName,
    default_burn_in,
    default_memory,
    default_noise,
    default_records,
    forecast,
    game_bytes,
    make_oracle,
    require_records,
    weighs_draws,
)
from equipoise.data_players.best_records import BestRecords, Noise
from equipoise.query_players.hedge import Hedge

__all__ = ["DualQuery"]


@dataclass(frozen=True)
class DualQuery:
    """Options of DualQuery; None means: work it out from public quantities (`algorithms.draw_budget`)."""

    name: ClassVar[str] = "dual_query"
    title: ClassVar[str] = "multiplicative weights over the queries against best records by an oracle"
    citations: ClassVar[tuple[str, ...]] = ("gaboardi2014dual",)
    guarantee: ClassVar[str] = "zCDP by exponential mechanisms, or pure epsilon with --pure"
    when: ClassVar[str] = "thousands of binary columns, millions of conjunctions: nothing is kept for a column or cell"
    set_by_mode: ClassVar[dict[str, str]] = {
        "theory": "num_rounds num_draws rate num_records memory burn_in noise_scale num_extra_queries"
    }

    num_rounds: int | None = None
    num_draws: int | None = None
    rate: Fraction | None = None
    num_records: int | None = None
    memory: int | None = None
    burn_in: float | None = None
    noise_scale: float | None = None
    num_extra_queries: int | None = None
    oracle: OracleName = "branch_and_bound"
    mode: Literal["practice", "theory"] = "practice"

    def plan(self, setting: Setting) -> Plan:
        """See `Algorithm.plan`."""
        require_records(**{name: getattr(self, name) for name in ("num_records", "memory", "noise_scale", "burn_in")})
        extra = 0 if self.mode == "theory" else self.num_extra_queries
        asked, setting = setting.workload, padded(setting, extra, is_published=self.num_records == self.memory == 1)
        drawing, (num_records, noise_scale) = self._drawing(setting), self._records(setting)
        hedge = Hedge(setting.num_rows, drawing.rate, drawing.num_draws)
        memory = game_bytes(setting, drawing.num_rounds, num_records, noise_scale)
        require_fit(memory, setting, f"{self.name} keeps weights of the queries and all records it played, and")
        return Plan(
            method=self.name,
            options=resolved(
                self,
                num_records=num_records,
                noise_scale=noise_scale,
                burn_in=self._burn_in(setting),
                memory=self._memory(setting, drawing),
                num_extra_queries=setting.workload.num_queries - asked.num_queries,
                num_rounds=drawing.num_rounds,
                num_draws=drawing.num_draws,
                rate=drawing.rate,
            ),
            num_rounds=drawing.num_rounds,
            events=tuple((price(event, setting.rows_per_unit), 1) for event in hedge.events(drawing.num_rounds)),
            pure=setting.epsilon is not None,
            memory_bytes=memory,
            forecast=forecast(setting, float(drawing.rate) * drawing.num_rounds, drawing.bound),
            asked=setting.workload,
        )

    def players(self, setting: Setting, plan: Plan) -> Players:
        """See `Algorithm.players`."""
        drawing, theory = self._drawing(setting), self.mode == "theory"
        num_records, noise_scale = self._records(setting)
        data_player = BestRecords(
            plan.asked,
            make_oracle(self.oracle),
            num_records=num_records,
            noise=Noise("exponential", noise_scale) if noise_scale else None,
            learns=not theory,
            memory=self._memory(setting, drawing),
            rate=float(drawing.rate) if not theory and weighs_draws(drawing.num_draws) else None,
            # Besides the records that are played before the first draw: those of round 1 at least.
            skipped=1 if theory else 1 + max(1, round(self._burn_in(setting) * drawing.num_rounds)),
        )
        return Players(Hedge(setting.num_rows, drawing.rate, drawing.num_draws), data_player)

    def _records(self, setting: Setting) -> tuple[int, float]:
        """Records a round, and the scale of the noise on them."""
        if self.mode == "theory":
            return 1, 0.0
        noise_scale = default_noise(setting) if self.noise_scale is None else self.noise_scale
        return self.num_records or default_records(setting), noise_scale

    def _burn_in(self, setting: Setting) -> float:
        if self.mode == "theory":
            return 0.0
        return default_burn_in(setting) if self.burn_in is None else self.burn_in

    def _memory(self, setting: Setting, drawing: Drawing) -> int:
        return 1 if self.mode == "theory" else self.memory or default_memory(setting, drawing.num_draws)

    def _drawing(self, setting: Setting) -> Drawing:
        if self.mode == "theory":
            return draw_budget.theory(setting)
        return draw_budget.solve(setting, num_rounds=self.num_rounds, num_draws=self.num_draws, rate=self.rate)
