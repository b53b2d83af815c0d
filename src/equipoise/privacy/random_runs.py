"""The best of a random number of runs: its price, and the draw of that number.

A run M is repeated K times, K drawn from a law that knows nothing of the data; each run ends with a private score, the
run with the best score is released, and everything else, K included, is forgotten. A fixed K would cost K times as much
as one run; a random K costs a little more than two or three runs' epsilon, however large its mean (papernot2022hyper,
for the truncated negative binomial laws; liu2019private for pure privacy and the geometric law).

Proof, for the two laws used here. Let f(x) = E x^K, and Q, Q' the laws of one run on neighbouring tables, its outputs
ordered by score. The best of K has probability A(y) = f(Q(<=y)) - f(Q(<y)) = Q(y) E f'(X), where X = Q(<y) + U Q(y) and
U is uniform (equal scores: the outputs of a level keep their law within it, and X ranges over the level). With the
same U, A'(y) = Q'(y) E f'(X'). Since s^a t^(1-a) is convex in (s, t),

    sum A^a A'^(1-a) <= sum Q^a Q'^(1-a) . max f'(X)^a f'(X')^(1-a).                                             (1)

(X, X') are the probabilities of one event, "below y, or y and a coin", under Q and Q'. For K geometric (h = 2) or
logarithmic (h = 1) with parameter g, f'(x) = E[K] (g / p)^h with p = 1 - (1 - g) x >= g, and (p, p') are again the
probabilities of one event (the opposite one, made certain with probability g). Rényi privacy of any order b >= 1 bounds
p' <= (e^D p)^(1 - 1/b) with D the divergence of order b. Hence the maximum in (1) is at most

    E[K] (g p'^(a-1) / p^a)^h <= E[K] exp(h (a - 1) [(1 - 1/b) D_b + log(1/g) / b]),

and D_a(A, A') <= D_a(Q, Q') + h [(1 - 1/b) D_b + log(1/g) / b] + log E[K] / (a - 1). For a run that is rho-zCDP,
D_b <= rho b, so the middle term is h [rho (b - 1) + log(1/g) / b] for any b >= 1: the `shift`. For a run that is
epsilon-DP, the ratio f'(X)/f'(X') = (p'/p)^h is at most e^(h epsilon), so the best run is (1 + h) epsilon-DP.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Literal, TypeAlias, get_args

from equipoise.errors import SettingError

__all__ = ["LAWS", "RunLaw", "draw_num_runs", "exponent", "log_above", "mean_runs", "shift", "stop_of"]

RunLaw: TypeAlias = Literal["logarithmic", "geometric"]
LAWS: tuple[RunLaw, ...] = get_args(RunLaw)

_DIGITS = 40
"""Decimal logarithms and roots are the same on every machine, so an old ledger's prices can be computed again."""


def exponent(law: str) -> int:
    """The h of the module's docstring: what a run's epsilon is multiplied by, less one.

    Guarantees:
        Precondition: a law of `LAWS`. Statement: f'(x) = E[K] (g/p)^h of the module's proof, with h the result. Proof:
        the derivatives of (g x)/p, with h = 2, and of log(p)/log(g), with h = 1, for p = 1 - (1 - g) x.

    Example:
        >>> exponent("logarithmic"), exponent("geometric")
        (1, 2)
    """
    if law not in LAWS:
        raise SettingError(f"the number of runs has no law {law!r}; the laws are {', '.join(LAWS)}")
    return 1 + LAWS.index(law)


def _log(value: Fraction, rounding: str) -> Fraction:
    """The logarithm of a number above 1, rounded in one direction at the last of `_DIGITS` digits."""
    context = Context(prec=_DIGITS, rounding=rounding)
    found = context.ln(context.divide(Decimal(value.numerator), Decimal(value.denominator)))
    # Decimal's ln rounds to nearest whatever the context says.
    return Fraction(context.next_plus(found) if rounding == ROUND_CEILING else context.next_minus(found))


def log_above(value: Fraction) -> Fraction:
    """A fraction just above the logarithm of a number of at least 1.

    Guarantees:
        Precondition: value >= 1. Statement: the result is at least log(value). Proof: the quotient is rounded up, the
        logarithm is correct to the last digit, and the next number above it is taken.

    Example:
        >>> float(log_above(Fraction(2)))
        0.6931471805599453
    """
    return Fraction(0) if value == 1 else _log(value, ROUND_CEILING)


def mean_runs(law: str, stop: Fraction) -> Fraction:
    """The mean of K, or just above it: 1/g for the geometric law, (1/g - 1)/log(1/g) for the logarithmic one.

    Guarantees:
        Precondition: 0 < stop < 1. Statement: the result is at least E[K]. Proof: E[K] = f'(1) of the module's proof
        (papernot2022hyper has both laws, as truncated negative binomial ones); the logarithm is rounded down.

    Example:
        >>> mean_runs("geometric", Fraction(1, 10)), round(float(mean_runs("logarithmic", Fraction(1, 37))), 3)
        (Fraction(10, 1), 9.97)
    """
    if exponent(law) == 2:
        return 1 / stop
    return (1 / stop - 1) / _log(1 / stop, ROUND_FLOOR)


def stop_of(law: str, mean: float) -> Fraction:
    """The parameter g, a fraction with a short denominator, for which K has about this mean.

    Example:
        >>> stop_of("geometric", 10), stop_of("logarithmic", 10)
        (Fraction(1, 10), Fraction(1, 37))
    """
    if not 1 < mean <= 10_000:
        raise SettingError("the mean number of runs must be above 1, and at most 10,000")
    if exponent(law) == 2:
        return 1 / Fraction(mean).limit_denominator(1000)
    low, high = Fraction(1), Fraction(10**7)
    while high - low > Fraction(1, 8):
        middle = (low + high) / 2
        low, high = (middle, high) if mean_runs(law, 1 / middle) < mean else (low, middle)
    return 1 / Fraction(round(high * 8), 8) if high < 8 else 1 / Fraction(round(high))


def shift(law: str, stop: Fraction, rho: Fraction) -> Fraction:
    """What choosing the best adds to the divergence at every order, for runs that are rho-zCDP each.

    h [rho (b - 1) + log(1/g) / b] at b near its best, sqrt(log(1/g)/rho); any b of at least 1 gives a valid bound.

    Guarantees:
        Precondition: runs that are rho-zCDP each. Statement: the middle term of the module's bound is at most the
        result. Proof: the module's; it holds for every b >= 1, so the rounding of b does no harm.
    """
    log_stop = log_above(1 / stop)
    context = Context(prec=_DIGITS)
    ratio = log_stop / rho
    order = max(
        Fraction(1), Fraction(context.sqrt(context.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))))
    )
    return exponent(law) * (rho * (order - 1) + log_stop / order)


def draw_num_runs(law: str, stop: Fraction, below: Callable[[int], int] = secrets.randbelow) -> int:
    """K, exactly: coins with the probability g until one falls; for the logarithmic law kept with probability 1/K.

    A geometric K has Pr[k] = g (1 - g)^(k - 1); keeping it with probability 1/k, else drawing anew, makes that
    proportional to (1 - g)^k / k. `below(m)` is uniform on 0 .. m - 1, from the operating system.

    Guarantees:
        Precondition: `below` is uniform. Statement: K has exactly the law of that name with parameter `stop`. Proof:
        the paragraph above; all comparisons are of integers.
    """
    logarithmic = exponent(law) == 1
    while True:
        number = 1
        while below(stop.denominator) >= stop.numerator:
            number += 1
        if not logarithmic or below(number) == 0:
            return number
