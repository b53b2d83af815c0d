"""From zero-concentrated privacy (rho) to (epsilon, delta) and back: floating point that errs on the private side.

canonne2020discrete (Proposition 12 and Corollary 13, arXiv v4). Every function rounds so that what it claims is weaker
than what is proven.
"""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from fractions import Fraction

from equipoise.errors import SettingError
from equipoise.privacy import gaussian_privacy
from equipoise.privacy.cost import Cost
from equipoise.privacy.random_runs import log_above
from equipoise.privacy.short_fractions import exact, short_above

__all__ = ["delta_of", "epsilon_at", "epsilon_of", "rho_at", "rho_of"]


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

    Guarantees:
        Precondition: rho-zCDP. Statement: (epsilon, result)-DP. Proof: canonne2020discrete (arXiv v4), Proposition 12,
        at an order that need not be the best; a float error of a share of 1e-9 is added.

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

    Guarantees:
        Precondition: rho-zCDP, 0 < delta < 1. Statement: (result, delta)-DP. Proof: canonne2020discrete (arXiv v4),
        Proposition 12: the result is the last epsilon of a bisection at which that delta was reached, raised by 1e-12;
        the bisection begins at an epsilon that suffices, rho + 2 sqrt(rho log(1/delta)) (bun2016concentrated,
        Proposition 1.3).

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

    Guarantees:
        Precondition: epsilon > 0, 0 < delta < 1. Statement: whatever is result-zCDP is (epsilon, delta)-DP. Proof: the
        last rho of a bisection at which canonne2020discrete (arXiv v4), Proposition 12, gave that delta, lowered by
        1e-12 and rounded down; the delta of the proposition grows with rho.

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
    alone, for a smaller epsilon and a smaller delta. A cost with a delta of its own leaves less of it: delta less
    (1 + e^epsilon) times its own (Lemma D); infinite where nothing is left. Where the cost is known in Gaussian privacy
    too, the smaller of the two epsilons.

    Guarantees:
        Precondition: a mechanism of that cost: but for probability `cost.delta`, its divergence of order a is at most
        rho a + shift + log(factor)/(a - 1) for every a. Statement: (result, delta)-DP. Proof: the paragraph above, with
        canonne2020discrete (arXiv v4), Proposition 12, at the order that belongs to rho, smaller epsilon and delta; or
        `gaussian_privacy.epsilon_of`.
    """
    if cost.gaussian is not None:
        by_zcdp = epsilon_at(replace(cost, gaussian=None), delta=delta)
        return min(by_zcdp, gaussian_privacy.epsilon_of(cost.gaussian, delta=delta))
    if cost.delta:
        return _epsilon_of_rest(cost, delta)
    if cost.factor == 1:
        return epsilon_of(rho=cost.rho, delta=delta) + float(cost.shift)
    return epsilon_of(rho=cost.rho, delta=delta / float(cost.factor) * (1 - 1e-12)) + float(cost.shift) * (1 + 1e-12)


def _epsilon_of_rest(cost: Cost, delta: float) -> float:
    """Raise epsilon until it covers what is left of delta at that epsilon: the iteration only ever goes up."""
    bare, epsilon = replace(cost, delta=Fraction(0)), 0.0
    for _ in range(1000):
        rest = delta - (1 + math.exp(epsilon)) * float(cost.delta) * (1 + 1e-9) if epsilon < 700 else -1.0
        if rest <= 0:
            return math.inf
        needed = epsilon_at(bare, delta=rest)
        if needed <= epsilon:
            return epsilon
        epsilon = needed * (1 + 1e-9)
    return math.inf


def rho_at(cost: Cost, *, epsilon: float, delta: float) -> Fraction:
    """What a cost takes from the rho that a total of (epsilon, delta) is worth; for costs without tuning, their rho.

    Guarantees:
        Precondition: costs of events of which each may be chosen after seeing the results of those before. Statement:
        if the results of all of them add up to at most R = `rho_of`(epsilon, delta), together they are (epsilon,
        delta)-DP. Proof: at the one order A that turns R into (epsilon, delta), the divergence of each is at most A
        times its result, so all together at most A R: exp((A - 1)(log-ratio so far - A times the results so far)) is a
        supermartingale. The order depends on the total alone, never on what was spent.
    """
    if cost.shift == 0 and cost.factor == 1:
        return cost.rho
    order = Fraction(_order(float(rho_of(epsilon=epsilon, delta=delta)), epsilon))
    return short_above(cost.rho + (cost.shift + log_above(cost.factor) / (order - 1)) / order)
