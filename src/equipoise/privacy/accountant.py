"""The price of events: zero-concentrated privacy (rho) and pure privacy (epsilon), exactly, and their conversion.

Adjacency everywhere: one record replaced, the number of records public. Costs are `fractions.Fraction`, added without
rounding; only the conversion between rho and (epsilon, delta) is floating point, and it errs on the private side.

Papers (report/references.bib): bun2016concentrated for zCDP and its composition, canonne2020discrete (Proposition 12
and Corollary 13, arXiv v4) for the conversion, cesar2021bounding (Lemma 3.2, arXiv v2) for the exponential mechanism's
epsilon^2/8.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from equipoise.errors import SettingError
from equipoise.privacy.events import (
    ConditionalRelease,
    Event,
    Exponential,
    Gaussian,
    Group,
    Laplace,
    PermuteAndFlip,
)

__all__ = [
    "Cost",
    "calls_of_conditional_release",
    "cost",
    "delta_of",
    "epsilon_of",
    "exact",
    "rho_of",
    "root_below",
    "short_above",
    "stddev_of",
    "total",
]


@dataclass(frozen=True)
class Cost:
    """What an event, or a sum of events, costs.

    Attributes:
        rho: Zero-concentrated privacy.
        epsilon: Pure privacy, or None when the event has none (Gaussian noise, conditional release).
        delta: Probability outside the guarantee that the event itself needs (conditional release only).
    """

    rho: Fraction = Fraction(0)
    epsilon: Fraction | None = Fraction(0)
    delta: Fraction = Fraction(0)

    def __add__(self, other: Cost) -> Cost:
        pure = None if self.epsilon is None or other.epsilon is None else self.epsilon + other.epsilon
        return Cost(self.rho + other.rho, pure, self.delta + other.delta)

    def __mul__(self, times: int) -> Cost:
        return Cost(self.rho * times, None if self.epsilon is None else self.epsilon * times, self.delta * times)


def cost(event: Event) -> Cost:
    """The price of one event.

    Guarantees:
        Precondition: the event's sensitivity bounds the change between neighbouring tables.
        Postcondition: a mechanism described by `event` is rho-zCDP (up to `delta`), and epsilon-DP where epsilon is
        given.

        ==================== ============= ========== ===========================================================
        kind                 rho           epsilon    why
        ==================== ============= ========== ===========================================================
        Gaussian             s^2/(2 var)   none       canonne2020discrete, Theorem 4; `short_above` of it
        Laplace              e^2/2         e = s/b    bun2016concentrated, Proposition 1.4 (pure implies zCDP)
        Exponential          K e^2/8       K e        log-ratio lies in an interval of length e: Hoeffding's lemma
        PermuteAndFlip       e^2/2         e          its log-ratio may span 2e, so e^2/8 does not hold
        ConditionalRelease   N e^2/2       none       N pure-e steps but for probability delta (Lemma D, docs)
        Group                k^2 rho       k epsilon  bun2016concentrated, Proposition 1.9
        ==================== ============= ========== ===========================================================

    Example:
        >>> cost(Exponential(Fraction(1, 10)))
        Cost(rho=Fraction(1, 800), epsilon=Fraction(1, 10), delta=Fraction(0, 1))
    """
    match event:
        case Gaussian(sensitivity_squared, variance):
            return Cost(short_above(Fraction(sensitivity_squared) / (2 * variance)), None)
        case Laplace(sensitivity, scale):
            pure = Fraction(sensitivity) / scale
            return Cost(pure * pure / 2, pure)
        case Exponential(epsilon, num_selected):
            return Cost(num_selected * epsilon * epsilon / 8, num_selected * epsilon)
        case PermuteAndFlip(epsilon):
            return Cost(epsilon * epsilon / 2, epsilon)
        case ConditionalRelease(epsilon, max_hits, delta):
            calls = calls_of_conditional_release(epsilon=epsilon, max_hits=max_hits, delta=delta)
            return Cost(calls * epsilon * epsilon / 2, None, delta)
        case Group(inner, size):
            one = cost(inner)
            # A delta multiplies by at most size*exp(size*epsilon) (Vadhan 2017, Lemma 2.2); we refuse instead of
            # charging that.
            if one.delta and size > 1:
                raise SettingError("conditional release is not offered for tables with several rows a unit")
            return Cost(one.rho * size * size, None if one.epsilon is None else one.epsilon * size, one.delta)


def total(events: Iterable[tuple[Event, int]]) -> Cost:
    """The price of a list of (event, how many times): plain addition, by adaptive composition."""
    result = Cost()
    for event, times in events:
        result = result + cost(event) * times
    return result


def calls_of_conditional_release(*, epsilon: Fraction, max_hits: int, delta: Fraction) -> int:
    """How many pure-epsilon calls a conditional release of `max_hits` values is charged for (Lemma D).

    Guarantees:
        The number of calls that depend on the data before `max_hits` hits exceeds the result with probability at most
        delta: each such call hits with probability at least 1/(e^epsilon + 1), then Chernoff's bound.

    Example:
        >>> calls_of_conditional_release(epsilon=Fraction(1, 100), max_hits=100, delta=Fraction(1, 10**8))
        366
    """
    tail = -math.log(delta)
    zeta = (tail + math.sqrt(tail * tail + 2 * max_hits * tail)) / max_hits
    return math.ceil((1 + zeta) * max_hits * (math.exp(epsilon) + 1) * (1 + 1e-12))


def _log_delta(rho: float, epsilon: float) -> float:
    """Log of the smallest delta for which rho-zCDP implies (epsilon, delta)-DP, minimised over the order alpha.

    The derivative in alpha, (2 alpha - 1) rho - epsilon + log(1 - 1/alpha), is increasing: bisection finds its root.
    Any alpha gives a valid bound (canonne2020discrete, Proposition 12 in v4), so stopping early is safe.
    """
    low, high = 1.0 + 1e-12, 2.0
    while (2 * high - 1) * rho - epsilon + math.log1p(-1 / high) < 0:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if (2 * middle - 1) * rho - epsilon + math.log1p(-1 / middle) < 0:
            low = middle
        else:
            high = middle
    alpha = high
    return (alpha - 1) * (alpha * rho - epsilon) - math.log(alpha - 1) + alpha * math.log1p(-1 / alpha)


def delta_of(*, rho: Fraction | float, epsilon: float) -> float:
    """The delta at which rho-zCDP implies (epsilon, delta)-DP, rounded up, at most 1.

    Example:
        >>> round(delta_of(rho=0.02435597, epsilon=1.0) * 1e6, 4)
        1.0
    """
    if rho <= 0:
        return 0.0
    return min(1.0, math.exp(min(0.0, _log_delta(float(rho), epsilon))) * (1 + 1e-9))


@functools.lru_cache(maxsize=256)
def epsilon_of(*, rho: Fraction | float, delta: float) -> float:
    """The epsilon at which rho-zCDP implies (epsilon, delta)-DP, rounded up.

    Example:
        >>> round(epsilon_of(rho=0.014270343, delta=1 / 48842**2), 6)
        1.0
    """
    if rho <= 0:
        return 0.0
    value, goal = float(rho), math.log(delta)
    low, high = 0.0, value + 2 * math.sqrt(value * -goal) + 1e-12
    for _ in range(200):
        middle = (low + high) / 2
        if _log_delta(value, middle) <= goal:
            high = middle
        else:
            low = middle
    return high * (1 + 1e-12)


@functools.lru_cache(maxsize=256)
def rho_of(*, epsilon: float, delta: float) -> Fraction:
    """The largest rho for which rho-zCDP implies (epsilon, delta)-DP, rounded down to an exact fraction.

    Example:
        >>> float(round(rho_of(epsilon=1.0, delta=1e-6), 8))
        0.02435597
    """
    if epsilon <= 0:
        raise SettingError("epsilon must be positive")
    if not 0 < delta < 1:
        raise SettingError("delta must lie strictly between 0 and 1")
    goal = math.log(delta)
    low, high = 0.0, 1.0
    while _log_delta(high, epsilon) <= goal:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if _log_delta(middle, epsilon) <= goal:
            low = middle
        else:
            high = middle
    return exact(low * (1 - 1e-12))


def short_above(value: Fraction) -> Fraction:
    """The value itself when its denominator is short, else the next multiple above it of a power of two.

    Sums of thousands of fractions with unrelated denominators would grow to thousands of digits. Charging up to
    2^-60 more (relatively) keeps them exact and short, and errs on the private side.

    Example:
        >>> short_above(Fraction(1, 3)), 0 <= short_above(Fraction(1, 3**60)) / Fraction(1, 3**60) - 1 < 2.0**-60
        (Fraction(1, 3), True)
    """
    if value.denominator.bit_length() <= 64:
        return value
    shift = 61 + value.denominator.bit_length() - value.numerator.bit_length()
    return Fraction(math.ceil(value * 2**shift), 2**shift)


def exact(value: float) -> Fraction:
    """A fraction at most `value` and within 2^-44 of it relatively, with a short denominator (a power of two).

    Example:
        >>> exact(0.1) <= Fraction(1, 10) < exact(0.1) * (1 + Fraction(1, 2**43))
        True
    """
    mantissa, exponent = math.frexp(value)
    return Fraction(math.floor(mantissa * 2**45)) * Fraction(2) ** (exponent - 45)


def root_below(value: Fraction) -> Fraction:
    """A fraction whose square is at most `value` and within 1e-12 of it relatively.

    Example:
        >>> root_below(Fraction(2)) ** 2 <= 2
        True
    """
    root = exact(math.sqrt(value) * (1 - 1e-14))
    if root * root > value:  # cannot happen for the slack above; the check makes the guarantee unconditional
        raise AssertionError("square root was not rounded down")
    return root


def stddev_of(*, rho: Fraction, sensitivity_squared: int = 1) -> float:
    """The smallest float standard deviation whose discrete Gaussian costs at most rho: sqrt(s^2/(2 rho)), rounded up.

    Example:
        >>> round(stddev_of(rho=Fraction("0.014270343") / 200), 4)
        83.7111
    """
    stddev = math.sqrt(sensitivity_squared / (2 * rho))
    while cost(Gaussian(Fraction(sensitivity_squared), Fraction(stddev) ** 2)).rho > rho:
        stddev = math.nextafter(stddev, math.inf)
    return stddev
