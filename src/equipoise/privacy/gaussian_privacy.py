"""Gaussian differential privacy: what Gaussian noise is worth in (epsilon, delta), without the slack of zCDP.

A mechanism is mu-GDP if no test tells its outputs on neighbouring tables apart better than N(0, 1) from N(mu, 1)
(dong2022gaussian, Definition 2.6 in arXiv v3). Adaptively chosen mechanisms compose to the root of the sum of mu^2
(Corollary 3.3), so `Cost.gaussian` = mu^2/2 adds up as rho does, and is rho, nearly, where all is Gaussian noise. At
the same (epsilon, delta) it may be a tenth larger than rho. docs/mechanisms.md, Gaussian privacy, has the proofs.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

from scipy.special import erfcx, erfinv

from equipoise.errors import SettingError
from equipoise.privacy.short_fractions import exact, short_above

__all__ = ["delta_of", "epsilon_of", "measured", "selected", "worth"]

BLUR = 4
"""Variance that discrete noise has less as a blurred continuous one. Their laws then differ by a factor within 1e-33 of
one in each count; with 2 in its place it would be 1e-16, too much for a billion counts."""

GUARD = 1e-9
"""What is added to delta, as a share: far above the float errors here, and what `BLUR` leaves of any release."""

SMALL = 1e-4
"""mu below which a difference of two nearly equal numbers is replaced by a bound on it."""


def measured(sensitivity_squared: Fraction, variance: Fraction) -> Fraction | None:
    """mu^2/2 of discrete Gaussian noise on counts; None where its variance is too small for this to be of use.

    Guarantees:
        Precondition: integers whose vector changes by at most the root of `sensitivity_squared`. Statement: the noisy
        vector is, but for a factor within 1e-33 of one for each count, a post-processing of continuous Gaussian noise
        of variance less `BLUR`, so mu^2 = sensitivity_squared / (variance - BLUR). Proof: docs/mechanisms.md (Lemma F).

    Example:
        >>> measured(Fraction(2), Fraction(104)), measured(Fraction(2), Fraction(6))
        (Fraction(1, 100), None)
    """
    if variance < 2 * BLUR:
        return None
    return short_above(sensitivity_squared / (2 * (variance - BLUR)))


def selected(epsilon: Fraction) -> Fraction | None:
    """mu^2/2 of one draw of the exponential mechanism; None where epsilon is so large that mu is not to be computed.

    Guarantees:
        Precondition: the log-ratio of the output's probabilities lies in an interval of length epsilon. Statement: the
        draw is mu-GDP with 2 Phi(mu/2) - 1 = tanh(epsilon/4). Proof: docs/mechanisms.md (Lemma G). A share of 1e-12 is
        added for float errors.

    Example:
        >>> round(float(selected(Fraction(1, 10))) / (math.pi / 16 * 0.01), 4)  # and epsilon^2/8 in zCDP
        0.9999
    """
    if epsilon > 30:
        return None
    return short_above(Fraction(4 * float(erfinv(math.tanh(float(epsilon) / 4))) ** 2 * (1 + 1e-12)))


def _log_delta(half: float, epsilon: float) -> float:
    """Log of the delta at which mu-GDP, of mu^2/2 = `half`, is (epsilon, delta)-DP.

    delta = Phi(-a) - e^epsilon Phi(-b) with a = epsilon/mu - mu/2 and b = a + mu (dong2022gaussian, Corollary 2.13),
    which is phi(a) (R(a) - R(b)), R being Mills' ratio. R' = x R - 1 increases, so R(a) - R(b) <= mu (1 - a R(a)).
    """
    mu = math.sqrt(2 * half)
    a = epsilon / mu - mu / 2
    if a < -30:
        return 0.0
    above = _mills(a)
    difference = above - _mills(a + mu) if mu > SMALL else mu * (1 - a * above)
    # Far out, where the last bits of the difference are lost, phi(a) is 0 whatever stands beside it.
    return -a * a / 2 - math.log(math.sqrt(2 * math.pi)) + math.log(max(difference, 1e-300))


def _mills(x: float) -> float:
    return math.sqrt(math.pi / 2) * float(erfcx(x / math.sqrt(2)))


def delta_of(half: Fraction | float, *, epsilon: float) -> float:
    """The delta at which mu-GDP, of mu^2/2 = `half`, is (epsilon, delta)-DP, rounded up, at most 1.

    Guarantees:
        Precondition: mu-GDP but for `BLUR`. Statement: (epsilon, result)-DP. Proof: dong2022gaussian (arXiv v3),
        Corollary 2.13; `GUARD` is added.

    Example:
        >>> round(delta_of(0.5, epsilon=1.0), 6)
        0.126937
    """
    return min(1.0, math.exp(_log_delta(float(half), epsilon)) * (1 + GUARD)) if half > 0 else 0.0


@functools.lru_cache(maxsize=256)
def epsilon_of(half: Fraction | float, *, delta: float) -> float:
    """The epsilon at which mu-GDP, of mu^2/2 = `half`, is (epsilon, delta)-DP, rounded up.

    Guarantees:
        Precondition: mu-GDP but for `BLUR`, 0 < delta < 1. Statement: (result, delta)-DP. Proof: the last epsilon of a
        bisection at which `delta_of` was at most delta, raised by 1e-12; delta falls as epsilon grows.

    Example:
        >>> round(epsilon_of(worth(epsilon=1.0, delta=1e-6), delta=1e-6), 6)
        1.0
    """
    if half <= 0:
        return 0.0
    low, high = 0.0, 1.0
    while delta_of(half, epsilon=high) > delta:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_of(half, epsilon=middle) <= delta else (middle, high)
    return high * (1 + 1e-12)


@functools.lru_cache(maxsize=256)
def worth(*, epsilon: float, delta: float) -> Fraction:
    """The largest mu^2/2 for which mu-GDP is (epsilon, delta)-DP, rounded down to an exact fraction.

    Guarantees:
        Precondition: epsilon > 0, 0 < delta < 1. Statement: whatever is mu-GDP with mu^2/2 at most the result is
        (epsilon, delta)-DP. Proof: the last of a bisection at which `delta_of` was at most delta, lowered by 1e-12 and
        rounded down; delta grows with mu.

    Example:
        >>> float(round(worth(epsilon=1.0, delta=1e-6), 6))  # of zCDP 0.024356
        0.028014
    """
    if epsilon <= 0:
        raise SettingError("epsilon must be positive")
    if not 0 < delta < 1:
        raise SettingError("delta must lie strictly between 0 and 1")
    low, high = 0.0, 1.0
    while delta_of(high, epsilon=epsilon) <= delta:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle, epsilon=epsilon) <= delta else (low, middle)
    return exact(low * (1 - 1e-12))
