"""What FEM and sepFEM share: rounds, selection and noise from the budget, their plan and players."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal, TypeAlias

from equipoise.algorithms.algorithm import Plan, Players, Setting, price, require_fit, resolved
from equipoise.algorithms.records import OracleName, forecast, game_bytes, make_oracle, require_records
from equipoise.data_players.best_records import BestRecords, Noise
from equipoise.errors import SettingError
from equipoise.privacy import accountant
from equipoise.privacy.events import Exponential
from equipoise.query_players.signed_response import SignedResponse

__all__ = ["Law", "Leader", "LeaderOptions"]

Law: TypeAlias = Literal["exponential", "laplace"]

ROUNDS_FACTOR = 5.0
"""Rounds by default: this times √(n √rho). With Adult's three-way marginals and epsilon 0.1 that is 120; between 80 and
320 the error hardly changes."""

NOISE_SCALE, ROUNDS_PER_NOISE = 2.0, 60.0
"""Of the noise on the values, in queries: the rounds over 60, at least 2. With Adult's marginals at epsilon 0.1 (120
rounds) 1 and 4 are worse than 2; at epsilon 1 (363 rounds) the largest error is 0.076 with 2, 0.054 with 4, 0.042 with
8: with more rounds the leader leads by more, and little noise leaves the players in circles."""

BETA = 0.05
"""Failure probability of the accuracy bound."""


@dataclass(frozen=True)
class Leader:
    """The knobs of a game of follow-the-perturbed-leader against the exponential mechanism.

    Attributes:
        num_rounds: Rounds, each with one selection.
        selection_epsilon: Parameter of one selection.
        noise: Law and scale of the perturbation.
        num_records: Records a round.
        bound: An upper bound on the error with probability 1 - BETA; theory mode only.
    """

    num_rounds: int
    selection_epsilon: Fraction
    noise: Noise
    num_records: int
    bound: float | None = None

    @classmethod
    def of(
        cls,
        setting: Setting,
        *,
        num_rounds: int | None,
        selection_epsilon: Fraction | None,
        noise_scale: float | None,
        law: Law,
        num_records: int,
    ) -> Leader:
        """The budget spent evenly: as many rounds as fit a selection_epsilon, or what the rounds leave for each.

        Raises:
            SettingError: both are given, or the budget does not cover one round.
        """
        if num_rounds is not None and selection_epsilon is not None:
            raise SettingError("give num_rounds or selection_epsilon: the budget fixes the other")
        require_records(num_records=num_records, noise_scale=noise_scale)
        if num_rounds is not None and num_rounds < 1:
            raise SettingError("num_rounds must be at least 1")
        rounds = num_rounds or _rounds(setting, selection_epsilon)
        each = selection_epsilon or _each(setting, rounds)
        scale = max(NOISE_SCALE, rounds / ROUNDS_PER_NOISE) if noise_scale is None else noise_scale
        return cls(rounds, each, Noise(law, scale), num_records)

    def in_theory(self, setting: Setting, *, noise: Noise, data_regret: float) -> Leader:
        """With the noise of the theorem, the records that keep sampling to half of what is left, and the bound.

        Both regrets, and α/2 for sampling with s = 8 log(4T|Q|/beta)/α² records a round: α twice the regrets' sum.
        """
        log_choices = math.log(2 * self.num_rounds * 2 * setting.workload.num_queries / BETA)
        query_regret = 2 * log_choices / (setting.num_rows * float(self.selection_epsilon))
        alpha = 2 * (data_regret + query_regret)
        num_records = math.ceil(8 * (log_choices + math.log(2)) / min(alpha, 1.0) ** 2)
        return replace(self, noise=noise, num_records=num_records, bound=alpha)

    def plan(self, algorithm: Any, setting: Setting) -> Plan:
        """The plan of the algorithm with these knobs."""
        memory = game_bytes(setting, self.num_rounds, self.num_records, self.noise.scale)
        require_fit(
            memory,
            setting,
            f"{algorithm.name} keeps all {self.num_rounds} x {self.num_records} records it plays, and",
            "Ask for fewer rounds or records (num_rounds, num_records)",
        )
        return Plan(
            method=algorithm.name,
            options=resolved(
                algorithm,
                num_rounds=self.num_rounds,
                selection_epsilon=self.selection_epsilon,
                noise_scale=self.noise.scale,
                num_records=self.num_records,
            ),
            num_rounds=self.num_rounds,
            events=((price(Exponential(self.selection_epsilon), setting.rows_per_unit), self.num_rounds),),
            pure=setting.epsilon is not None,
            memory_bytes=memory,
            forecast=forecast(setting, setting.num_rows * float(self.selection_epsilon) / 2, self.bound),
            asked=setting.workload,
        )

    def players(self, setting: Setting, oracle: OracleName) -> Players:
        """The two players."""
        return Players(SignedResponse(setting.num_rows, self.selection_epsilon), self.data_player(setting, oracle))

    def data_player(self, setting: Setting, oracle: OracleName) -> BestRecords:
        """Follows the perturbed leader over the records."""
        return BestRecords(
            setting.workload,
            make_oracle(oracle),
            num_records=self.num_records,
            noise=self.noise if self.noise.scale > 0 else None,
            memory=None,
            skipped=0,
            opens=True,
        )


@dataclass(frozen=True)
class LeaderOptions(ABC):
    """Options that FEM and sepFEM share; None means: work it out from public quantities (`Leader.of`).

    What tells the two apart is the law of the noise and, in theory mode, its scale and the data player's regret.
    """

    set_by_mode: ClassVar[dict[str, str]] = {"theory": "num_rounds selection_epsilon noise_scale num_records law"}

    num_rounds: int | None = None
    selection_epsilon: Fraction | None = None
    noise_scale: float | None = None
    num_records: int = 50
    oracle: OracleName = "branch_and_bound"
    mode: Literal["practice", "theory"] = "practice"

    @abstractmethod
    def noise_law(self) -> Law:
        """The law of the noise, in practice."""

    @abstractmethod
    def regret(self, setting: Setting) -> float:
        """What bounds the data player's regret, times the root of the number of rounds, in theory."""

    @abstractmethod
    def theory_noise(self, setting: Setting, num_rounds: int) -> Noise:
        """The noise of the accuracy theorem."""

    def plan(self, setting: Setting) -> Plan:
        """See `Algorithm.plan`."""
        return self.leader(setting).plan(self, setting)

    def players(self, setting: Setting, plan: Plan) -> Players:
        """See `Algorithm.players`."""
        return self.leader(setting).players(setting, self.oracle)

    def leader(self, setting: Setting) -> Leader:
        """The knobs, from these options and the budget."""
        theory, regret = self.mode == "theory", self.regret(setting)
        if theory and setting.epsilon is not None:
            raise SettingError('mode="theory" is for zCDP, as its theorem is; drop --pure, or the mode')
        found = Leader.of(
            setting,
            num_rounds=_theory_rounds(setting, regret) if theory else self.num_rounds,
            selection_epsilon=None if theory else self.selection_epsilon,
            noise_scale=self.noise_scale,
            law=self.noise_law(),
            num_records=self.num_records,
        )
        if not theory:
            return found
        noise = self.theory_noise(setting, found.num_rounds)
        return found.in_theory(setting, noise=noise, data_regret=regret / math.sqrt(found.num_rounds))


def _theory_rounds(setting: Setting, regret: float) -> int:
    """Where the two players' regrets meet: regret n √(2 rho)/log(2|Q|/beta)."""
    resolution = setting.num_rows * math.sqrt(2 * setting.rho_per_record)
    return math.ceil(regret * resolution / math.log(2 * setting.workload.num_queries / BETA))


def _rounds(setting: Setting, selection_epsilon: Fraction | None) -> int:
    if selection_epsilon is None:
        resolution = setting.num_rows * (
            float(setting.epsilon_per_record) / 4 if setting.epsilon is not None else math.sqrt(setting.rho_per_record)
        )
        return max(1, round(ROUNDS_FACTOR * math.sqrt(resolution)))
    if selection_epsilon <= 0:
        raise SettingError("selection_epsilon must be positive")
    pure = setting.epsilon is not None
    rounds = (
        setting.epsilon_per_record / selection_epsilon if pure else 8 * setting.rho_per_record / selection_epsilon**2
    )
    if rounds < 1:
        raise SettingError("the budget does not cover one round; use a smaller selection_epsilon")
    return int(rounds)


def _each(setting: Setting, num_rounds: int) -> Fraction:
    if setting.epsilon is not None:
        return setting.epsilon_per_record / num_rounds
    return accountant.root_below(8 * setting.rho_per_record / num_rounds)
