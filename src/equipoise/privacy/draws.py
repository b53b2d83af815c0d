"""Many independent draws from exponential weights, and many exponential coins, with exact laws and in vectors.

DualQuery draws thousands of queries from up to millions, DQRS tosses as many coins; one at a time each would cost a
pass over all candidates (`exact_selection`). The idea is the same as there. Whole numbers W_i bound the weights
2^k w_i, w_i = exp((score_i - best)/scale), from above: a proposal has probability W_i / ΣW, exactly, by integers from
the operating system; it is kept if a uniform number U falls below 2^k w_i / W_i, so that Pr[kept i] ∝ w_i.

Floats only save work. From them comes a number that is certainly below the bias (or certainly above): if U, known to
64 bits, lies on the safe side, the outcome is settled; if not, which has probability of about 2^-30, the same U is
compared with the bias in as many digits as it takes (`exact_selection.flip`). So no float decides anything, and
nothing is to be charged for rounding.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from equipoise.core import FloatArray, IntArray
from equipoise.privacy import exact_selection

__all__ = ["coins", "draw"]

MARGIN = 2.0**-40
"""Relative distance of what is certain from a float exponential. The argument is at most 745, or the exponential is 0;
it is off by a share of 2^-52, so the exponential by a share of 745 · 2^-52 and its own last bits: below 2^-42."""


def draw(scores: IntArray, scale: float, num_draws: int) -> IntArray:
    """Positions drawn independently, with replacement, each with Pr[i] ∝ exp(score_i / scale).

    Guarantees:
        Precondition: integer scores; the float `scale` stands for its exact value. Statement: exactly that law. Proof:
        proposals have law W_i / ΣW, a proposal is kept with probability 2^k w_i / W_i <= 1, and rejected ones are
        replaced by new ones. One pass over the candidates, whatever the scores; rejections have probability below 2^-30
        + N 2^-k for N candidates.
    """
    gaps = scores.max() - scores
    bits = exact_selection.fixed_point_bits(len(scores))
    bounds = exact_selection.weight_bounds(gaps, scale, bits)
    ends = np.cumsum(bounds)
    kept: list[IntArray] = []
    missing = num_draws
    while missing:
        proposed = np.searchsorted(ends, _below(int(ends[-1]), missing), side="right").astype(np.int64)
        taken = proposed[_keep(gaps[proposed], scale, bounds[proposed], bits)]
        kept.append(taken)
        missing -= len(taken)
    return np.concatenate(kept) if kept else np.zeros(0, dtype=np.int64)


def coins(exponents: IntArray, scale: float) -> NDArray[np.bool_]:
    """Independent coins; coin i shows heads with probability exp(-exponent_i / scale), exponents not negative.

    Guarantees:
        Precondition: integer exponents, not negative; the float `scale` stands for its exact value. Statement: exactly
        that law. Proof: a uniform number is compared with the bias, in as many digits as that takes (the module's
        docstring).
    """
    if exponents.size and exponents.min() < 0:
        raise ValueError("a coin needs an exponent that is not negative")
    return _keep(exponents, scale, np.ones(len(exponents), dtype=np.int64), 0)


def _keep(gaps: IntArray, scale: float, bounds: IntArray, bits: int) -> NDArray[np.bool_]:
    """Coins of bias 2^bits exp(-gap/scale) / bound, each at most 1."""
    biases = np.exp(gaps / -scale) * (2.0**bits / bounds)
    tosses = np.frombuffer(os.urandom(8 * len(gaps)), dtype=np.uint64)
    heads, tails = _settled(tosses, biases)
    for i in np.flatnonzero(~heads & ~tails):
        exponent, factor = Fraction(int(gaps[i])) / Fraction(scale), Fraction(1 << bits, int(bounds[i]))
        heads[i] = _exact_flip(int(tosses[i]), exponent, factor)
    return heads


def _settled(tosses: NDArray[np.uint64], biases: FloatArray) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Where a uniform number with these first 64 bits is certainly below the bias, and where certainly above.

    A 64-bit number as a float is off by a share of 2^-53, and the number goes on for less than 1/2^64. A bias that
    underflowed is below 2^-70, so only a toss of 0 leaves it open.
    """
    rough = tosses.astype(np.float64)
    below = (rough * (1 + 2.0**-50) + 2) * 2.0**-64 <= biases * (1 - MARGIN)
    above = rough * (1 - 2.0**-50) * 2.0**-64 >= biases * (1 + MARGIN) + 2.0**-70
    return below, above


def _exact_flip(toss: int, exponent: Fraction, factor: Fraction) -> bool:
    """Whether the uniform number that begins with `toss` is below factor · exp(-exponent)."""
    if exponent == 0 and factor == 1:
        return True
    begun = iter([toss])
    return exact_selection.flip(
        lambda digits: exact_selection.scaled_exponential(exponent, factor, digits),
        draw=lambda count: _go_on(begun, count),
    )


def _go_on(begun: Iterator[int], count: int) -> int:
    for word in begun:
        return word
    return secrets.randbits(count)


def _below(limit: int, count: int) -> IntArray:
    """Uniform integers below a limit (at most 2^62), by rejection: exactly uniform."""
    surplus = np.uint64(64 - limit.bit_length())
    found: list[IntArray] = []
    missing = count
    while missing:
        words = np.frombuffer(os.urandom(8 * (2 * missing + 8)), dtype=np.uint64) >> surplus
        fitting = words[words < np.uint64(limit)][:missing].astype(np.int64)
        found.append(fitting)
        missing -= len(fitting)
    return np.concatenate(found)
