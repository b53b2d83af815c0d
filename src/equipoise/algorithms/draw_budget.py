"""The budget of algorithms that draw queries by multiplicative weights: rounds, draws a round and learning rate.

A draw after t updates is charged (rate t/n)^2/2, so T rounds of s draws cost s rate² (T-1)T(2T-1)/(12 n²) in rho and
s rate T(T-1)/n in pure epsilon: any two of the three fix the third. The first round is free.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from equipoise.algorithms.algorithm import Setting
from equipoise.errors import SettingError
from equipoise.privacy import accountant

__all__ = ["Drawing", "solve", "theory"]

LEAST_DRAWS, MOST_DRAWS = 10, 300_000
"""Draws a round by default: one a column, so that a round says something of each, within these bounds. Between half and
twice as many the error hardly changes (Adult, 13 columns, all 3-way marginals, epsilon 0.1 and 1)."""

ROUNDS_FACTOR, ROUNDS_PER_DRAW = 0.135, -0.2
"""Rounds by default: the one times (n √rho)^(4/5), times (draws/10) to the power of the other. Adult: 22 rounds of 10
draws at epsilon 0.1, 128 at epsilon 1. With 300,000 draws, for half a million columns, 50 to 60 rounds are best."""

PURE_RATE = 4
"""Learning rate to which a pure budget's rounds are fitted: what the rule above comes to on those tables."""

BETA = 0.05
"""Failure probability of the accuracy bound."""


class Drawing(NamedTuple):
    """The three knobs.

    Attributes:
        num_rounds: Rounds, the first of which is free.
        num_draws: Queries drawn in each round.
        rate: Learning rate of the weights.
        bound: An upper bound on the error with probability 1 - BETA; theory mode only.
    """

    num_rounds: int
    num_draws: int
    rate: Fraction
    bound: float | None = None

    def cost(self, setting: Setting) -> Fraction:
        """What it costs one record, in the budget's currency."""
        rounds, n = self.num_rounds, setting.num_rows
        if setting.epsilon is not None:
            return self.num_draws * self.rate * rounds * (rounds - 1) / n
        return self.num_draws * self.rate**2 * (rounds - 1) * rounds * (2 * rounds - 1) / (12 * n**2)

    def fits(self, setting: Setting) -> bool:
        """Whether the budget covers it."""
        return self.cost(setting) <= _budget(setting)


def solve(setting: Setting, *, num_rounds: int | None, num_draws: int | None, rate: Fraction | None) -> Drawing:
    """The knobs that use the budget up; what is not given is worked out from public quantities.

    Guarantees:
        The cost is at most the budget. When the rate is worked out at least 0.99 of it is used.

    Raises:
        SettingError: all three are given, or what is given leaves nothing.
    """
    if num_rounds is not None and num_draws is not None and rate is not None:
        raise SettingError("leave one of num_rounds, num_draws and rate out: the budget fixes it")
    if (num_rounds is not None and num_rounds < 2) or (num_draws is not None and num_draws < 1):
        raise SettingError("num_rounds must be at least 2, num_draws at least 1")
    if rate is not None and rate <= 0:
        raise SettingError("rate must be positive")
    if rate is None:
        draws = num_draws or _default_draws(setting)
        rounds = num_rounds or _default_rounds(setting, draws)
        return Drawing(rounds, draws, _largest_rate(setting, rounds, draws))
    if num_rounds is not None:
        draws = int(_budget(setting) // Drawing(num_rounds, 1, rate).cost(setting))
        if draws < 1:
            raise SettingError("the budget does not cover one draw a round; use a smaller rate or fewer rounds")
        return Drawing(num_rounds, draws, rate)
    return _largest_rounds(setting, num_draws or _default_draws(setting), rate)


def theory(setting: Setting) -> Drawing:
    """The knobs of the accuracy theorem, for the smallest error that the budget allows.

    With T = 16 log|Q|/α², rate α/4 and s = 8 log(2|X|T/β)/α² the error is at most α with probability 1 - β
    (gaboardi2014dual, Theorem 4.2 in v2, whose 48 in s is loose: Hoeffding's inequality needs 8). |Q| counts negations.
    """

    def at(alpha: float) -> Drawing:
        rounds = max(2, math.ceil(16 * math.log(2 * setting.workload.num_queries) / alpha**2))
        log_records = sum(math.log(size) for size in setting.workload.domain.sizes)
        draws = math.ceil(8 * (log_records + math.log(2 * rounds / BETA)) / alpha**2)
        return Drawing(rounds, draws, accountant.exact(alpha / 4), alpha)

    low, high = 1e-4, 1.0
    while not at(high).fits(setting):
        low, high = high, 2 * high
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if at(middle).fits(setting) else (middle, high)
    return at(high)


def _budget(setting: Setting) -> Fraction:
    return setting.epsilon_per_record if setting.epsilon is not None else setting.rho_per_record


def _largest_rate(setting: Setting, num_rounds: int, num_draws: int) -> Fraction:
    allowed = _budget(setting) / Drawing(num_rounds, num_draws, Fraction(1)).cost(setting)
    return (
        accountant.exact(float(allowed) * (1 - 1e-14))
        if setting.epsilon is not None
        else accountant.root_below(allowed)
    )


def _largest_rounds(setting: Setting, num_draws: int, rate: Fraction) -> Drawing:
    if not Drawing(2, num_draws, rate).fits(setting):
        raise SettingError("the budget does not cover two rounds; use a smaller rate or fewer draws")
    low, high = 2, 4
    while Drawing(high, num_draws, rate).fits(setting):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if Drawing(middle, num_draws, rate).fits(setting) else (low, middle)
    return Drawing(low, num_draws, rate)


def _default_draws(setting: Setting) -> int:
    return max(LEAST_DRAWS, min(MOST_DRAWS, len(setting.workload.domain.sizes)))


def _default_rounds(setting: Setting, num_draws: int) -> int:
    """Few rounds at a high rate when the budget is small: the weights must tell queries apart by the last round."""
    if setting.epsilon is not None:
        return max(2, round(math.sqrt(setting.num_rows * setting.epsilon_per_record / (PURE_RATE * num_draws))))
    resolution = setting.num_rows * math.sqrt(setting.rho_per_record)
    rounds = ROUNDS_FACTOR * math.pow(resolution, 0.8) * math.pow(num_draws / LEAST_DRAWS, ROUNDS_PER_DRAW)
    return max(2, round(rounds))
