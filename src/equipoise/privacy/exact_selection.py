"""Selection with the exact law of the exponential mechanism, or of permute-and-flip, in time that scores hardly touch.

Candidate i has weight w_i = exp((score_i - best)/scale), a real number. Floats are used only for whole numbers
W_i >= 2^k w_i above the weights; what they overshoot is rejected again by a coin whose bias is computed to as many
digits as its flip needs:

    exponential mechanism     propose i with probability W_i / ΣW, an integer draw; keep it with probability
                              2^k w_i / W_i, else propose again. Pr[i kept] ∝ W_i · w_i/W_i = w_i.
    permute-and-flip          every i flips a coin of bias W_i / 2^k, an integer draw; in random order each head flips
                              a coin of bias 2^k w_i / W_i; the first that shows heads again wins. Both coins are
                              heads with probability w_i, independently: the first accepted in random order
                              (mckenna2020permute, Algorithm 1 in v1).

No float decides anything: a W_i that were larger than need be costs a retry, and the law stays. The best candidate has
w = 1, so ΣW <= (1 + 2^-31) 2^k Σw + N <= (1 + 2^-31 + 2^-k N) 2^k Σw, and a proposal is rejected with
probability below 2^-30 + 2^-k N (3e-7 for a third of a million candidates): the time is that of N exponentials,
whatever the scores. OpenDP's noisy maximum has the same law, and is a hundred times slower or more, by a factor that
depends on the scores. Entropy is the operating system's.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np

from equipoise.core import IntArray

__all__ = [
    "exponential_mechanism",
    "fixed_point_bits",
    "flip",
    "permute_and_flip",
    "scaled_exponential",
    "weight_bounds",
]

MARGIN = 2.0**-32
"""How far W_i is put above the float exponential, relative. The float is within 2^-42 of the real number: division and
exponential are off by a few units in the 53rd place, and the error of the argument, at most 745 before the exponential
underflows, is multiplied by that."""


def exponential_mechanism(scores: IntArray, scale: float, num_selected: int) -> IntArray:
    """Positions drawn one after the other without replacement, each with Pr[i] ∝ exp(score_i / scale) among the rest.

    Guarantees:
        Precondition: integer scores; the float `scale` stands for its exact value. Statement: exactly that law. Proof:
        the module's docstring. Several at once are the largest scores after adding Gumbel noise of that scale
        (durfee2019practical, Lemma 4.2 in v2).
    """
    left = np.arange(len(scores), dtype=np.int64)
    chosen = []
    for _ in range(num_selected):
        position = _propose_until_kept(scores[left], scale)
        chosen.append(left[position])
        left = np.delete(left, position)
    return np.array(chosen, dtype=np.int64)


def permute_and_flip(scores: IntArray, scale: float) -> int:
    """A position by permute-and-flip: the largest score after adding exponential noise of that scale, exactly.

    Guarantees:
        Precondition: integer scores. Statement: exactly the law of permute-and-flip (mckenna2020permute, Algorithm 1 in
        v1) with the float `scale` at its exact value. Proof: the module's: two independent coins, heads together with
        probability w_i.
    """
    gaps = scores.max() - scores
    bits = fixed_point_bits(len(scores))
    bounds = np.minimum(weight_bounds(gaps, scale, bits), 1 << bits)
    tosses = np.frombuffer(os.urandom(8 * len(scores)), dtype=np.uint64) >> np.uint64(64 - bits)
    heads = np.flatnonzero(tosses.astype(np.int64) < bounds).tolist()
    while True:
        # The best candidate's two coins always show heads, so the list is never used up.
        position = heads.pop(secrets.randbelow(len(heads)))
        if _keep(int(gaps[position]), scale, int(bounds[position]), bits):
            return int(position)


def _propose_until_kept(scores: IntArray, scale: float) -> int:
    gaps = scores.max() - scores
    bits = fixed_point_bits(len(scores))
    bounds = weight_bounds(gaps, scale, bits)
    ends = np.cumsum(bounds)
    while True:
        position = int(np.searchsorted(ends, secrets.randbelow(int(ends[-1])), side="right"))
        if _keep(int(gaps[position]), scale, int(bounds[position]), bits):
            return position


def fixed_point_bits(num_candidates: int) -> int:
    """k: 40, or what keeps a sum of that many bounds below 2^62.

    Guarantees:
        Precondition: N, a number of candidates that fits the memory. Statement: N bounds of at most 2^k (1 + 2^-32) + 1
        each add up to less than 2^62. Proof: N < 2^bits(N), and k + bits(N) <= 61.
    """
    return min(40, 61 - num_candidates.bit_length())


def weight_bounds(gaps: IntArray, scale: float, bits: int) -> IntArray:
    """Whole numbers W >= 2^bits exp(-gap/scale), above it by at most 1 and a share of 2^-31.

    Guarantees:
        Precondition: gaps not negative. Statement: W >= 2^bits exp(-gap/scale), as real numbers. Proof: the float
        exponential is off by a share of 2^-42 (MARGIN), and 2^-32 is added before rounding up.
    """
    weights = np.exp(gaps / -scale)
    return np.floor(weights * (2.0**bits * (1 + MARGIN))).astype(np.int64) + 1


def _keep(gap: int, scale: float, bound: int, bits: int) -> bool:
    """A coin of bias 2^bits exp(-gap/scale) / bound, which is at most 1."""
    if gap == 0 and bound == 1 << bits:
        return True
    factor = Fraction(1 << bits, bound)
    return flip(lambda digits: scaled_exponential(Fraction(gap) / Fraction(scale), factor, digits))


def flip(enclose: Callable[[int], tuple[Fraction, Fraction]], draw: Callable[[int], int] = secrets.randbits) -> bool:
    """A coin whose bias is known by enclosure: `enclose(digits)` brackets it, as narrowly as asked for.

    A uniform number is drawn bit by bit until it is certainly below the bias, or certainly not.

    Guarantees:
        Precondition: `enclose(digits)` brackets one number, ever more narrowly; `draw` gives uniform bits. Statement:
        True with probability exactly that number. Proof: the uniform number is compared with the bias itself; what is
        known of either only decides when to stop, and it stops with probability 1.

    Example:
        >>> flip(lambda digits: (Fraction(1, 2), Fraction(1, 2)), draw=lambda bits: 0)
        True
    """
    digits, drawn, known = 20, 0, 0
    while True:
        low, high = enclose(digits)
        drawn, known = drawn << 64 | draw(64), known + 64
        if Fraction(drawn + 1, 1 << known) <= low:
            return True
        if Fraction(drawn, 1 << known) >= high:
            return False
        digits += 20


def scaled_exponential(exponent: Fraction, factor: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Bounds of factor · exp(-exponent), about 10^-digits apart.

    `Decimal` rounds division and exponential correctly. With p digits the argument is off by at most exponent 10^(1-p),
    the exponential by a share of 10^(1-p); (exponent + 2) 10^(2-p) covers both as long as it is below 1/10. A bias
    that small is not worked out before the coin asks for that many digits: factor <= 2^40 < e^28.

    Guarantees:
        Precondition: exponent >= 0, 0 < factor <= 2^40. Statement: factor exp(-exponent) lies between the two. Proof:
        the error of a correctly rounded division and exponential, as said above; if exponent > 3 digits + 28 it is
        below e^28 e^-(3 digits + 28) < 10^-digits.
    """
    if exponent > 3 * digits + 28:
        return Fraction(0), Fraction(1, 10**digits)
    precision = digits + 4 + len(str(int(exponent)))
    exact = Context(prec=precision, Emin=-(10**12), Emax=10**12)
    argument = exact.divide(Decimal(-exponent.numerator), Decimal(exponent.denominator))
    middle = factor * Fraction(exact.exp(argument))
    slack = middle * (exponent + 2) / 10 ** (precision - 2)
    return middle - slack, middle + slack
