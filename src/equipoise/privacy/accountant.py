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
from dataclasses import dataclass, replace
from fractions import Fraction

from equipoise.errors import SettingError
from equipoise.privacy import separators
from equipoise.privacy.events import (
    Coins,
    ConditionalRelease,
    Draws,
    Event,
    Exponential,
    Gaussian,
    Group,
    Laplace,
    PermuteAndFlip,
    Prsma,
    SeparatorGaussian,
    SeparatorLaplace,
    Tuned,
    conditional,
)
from equipoise.privacy.random_runs import exponent, log_above, mean_runs, shift

__all__ = [
    "Cost",
    "calls_of_conditional_release",
    "cost",
    "delta_of",
    "epsilon_at",
    "epsilon_of",
    "exact",
    "rho_at",
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
        shift: Divergence on top of rho, the same at every order (tuning only).
        factor: What delta is multiplied by (tuning only).
        conditional_rho: The part of rho that holds only if a solver's certificates do (RSPM). It is in rho, so no
            budget is overspent either way, and apart, so that nobody takes it for proven.
        conditional_epsilon: The same part of epsilon.

    The Rényi divergence of order a is at most rho a + shift + log(factor)/(a - 1); each term adds up over events.
    """

    rho: Fraction = Fraction(0)
    epsilon: Fraction | None = Fraction(0)
    delta: Fraction = Fraction(0)
    shift: Fraction = Fraction(0)
    factor: Fraction = Fraction(1)
    conditional_rho: Fraction = Fraction(0)
    conditional_epsilon: Fraction = Fraction(0)

    def __add__(self, other: Cost) -> Cost:
        pure = None if self.epsilon is None or other.epsilon is None else self.epsilon + other.epsilon
        rho, delta = self.rho + other.rho, self.delta + other.delta
        apart = self.conditional_rho + other.conditional_rho, self.conditional_epsilon + other.conditional_epsilon
        return Cost(rho, pure, delta, self.shift + other.shift, self.factor * other.factor, *apart)

    def __mul__(self, times: int) -> Cost:
        pure = None if self.epsilon is None else self.epsilon * times
        apart = self.conditional_rho * times, self.conditional_epsilon * times
        return Cost(self.rho * times, pure, self.delta * times, self.shift * times, self.factor**times, *apart)

    @property
    def impure(self) -> Cost:
        """The same without its pure epsilon: what a release that is not a pure one reserves."""
        return replace(self, epsilon=None)


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
        Draws                K e^2/8       K e        K independent exponential mechanisms
        Coins                K b^2 v       K h m      `_coin`
        SeparatorLaplace     e^2/2         e = k m/b  the shift k: proof in privacy/separators.py
        SeparatorGaussian    e^2/2         none       (e, delta)-DP by the same; but for delta it is a pure-e mechanism
        Prsma                E^2/2         none       E = 62 e, 11 delta: neel2019heuristics, Theorem 8
        Group                k^2 rho       k epsilon  bun2016concentrated, Proposition 1.9
        Tuned, budget rho    rho           none       and `shift` and `factor`: proof in privacy/random_runs.py
        Tuned, budget e      E^2/2         E          E = 2e (logarithmic) or 3e (geometric): the same proof
        ==================== ============= ========== ===========================================================

    Example:
        >>> cost(Exponential(Fraction(1, 10))) == Cost(rho=Fraction(1, 800), epsilon=Fraction(1, 10))
        True
    """
    price = _price(event)
    if not conditional(event):
        return price
    return replace(price, conditional_rho=price.rho, conditional_epsilon=price.epsilon or Fraction(0))


def _price(event: Event) -> Cost:
    """The price of one event, that of a conditional one as if its certificates were proven."""
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
        case Draws(epsilon, num_draws):
            return Cost(num_draws * short_above(epsilon * epsilon / 8), num_draws * epsilon)
        case Coins(rate, slack, spread, num_coins):
            return _coin(rate, slack, spread) * num_coins
        case SeparatorLaplace(num_separators, grid, gap, scale):
            pure = Fraction(separators.shift(grid=grid, gap=gap) * num_separators) / scale
            return Cost(pure * pure / 2, pure)
        case SeparatorGaussian(num_separators, grid, gap, stddev, delta):
            moved = separators.shift(grid=grid, gap=gap)
            found = separators.gaussian_epsilon(
                shift=moved, num_separators=num_separators, stddev=float(stddev), delta=float(delta)
            )
            return Cost(short_above(Fraction(found) ** 2 / 2), None, delta)
        case Prsma(epsilon, delta):
            return Cost((62 * epsilon) ** 2 / 2, None, 11 * delta)
        case Group(inner, size):
            one = cost(inner)
            # A delta multiplies by at most size*exp(size*epsilon) (Vadhan 2017, Lemma 2.2); we refuse instead of
            # charging that.
            if one.delta and size > 1:
                raise SettingError(
                    "what needs a delta of its own (conditional release, Gaussian noise on separators, PRSMA) is not"
                    " offered for tables with several rows a unit"
                )
            return Cost(one.rho * size * size, None if one.epsilon is None else one.epsilon * size, one.delta)
        case Tuned(budget, is_pure, law, stop):
            if is_pure:
                pure = (1 + exponent(law)) * budget
                return Cost(pure * pure / 2, pure)
            added, factor = short_above(shift(law, stop, budget)), short_above(mean_runs(law, stop))
            return Cost(budget, None, shift=added, factor=factor)


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


def _coin(rate: Fraction, slack: Fraction, spread: Fraction) -> Cost:
    """The price of one coin: heads with probability p = exp(-r), r in slack..slack + spread, moving by rate at most.

    Guarantees:
        log p moves by at most h = rate. log(1 - p) moves the other way, by at most h/(e^slack - 1), since its
        derivative in r is 1/(e^r - 1). So the log-ratio lies in an interval of length b = h + h/(e^slack - 1), and the
        larger of the two is the pure epsilon. Of two outcomes, Hoeffding's 1/8 in Lemma A may be replaced by v(p) =
        (1 - 2p)/(4 log((1 - p)/p)), the better the further p is from 1/2 (kearns1998large, Lemma 1).
        Floats err by a share of 1e-12 at most; a share of 1e-9 is added.
    """
    h, least, most = float(rate), math.exp(-float(slack + spread)), math.exp(-float(slack))
    other = h / math.expm1(float(slack))
    # v is symmetric about 1/2 and largest there, so over an interval at the end nearest to it.
    nearest = 0.5 if least <= 0.5 <= most else min(least, most, key=lambda p: abs(p - 0.5))
    odds = 0.125 if abs(nearest - 0.5) < 1e-3 else (1 - 2 * nearest) / (4 * math.log((1 - nearest) / nearest))
    upwards = 1 + 1e-9
    pure = max(rate, short_above(Fraction(other * upwards)))
    return Cost(short_above(Fraction((h + other) ** 2 * odds * upwards)), pure)


def _log_delta(rho: float, epsilon: float) -> float:
    """Log of the smallest delta for which rho-zCDP implies (epsilon, delta)-DP, minimised over the order alpha.

    Any alpha gives a valid bound (canonne2020discrete, Proposition 12 in v4), so stopping early is safe.
    """
    alpha = _order(rho, epsilon)
    return (alpha - 1) * (alpha * rho - epsilon) - math.log(alpha - 1) + alpha * math.log1p(-1 / alpha)


def _order(rho: float, epsilon: float) -> float:
    """The order at which rho-zCDP implies the smallest delta.

    The derivative in alpha, (2 alpha - 1) rho - epsilon + log(1 - 1/alpha), is increasing: bisection finds its root.
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
    return high


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


def epsilon_at(cost: Cost, *, delta: float) -> float:
    """The epsilon at which a cost implies (epsilon, delta)-DP, rounded up.

    With the terms of tuning the conversion's exponent is (a - 1)(a rho - (epsilon - shift)) + log(factor): that of rho
    alone, for a smaller epsilon and a smaller delta.
    """
    if cost.factor == 1:
        return epsilon_of(rho=cost.rho, delta=delta) + float(cost.shift)
    return epsilon_of(rho=cost.rho, delta=delta / float(cost.factor) * (1 - 1e-12)) + float(cost.shift) * (1 + 1e-12)


def rho_at(cost: Cost, *, epsilon: float, delta: float) -> Fraction:
    """What a cost takes from the rho that a total of (epsilon, delta) is worth; for costs without tuning, their rho.

    Guarantees:
        If the results of all events add up to at most R = `rho_of`(epsilon, delta), together they are
        (epsilon, delta)-DP, also when each was chosen after seeing the results of those before. At the one order A that
        turns R into (epsilon, delta), the divergence of each is at most A times its result, so all together at most
        A R: exp((A - 1)(log-ratio so far - A times the results so far)) is a supermartingale. The order depends on the
        total alone, never on what was spent.
    """
    if cost.shift == 0 and cost.factor == 1:
        return cost.rho
    order = Fraction(_order(float(rho_of(epsilon=epsilon, delta=delta)), epsilon))
    return short_above(cost.rho + (cost.shift + log_above(cost.factor) / (order - 1)) / order)


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
