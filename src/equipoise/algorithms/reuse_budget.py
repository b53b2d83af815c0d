"""The budget of DQRS: what every round keeps and draws, for the largest learning rate that the budget allows."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from equipoise.algorithms import draw_budget
from equipoise.algorithms.algorithm import Setting
from equipoise.privacy import accountant
from equipoise.privacy.events import Coins, Draws
from equipoise.query_players.hedge import update_epsilon

__all__ = ["WARNING", "Schedule", "schedule", "slack", "solve"]

WARNING = "at this learning rate keeping draws saves little or nothing; dual_query does as well, or give more rounds"


ROUNDS_FACTOR = 0.6
"""Rounds by default: this times (n √rho)^(4/5), four times DualQuery's."""


class Schedule(NamedTuple):
    """What is planned; a run may draw less, never more.

    Attributes:
        rate: Learning rate of the weights.
        slacks: For each round after the first, the slack of keeping; None where everything is drawn anew.
        rounds: For each round, its events.
        drawing: What the same rounds cost when nothing is kept, for one record.
    """

    rate: Fraction
    slacks: tuple[Fraction | None, ...]
    rounds: tuple[tuple[Coins | Draws, ...], ...]
    drawing: Fraction

    @property
    def num_rounds(self) -> int:
        """Rounds of the game."""
        return len(self.rounds)

    @property
    def events(self) -> list[Coins | Draws]:
        """All events, in order."""
        return [event for events in self.rounds for event in events]

    @property
    def costs(self) -> list[Fraction]:
        """What each round costs one record."""
        return [sum((accountant.cost(event).rho for event in events), Fraction(0)) for events in self.rounds]

    @property
    def cost(self) -> Fraction:
        """What all of it costs one record."""
        return sum(self.costs, Fraction(0))

    @property
    def wins(self) -> bool:
        """Whether keeping saves at least a quarter of what drawing everything anew would cost."""
        return self.cost <= Fraction(3, 4) * self.drawing


def slack(num_updates: int) -> Fraction:
    """The slack that makes a round cheapest: (2 t²)^(-1/3), the minimum of 1/(8 γ²) + γ t²/2.

    Example:
        >>> [round(float(slack(t)), 3) for t in (1, 2, 16)]
        [0.794, 0.5, 0.125]
    """
    return accountant.exact((2.0 * num_updates**2) ** (-1 / 3))


def schedule(*, num_rows: int, num_rounds: int, num_draws: int, rate: Fraction) -> Schedule:
    """The cheaper of keeping and drawing anew, round by round.

    A round is expected to drop 1 - exp(-rate - slack) of its sample: payoffs are as often positive as negative.
    """
    each = update_epsilon(rate, num_rows)
    slacks: list[Fraction | None] = []
    rounds: list[tuple[Coins | Draws, ...]] = [()]
    anew_total = Fraction(0)
    for t in range(1, num_rounds):
        gamma = slack(t)
        anew = Draws(each * t, num_draws)
        num_fresh = math.ceil(num_draws * -math.expm1(-float(rate + gamma)))
        kept = Coins(each / 2, gamma, 2 * rate, num_draws), Draws(each * t, num_fresh)
        price = accountant.cost(anew).rho
        anew_total += price
        cheaper = sum(accountant.cost(event).rho for event in kept) < price
        slacks.append(gamma if cheaper else None)
        rounds.append(kept if cheaper else (anew,))
    return Schedule(rate, tuple(slacks), tuple(rounds), anew_total)


def solve(setting: Setting, *, num_rounds: int | None, num_draws: int) -> Schedule:
    """The schedule with the largest learning rate that the budget covers, nearly.

    Guarantees:
        The cost is at most the budget, and at least 0.99 of it.
    """
    budget = setting.rho_per_record
    rounds = num_rounds or _default_rounds(setting)
    # Nothing kept is what it costs at most, so DualQuery's rate fits.
    rate = draw_budget.solve(setting, num_rounds=rounds, num_draws=num_draws, rate=None).rate
    while True:
        found = schedule(num_rows=setting.num_rows, num_rounds=rounds, num_draws=num_draws, rate=rate)
        if Fraction(99, 100) * budget <= found.cost <= budget:
            return found
        # A rate x times as large costs about x^2 to x^3 times as much: coins and draws their square, drops once more,
        # in whole draws. So this creeps up, and steps back from the little that it may overshoot.
        left = float(budget / found.cost) * 0.997
        rate = accountant.exact(float(rate) * left ** (1 / 3 if left > 1 else 1 / 2))


def _default_rounds(setting: Setting) -> int:
    """More rounds than DualQuery, at a smaller rate: that is where keeping pays."""
    return max(2, round(ROUNDS_FACTOR * math.pow(setting.num_rows * math.sqrt(setting.rho_per_record), 0.8)))
