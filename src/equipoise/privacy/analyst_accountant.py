"""What a game's released records tell of one analyst's queries (it replaces Lemma 3.8 of hsu2013differential).

Setting: T rounds. In each a hidden query is drawn, from laws that differ by at most `distance` in total variation
between the two worlds (an analyst's query, or all of them, replaced), given what was released before; then a record
is released whose log-likelihood has range at most w rate when w of the hidden queries so far differ.

Proof. Couple the hidden queries round by round so that they differ with probability at most `distance` each. The
number w of rounds in which they differ is at most Bin(T, distance); let P_w be that law. Given the pattern of
failures, each world's records are T mechanisms of range at most w rate: rho_w = T (w rate)²/8 (Lemma A), so
(epsilon_w, delta_w)-close, and both are equally close to the records of the pattern without failures, V_0, whose law
both worlds share. For an event, with V and V' its probabilities in the two worlds,

    V <= V' + sum_{w >= 1} P_w [(e^{epsilon_w} - 1) V_0 + delta_w],    V_0 <= V' / P_0,

so epsilon = log(1 + P_0^{-1} sum_{w=1}^{W} P_w (e^{epsilon_w} - 1)), delta = sum P_w delta_w + Pr[w > W]. ∎

The paper averages a max-divergence over the hidden queries instead, which is not valid (E-004-6).
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

__all__ = ["game_epsilon", "rate_of"]

UPWARDS = 1 + 4e-10
"""Floats err by a share of 3e-10 at most (log-gamma of numbers up to 1e5); results are raised by more."""


@functools.lru_cache(maxsize=1024)
def game_epsilon(
    *, num_rounds: int, distance: Fraction | float, rate: Fraction | float, delta: Fraction | float
) -> float:
    """The epsilon at which the records of a game are (epsilon, delta)-private for an analyst, rounded up.

    Guarantees:
        Precondition: that of the module, a game of so many rounds whose hidden query is drawn from laws at most
        `distance` apart in total variation, and records of range `rate` for each that differs. Statement: the records
        are (epsilon, delta)-private for an analyst. Proof: the module's, with W the smallest number for which Pr[w > W]
        <= delta/2, and the same delta_w for all w, which uses up the rest of delta.

    Example:
        >>> rate = 1 / (2 * (1000 * math.log(1e6)) ** 0.5)
        >>> round(game_epsilon(num_rounds=1000, distance=1 / 12000, rate=rate, delta=1e-6), 3)
        0.025
        >>> round(game_epsilon(num_rounds=1000, distance=1 / 6000, rate=rate, delta=1e-6), 3)
        0.057
    """
    failed = float(distance)
    none = math.exp(num_rounds * math.log1p(-failed))
    some = -math.expm1(num_rounds * math.log1p(-failed)) * UPWARDS
    most, beyond = 0, some
    while beyond > float(delta) / 2 and most < num_rounds:
        most += 1
        beyond = _tail(num_rounds, most, failed)
    each = min((float(delta) - beyond) / some, 0.5)
    total = 0.0
    for w in range(1, most + 1):
        worth = _epsilon((w * float(rate) * UPWARDS) ** 2 * num_rounds / 8, each)
        if worth > 700:  # its exponential is beyond any use
            return math.inf
        total += _binomial(num_rounds, w, failed) * UPWARDS * math.expm1(worth)
    return math.log1p(total / none * UPWARDS) * UPWARDS


def _epsilon(rho: float, delta: float) -> float:
    """An epsilon at which rho-zCDP implies (epsilon, delta)-DP (canonne2020discrete, Proposition 12 in v4).

    Every order gives a valid one. `conversion.epsilon_of` finds the best for a given epsilon and then the epsilon; here
    epsilon is explicit in the order, and a search among orders stops when it is near the best: a thousand times faster.
    """
    if rho == 0:
        return 0.0

    def at(order: float) -> float:
        rest = math.log(delta) + math.log(order - 1) - order * math.log1p(-1 / order)
        return order * rho - rest / (order - 1)

    low, high = 1e-9, 4 * math.sqrt(-math.log(delta) / rho) + 4
    for _ in range(60):
        one, two = low * (high / low) ** 0.382, low * (high / low) ** 0.618
        low, high = (low, two) if at(1 + one) <= at(1 + two) else (one, high)
    return max(0.0, at(1 + high)) * UPWARDS


def _binomial(trials: int, successes: int, chance: float) -> float:
    log = math.lgamma(trials + 1) - math.lgamma(successes + 1) - math.lgamma(trials - successes + 1)
    return math.exp(log + successes * math.log(chance) + (trials - successes) * math.log1p(-chance))


def _tail(trials: int, above: int, chance: float) -> float:
    """At least Pr[Bin > above]: the terms after `above` fall by a common ratio at least, once past the mean."""
    first = _binomial(trials, above + 1, chance) * UPWARDS if above < trials else 0.0
    ratio = (trials - above - 1) * chance / ((above + 2) * (1 - chance))
    return first / (1 - ratio) if ratio < 1 else 1.0


def rate_of(*, num_rounds: int, distance: Fraction | float, epsilon: float, delta: float) -> float:
    """The largest rate at which a game is (epsilon, delta)-private for an analyst, rounded down.

    Guarantees:
        Precondition: as `game_epsilon`. Statement: a game at this rate, or a smaller one, is (epsilon, delta)-private
        for an analyst. Proof: the last rate of the bisection for which `game_epsilon` was at most epsilon, made
        smaller; a smaller rate lowers every epsilon_w of the module's proof.

    Example:
        >>> rate = rate_of(num_rounds=1000, distance=1 / 12000, epsilon=1.0, delta=1e-6)
        >>> round(rate * 2 * (1000 * math.log(1e6)) ** 0.5, 1)  # times the paper's
        7.9
    """
    low, high = 0.0, 1.0
    while high < 2**20 and game_epsilon(num_rounds=num_rounds, distance=distance, rate=high, delta=delta) <= epsilon:
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        fits = game_epsilon(num_rounds=num_rounds, distance=distance, rate=middle, delta=delta) <= epsilon
        low, high = (middle, high) if fits else (low, middle)
    return low * (1 - 1e-9)
