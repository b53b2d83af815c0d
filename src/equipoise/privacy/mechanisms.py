"""The primitives that look at private counts: each debits its event, then opens the counts, then adds exact noise.

Names follow the table of primitives in docs/mechanisms.md: P1 `measure`, P2 `measure_pure`, P3 and P4 `select`,
P5 `select_pure`, P6 `draw`, P8 `keep`, P9 `ConditionalTest`. Nothing else in Equipoise reads a true count.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from equipoise.core import IntArray
from equipoise.errors import SettingError
from equipoise.privacy.events import (
    Coins,
    ConditionalRelease,
    Draws,
    Event,
    Exponential,
    Gaussian,
    Laplace,
    PermuteAndFlip,
)
from equipoise.privacy.noise import Law, Noise
from equipoise.privacy.private import Private, reveal

__all__ = [
    "ConditionalTest",
    "Payer",
    "draw",
    "float_above",
    "keep",
    "measure",
    "measure_pure",
    "select",
    "select_pure",
]


class Payer(Protocol):
    """Whoever pays: the gate's turn. `debit` raises `BudgetError` before anything was looked at."""

    @property
    def noise(self) -> Noise:
        """The source of noise."""
        ...

    def debit(self, event: Event) -> None:
        """Charge one event."""
        ...


def float_above(value: Fraction) -> float:
    """The smallest float not below an exact value: noise scales round up, never down.

    Guarantees:
        Precondition: a positive fraction. Statement: the float, at its exact value, is at least that. Proof: it is
        compared as a fraction, and raised until it is.

    Example:
        >>> Fraction(float_above(Fraction(1, 3))) >= Fraction(1, 3)
        True
    """
    result = float(value)
    while Fraction(result) < value:
        result = math.nextafter(result, math.inf)
    return result


def measure(payer: Payer, counts: Private, *, stddev: float, at_least: int = 1) -> IntArray:
    """Counts plus discrete Gaussian noise (P1).

    Guarantees:
        Precondition: neighbouring tables change the vector of counts by at most `counts.norms.l2_squared` in squared
        L2. Postcondition: rho-zCDP with rho = l2_squared / (2 stddev^2), for one record replaced (canonne2020discrete,
        Theorem 4 in v4; the L2 version adds the coordinates' divergences). One cell of a marginal has l2_squared 1;
        all cells of one marginal have 2, since the replaced record leaves one cell and enters another. `at_least`
        charges for that squared sensitivity even where the counts have less, so that a plan need not know what will be
        selected.
    """
    _whole(counts)
    payer.debit(Gaussian(Fraction(max(at_least, counts.norms.l2_squared)), Fraction(stddev) ** 2))
    return payer.noise.gaussian(reveal(counts), stddev)


def measure_pure(payer: Payer, counts: Private, *, epsilon: Fraction, at_least: int = 1) -> IntArray:
    """Counts plus discrete Laplace noise of scale l1/epsilon (P2).

    Guarantees:
        Precondition: neighbouring tables change the vector of counts by at most `counts.norms.l1` in L1. Postcondition:
        epsilon-DP for one record replaced. Proof: Pr[noise = k] is proportional to exp(-|k|/scale), so probabilities
        change by a factor of exp(l1/scale) at most (the scale is rounded up). `at_least` as in `measure`.
    """
    _whole(counts)
    sensitivity = Fraction(max(at_least, counts.norms.l1))
    payer.debit(Laplace(sensitivity, sensitivity / epsilon))
    return payer.noise.laplace(reveal(counts), float_above(sensitivity / epsilon))


def select(payer: Payer, scores: Private, *, epsilon: Fraction, num_selected: int = 1) -> IntArray:
    """Ids of the queries with the largest scores, by the exponential mechanism (P3), or its one-shot top-K (P4).

    Guarantees:
        Precondition: neighbouring tables change each score by at most Delta (`scores.linf_sensitivity`).
        Postcondition: one selection follows Pr[q] proportional to exp(epsilon score / (2 Delta)), exactly, and is
        epsilon-DP and epsilon^2/8-zCDP (cesar2021bounding, Lemma 3.2 in v2). The noise scale is rounded up, so the
        true parameter is never above epsilon. K selections have the law of K successive draws without replacement
        (durfee2019practical, Lemma 4.2 in v2) and cost K times as much.
    """
    return _largest(payer, scores, Exponential(epsilon, num_selected), epsilon, num_selected, "gumbel")


def select_pure(payer: Payer, scores: Private, *, epsilon: Fraction) -> IntArray:
    """Id of a query with a large score, by permute-and-flip (P5): better than `select` at equal pure epsilon.

    Guarantees:
        Precondition: as `select`. Postcondition: epsilon-DP, and epsilon^2/2-zCDP, not epsilon^2/8
        (mckenna2020permute, Theorem 1 in v1; noisy maximum with exponential noise has the same law).
    """
    return _largest(payer, scores, PermuteAndFlip(epsilon), epsilon, 1, "exponential")


def _largest(payer: Payer, scores: Private, event: Event, epsilon: Fraction, num_selected: int, law: Law) -> IntArray:
    if not 1 <= num_selected <= scores.num_values:
        raise SettingError(f"cannot select {num_selected} of {scores.num_values} queries")
    payer.debit(event)
    scale = float_above(2 * max(1, scores.linf_sensitivity) / epsilon)
    return scores.ids[payer.noise.largest(reveal(scores), scale, num_selected, law)]


def draw(payer: Payer, scores: Private, *, epsilon: Fraction, num_draws: int) -> IntArray:
    """Ids drawn independently, with replacement, by the exponential mechanism (P6).

    Guarantees:
        Precondition: neighbouring tables change each score by at most Delta (`scores.linf_sensitivity`). Postcondition:
        each draw follows Pr[q] proportional to exp(epsilon score / (2 Delta)), exactly (the scale is rounded up, so the
        true parameter is never above epsilon); together they are num_draws epsilon-DP and num_draws epsilon^2/8-zCDP.
        Proof: each draw is an exponential mechanism (cesar2021bounding, Lemma 3.2 in v2), and independent ones add up.
    """
    payer.debit(Draws(epsilon, num_draws))
    scale = float_above(2 * max(1, scores.linf_sensitivity) / epsilon)
    return scores.ids[payer.noise.draws(reveal(scores), scale, num_draws)]


def keep(payer: Payer, payoffs: Private, *, epsilon: Fraction, slack: Fraction, largest: int) -> NDArray[np.bool_]:
    """For each payoff A a coin that shows heads with probability exp(-slack - (epsilon/2)(largest - A)) (P8).

    `largest` bounds every payoff (and -largest from below), in counts: the number of records.

    Guarantees:
        Precondition: neighbouring tables change each payoff by at most Delta (`payoffs.linf_sensitivity`), one count.
        Postcondition: heads with exactly that probability, but for `slack`, which is rounded up to the grid of the
        scores, and epsilon, which is rounded down. Priced by `accountant.cost` for a rate of epsilon/2. Proof:
        docs/mechanisms.md, P8; a payoff beyond `largest` is cut off, which moves less than the payoff does.
    """
    if payoffs.linf_sensitivity > payoffs.unit:
        raise SettingError("coins are tossed on payoffs that move by at most one count")
    payer.debit(Coins(epsilon / 2, slack, epsilon * largest, payoffs.num_values))
    scale = float_above(2 * payoffs.unit / epsilon)
    top = largest * payoffs.unit
    exponents = math.ceil(slack * Fraction(scale)) + top - np.clip(reveal(payoffs), -top, top)
    return payer.noise.coins(exponents, scale)


class ConditionalTest:
    """Conditional release (P9): test counts against a public threshold, release those above it, stop after R.

    Each test adds its own Laplace noise of scale 1/epsilon to the count and releases the noisy count when it exceeds
    the threshold. There is no noisy threshold and no shared noise, so one query's outcome says nothing of another's.

    Guarantees:
        Precondition: each tested count changes by at most 1 between neighbouring tables.
        Postcondition: all outcomes together are, but for probability `delta`, an N-fold composition of epsilon-DP
        steps, N = `accountant.calls_of_conditional_release` (Lemma D, proved in docs/mechanisms.md): N
        epsilon^2/2-zCDP. The number of tests is unlimited; after `max_hits` releases every further test is refused.
    """

    def __init__(self, payer: Payer, *, epsilon: Fraction, max_hits: int, delta: Fraction) -> None:
        payer.debit(ConditionalRelease(epsilon, max_hits, delta))
        self._noise = payer.noise
        self._scale = float_above(1 / epsilon)
        self.hits_left = max_hits

    def test(self, count: Private, *, threshold: int) -> int | None:
        """The noisy count when it exceeds the threshold, else None.

        Raises:
            SettingError: all paid hits are used up, or the count's sensitivity is above 1.
        """
        if self.hits_left == 0:
            raise SettingError("this conditional release has used all the hits it paid for")
        if count.num_values != 1 or count.linf_sensitivity > 1:
            raise SettingError("conditional release tests one count of sensitivity 1 at a time")
        noisy = int(self._noise.laplace(reveal(count), self._scale)[0])
        if noisy <= threshold:
            return None
        self.hits_left -= 1
        return noisy


def _whole(counts: Private) -> None:
    if counts.unit != 1:
        raise SettingError("only whole counts are measured; scores are for selection")
    if not np.issubdtype(reveal(counts).dtype, np.integer):
        raise TypeError("counts must be integers")
