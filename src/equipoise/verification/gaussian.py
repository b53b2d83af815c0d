"""Gaussian differential privacy, for the second accountant: by the normal law's own functions, in plain bisections."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

__all__ = ["epsilon_of_gaussian", "noise", "selection"]

BLURRED = 4
"""Variance by which discrete noise is dearer than continuous (docs/mechanisms.md, Lemma F)."""

MOST = 30.0
"""Epsilon of a selection beyond which it has no price of this kind."""


def noise(sensitivity_squared: Fraction, variance: Fraction) -> Fraction | None:
    """mu^2/2 of discrete Gaussian noise."""
    return sensitivity_squared / (variance - BLURRED) / 2 if variance >= 2 * BLURRED else None


def selection(epsilon: Fraction) -> Fraction | None:
    """mu^2/2 of a selection whose log-ratio has the range epsilon: the mu at which total variation is tanh(epsilon/4).

    Total variation of two normal laws that are mu apart is erf(mu / sqrt(8)).
    """
    if epsilon > MOST:
        return None
    wanted = math.tanh(float(epsilon) / 4)
    mu = _last(lambda value: math.erf(value / math.sqrt(8)) <= wanted, float(epsilon) + 1)
    return Fraction(mu) ** 2 / 2


def epsilon_of_gaussian(half: Fraction, delta: float) -> float:
    """The epsilon at which mu-GDP, of mu^2/2 = `half`, has this delta."""
    mu = math.sqrt(2 * half)
    if mu == 0.0:
        return 0.0

    def is_more(epsilon: float) -> bool:
        near, far = (math.erfc((epsilon / mu + sign * mu / 2) / math.sqrt(2)) / 2 for sign in (-1, 1))
        return near - (math.exp(epsilon) * far if far > 0 else 0.0) > delta

    high = 1.0
    while is_more(high) and high < 600:
        high *= 2
    return _last(is_more, high) if high < 600 else math.inf


def _last(holds: Callable[[float], bool], high: float) -> float:
    """The largest number up to `high` at which something holds that holds up to some number and no further."""
    low = 0.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high
