"""Exact fractions in place of numbers too long or not exact, rounded to the private side."""

from __future__ import annotations

import math
from fractions import Fraction

__all__ = ["exact", "root_below", "short_above"]


def short_above(value: Fraction) -> Fraction:
    """The value itself when its denominator is short, else the next multiple above it of a power of two.

    Sums of thousands of fractions with unrelated denominators would grow to thousands of digits. Charging up to
    2^-60 more (relatively) keeps them exact and short, and errs on the private side.

    Guarantees:
        Precondition: value >= 0. Statement: value <= result <= value (1 + 2^-60). Proof: the ceiling of value 2^shift,
        which is at least 2^60, adds less than 1 to it.

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

    Guarantees:
        Precondition: a finite float, not negative. Statement: value (1 - 2^-44) <= result <= value. Proof: the mantissa
        is at least 1/2, and the floor of 2^45 times it loses less than 1.

    Example:
        >>> exact(0.1) <= Fraction(1, 10) < exact(0.1) * (1 + Fraction(1, 2**43))
        True
    """
    mantissa, exponent = math.frexp(value)
    return Fraction(math.floor(mantissa * 2**45)) * Fraction(2) ** (exponent - 45)


def root_below(value: Fraction) -> Fraction:
    """A fraction whose square is at most `value` and within 1e-12 of it relatively.

    Guarantees:
        Precondition: value >= 0. Statement: result^2 <= value. Proof: it is compared, in exact fractions.

    Example:
        >>> root_below(Fraction(2)) ** 2 <= 2
        True
    """
    root = exact(math.sqrt(value) * (1 - 1e-14))
    if root * root > value:  # cannot happen for the slack above; the check makes the guarantee unconditional
        raise AssertionError("square root was not rounded down")
    return root
