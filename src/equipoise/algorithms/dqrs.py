"""DQRS: DualQuery that keeps most of its draws from round to round, by rejection.

Paper: vietri2020new (report/references.bib), Algorithm 4, arXiv v1.

Pseudo-code                                        Here
  Q^1 uniform, S_1 = s draws from it                Reuse.init; the first Reuse.step, free
  for t = 1 .. T:                                   game.loop.play
    x_t = argmax_x sum of q(x) over S_t             BestRecords.step, by an oracle
    Q^{t+1}_q ~ Q^t_q exp(eta A(x_t, q))            Weights.updated; A(x, q) = q(P) - q(x)
    keep q in S_t with probability
      exp(-eta - gamma_t + eta A(x_t, q))           Reuse.step: mechanisms.keep
    refill with draws from Q^{t+1}                  Reuse.step: mechanisms.draw
  return x_1 .. x_T                                 BestRecords.conclude

Guarantee: the sum over rounds of a coin for each query in the sample, (eta/n)^2 v(p)/(1 - e^-gamma)^2-zCDP (docs/
  mechanisms.md, P8), and (eta t/n)^2/2 for each fresh draw; one record replaced. How many draws there are is decided by
  the coins; the ledger, a filter, stops them at the plan's total. It does not rest on the oracle.
Accuracy: that of DualQuery in practice. The kept queries are not independent draws, since x_t was chosen by them, so
  the proof of vietri2020new, Theorem 9, has a gap (docs/mechanisms.md); no bound is claimed.
Differences from the paper:
  1. The printed signs of the update and of the best response are both flipped, which is the same game.
  2. Exact refill: as many draws as were dropped, instead of a fixed number of which some are thrown away.
  3. gamma_t = (2 t^2)^(-1/3), which makes a round cheapest, instead of 1/(2 t^(2/3)). Rounds in which keeping costs
     more than it saves draw everything anew.
  4. Coins and draws at their tight price: a quarter of the paper's.
  5. Several records a round, a little noise on the values, and no records of the first round, as for dual_query.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import ClassVar

from equipoise.algorithms import reuse_budget
from equipoise.algorithms.algorithm import Plan, Players, Setting, price, require_fit, resolved
from equipoise.algorithms.records import OracleName, forecast, game_bytes, make_oracle, require_records
from equipoise.data_players.best_records import BestRecords, Noise
from equipoise.errors import SettingError
from equipoise.query_players.reuse import Reuse

__all__ = ["Dqrs"]


@dataclass(frozen=True)
class Dqrs:
    """Options of DQRS; None means: work it out from public quantities (`algorithms.reuse_budget`)."""

    name: ClassVar[str] = "dqrs"
    title: ClassVar[str] = "DualQuery that keeps most of its draws from round to round"
    citations: ClassVar[tuple[str, ...]] = ("vietri2020new", "gaboardi2014dual")
    guarantee: ClassVar[str] = "zCDP by exponential mechanisms and coins"
    when: ClassVar[str] = "many rounds at a small learning rate; comparison with the literature"

    num_rounds: int | None = None
    num_draws: int = 100
    num_records: int = 20
    noise_scale: float = 1.0
    oracle: OracleName = "branch_and_bound"

    def plan(self, setting: Setting) -> Plan:
        """See `Algorithm.plan`."""
        require_records(num_records=self.num_records, noise_scale=self.noise_scale)
        schedule = self._schedule(setting)
        memory = game_bytes(setting, schedule.num_rounds, self.num_records, self.noise_scale)
        require_fit(memory, setting, f"{self.name} keeps weights of the queries and all records it played, and")
        options = resolved(self, num_rounds=schedule.num_rounds, rate=schedule.rate)
        return Plan(
            method=self.name,
            options=options if schedule.wins else options | {"warning": reuse_budget.WARNING},
            num_rounds=schedule.num_rounds,
            events=tuple((price(event, setting.rows_per_unit), 1) for event in schedule.events),
            pure=False,
            memory_bytes=memory,
            forecast=forecast(setting, float(schedule.rate) * schedule.num_rounds, None),
            asked=setting.workload,
        )

    def players(self, setting: Setting, plan: Plan) -> Players:
        """See `Algorithm.players`."""
        rate = Fraction(plan.options["rate"])
        schedule = reuse_budget.schedule(
            num_rows=setting.num_rows, num_rounds=plan.num_rounds, num_draws=self.num_draws, rate=rate
        )
        limits = tuple(accumulate(schedule.costs))
        query_player = Reuse(setting.num_rows, schedule.rate, self.num_draws, schedule.slacks, limits)
        data_player = BestRecords(
            setting.workload,
            make_oracle(self.oracle),
            num_records=self.num_records,
            noise=Noise("exponential", self.noise_scale) if self.noise_scale else None,
            skipped=2,
        )
        return Players(query_player, data_player)

    def _schedule(self, setting: Setting) -> reuse_budget.Schedule:
        if self.num_draws < 1 or (self.num_rounds is not None and self.num_rounds < 2):
            raise SettingError("num_rounds must be at least 2, num_draws at least 1")
        return reuse_budget.solve(setting, num_rounds=self.num_rounds, num_draws=self.num_draws)
