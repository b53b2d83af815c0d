"""OracleQuery: the perturbed leader over the records against a private learner of the queries.

Paper: neel2019heuristics (report/references.bib), section IV; its pseudo-code is in the full version and was put
  together from the parts that the section names. vietri2020new generalises it (algorithms/sep_fem.py).

Pseudo-code                                        Here
  for t = 1 .. T:                                   game.loop.play
    data player: for j = 1 .. s, Laplace noise on a
      dual separator, best record x_j for
      q_1 .. q_{t-1} and the noise; D_t = all x_j   BestRecords, sepFEM's
    query player: privately minimise
      n (q(D_t) - q(P)) over Q and its negations    OracleResponse.step: privacy.learner, on the records of weight -1
                                                      and those of D_t of weight n/s
  return the union of all D_t                       BestRecords.conclude

Query players (`query_player`), T choices each:
  exponential    every query and negation is tried: then this is sepFEM, move for move
  rspm           Laplace noise on m + 1 separators, a solver
  gaussian_rspm  Gaussian noise, for many separators
  prsma          RSPM on blocks; refused where it would call the solver too often, which is nearly always

Guarantee: one record replaced. exponential: T selection_epsilon²/8-zCDP. rspm: T selection_epsilon²/2-zCDP, or
  T selection_epsilon-DP with --pure, *if every certificate of the solver is true and would have been given on
  neighbouring tables too*; gaussian_rspm: the same, and a delta. prsma: not conditional, with a delta. Without a
  certificate nothing is released and what was spent stays spent.
Accuracy: with d = log|X| and m2 dual separators the data player's regret is 2 √40 m2^(3/4) √d/√T; rspm's choices miss
  the best by at most 2 m b log(m T/beta)/n, b = (2 + 1/64) m/selection_epsilon (neel2019heuristics, Theorem 5); the
  error is at most the sum, and sampling. For conjunctions d^(13/8)/√(epsilon n), see docs/s003.md.
Differences from the paper:
  1. Theorem 10 (1) rests on the published Gaussian scale, which is not private; ours is the proven one.
  2. Negations: one choice from Q and its negations together, with the zero point as one more separator, instead of two
     choices and a selection between them. One event a round instead of three.
  3. A solver needs a workload that is a whole class: all conjunctions of k values of different columns ("3-way").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from equipoise.algorithms import learner_budget
from equipoise.algorithms.algorithm import Forecast, Plan, Players, Setting, price, require_fit, resolved
from equipoise.algorithms.leader import Leader
from equipoise.algorithms.records import OracleName, game_bytes
from equipoise.oracles.classes.workloads import WorkloadClass
from equipoise.privacy.learner import Learner, Mechanism
from equipoise.privacy.prsma import MAX_CALLS
from equipoise.query_players.oracle_response import OracleResponse

__all__ = ["OracleQuery"]

CELL_BYTES = 32
"""Memory for one bit of one record: as a whole number of the solver, and while equal records are merged."""


@dataclass(frozen=True)
class OracleQuery:
    """Options of OracleQuery; None means: work it out from public quantities."""

    name: ClassVar[str] = "oracle_query"
    title: ClassVar[str] = "follow the perturbed leader over records against a private learner of queries"
    citations: ClassVar[tuple[str, ...]] = ("neel2019heuristics", "vietri2020new")
    guarantee: ClassVar[str] = "zCDP or pure epsilon; with a solver (rspm), conditional on its certificates"
    when: ClassVar[str] = "comparison with the literature; with a solver, few columns and very large tables"

    query_player: Mechanism = "exponential"
    num_rounds: int | None = None
    noise_scale: float | None = None
    num_records: int = 50
    oracle: OracleName = "branch_and_bound"
    max_calls: int = MAX_CALLS

    def plan(self, setting: Setting) -> Plan:
        """See `Algorithm.plan`."""
        if self.query_player == "exponential":
            return self._leader(setting, self.num_rounds).plan(self, setting)
        queries = WorkloadClass.of(setting.workload)
        leader, learner = self._prepared(setting, queries)
        memory = game_bytes(setting, leader.num_rounds, leader.num_records, leader.noise.scale)
        memory += CELL_BYTES * setting.num_rows * queries.features.num_features
        require_fit(memory, setting, f"{self.name} with a solver keeps the records themselves, and")
        return Plan(
            method=self.name,
            options=resolved(
                self,
                num_rounds=leader.num_rounds,
                selection_epsilon=learner.epsilon,
                noise_scale=leader.noise.scale,
            ),
            num_rounds=leader.num_rounds,
            events=((price(learner.event, setting.rows_per_unit), leader.num_rounds),),
            pure=setting.epsilon is not None,
            memory_bytes=memory,
            forecast=Forecast(0.0, learner_budget.resolution(learner, queries)),
            asked=setting.workload,
            records=queries.features,
        )

    def players(self, setting: Setting, plan: Plan) -> Players:
        """See `Algorithm.players`."""
        if self.query_player == "exponential":
            return self._leader(setting, self.num_rounds).players(setting, self.oracle)
        queries = WorkloadClass.of(setting.workload)
        leader, learner = self._prepared(setting, queries)
        return Players(OracleResponse(setting.num_rows, queries, learner), leader.data_player(setting, self.oracle))

    def _leader(self, setting: Setting, num_rounds: int | None) -> Leader:
        return Leader.of(
            setting,
            num_rounds=num_rounds,
            selection_epsilon=None,
            noise_scale=self.noise_scale,
            law="laplace",
            num_records=self.num_records,
        )

    def _prepared(self, setting: Setting, queries: WorkloadClass) -> tuple[Leader, Learner]:
        most = self._leader(setting, self.num_rounds)
        rounds = self.num_rounds or min(most.num_rounds, learner_budget.default_rounds(setting, queries))
        learner = learner_budget.learner_of(
            setting, queries, mechanism=self.query_player, num_rounds=rounds, max_calls=self.max_calls
        )
        return self._leader(setting, rounds), learner
