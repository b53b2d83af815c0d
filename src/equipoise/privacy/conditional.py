"""Conditional release (P9) with each query's own noise: a noisy count is released when a public guess is off.

There is no noisy threshold and no noise that two queries share, so one query's outcome says nothing of another's: what
privacy for analysts needs. `mechanisms.ConditionalTest` is the same with noise of the moment and a one-sided test.
"""

from __future__ import annotations

import math
from fractions import Fraction

from equipoise.core import IntArray
from equipoise.errors import LedgerError, SettingError
from equipoise.privacy.capped import Paid
from equipoise.privacy.events import ConditionalRelease, Event, Gaussian, Group
from equipoise.privacy.keyed_noise import KeyedNoise
from equipoise.privacy.noise import ExactNoise
from equipoise.privacy.private import Private, reveal

__all__ = ["WindowTest", "measure_paid"]


class WindowTest:
    """Tests of counts against public windows, for a conditional release that its run has paid for.

    Guarantees:
        Precondition: each tested count changes by at most 1 between neighbouring tables; no label is used for two
        counts; the caller stops after `max_hits` values that were not None, and until a value is committed to the
        ledger it is seen by nobody.
        Postcondition: that of `ConditionalRelease` (Lemma D): each test is epsilon-DP, its noise independent of all
        others'. The number of tests is unlimited. A test that was lost in a crash and is made again with the same
        label has the same outcome; with another label, it is one more test.
    """

    def __init__(self, paid: Paid, noise: KeyedNoise) -> None:
        found = [event for event in paid.events() if isinstance(event, ConditionalRelease)]
        if len(found) != 1:
            raise LedgerError("the ledger has not been charged for the tests of this session; nothing was looked at")
        self._scale = 1 / found[0].epsilon
        self._noise = noise
        self.max_hits = found[0].max_hits

    def test(self, count: Private, label: tuple[str | int, ...], *, low: int, high: int) -> int | None:
        """The noisy count when it lies outside low..high, else None."""
        if count.num_values != 1 or count.linf_sensitivity > 1:
            raise SettingError("conditional release tests one count of sensitivity 1 at a time")
        noisy = int(reveal(count)[0]) + self._noise.laplace(label, self._scale)
        return None if low <= noisy <= high else noisy

    @property
    def scale(self) -> Fraction:
        """Of the noise, in counts."""
        return self._scale


def measure_paid(paid: Paid, counts: Private) -> IntArray:
    """Counts plus discrete Gaussian noise (P1), for a run that was charged for at least as many.

    Guarantees:
        Precondition: each count changes by at most 1 between neighbouring tables, and over the run no more counts are
        measured than the squared sensitivity that was charged for. Postcondition: the price of that `Gaussian`. Proof:
        one count of sensitivity 1 is 1/(2 stddev^2)-zCDP (canonne2020discrete, Theorem 4 in v4), and so many of them
        add up to the price, also when each is chosen after those before (bun2016concentrated, Lemma 1.7 in v1).
    """
    found = [event for event in map(_inner, paid.events()) if isinstance(event, Gaussian)]
    if len(found) != 1 or counts.linf_sensitivity > 1 or counts.num_values > found[0].sensitivity_squared:
        raise LedgerError("the ledger has not been charged for these measurements; nothing was looked at")
    return ExactNoise().gaussian(reveal(counts), _root(found[0].variance))


def _inner(event: Event) -> Event:
    return event.event if isinstance(event, Group) else event


def _root(variance: Fraction) -> float:
    """The standard deviation whose square is the variance, which was made that way."""
    root = math.sqrt(variance)
    return root if Fraction(root) ** 2 >= variance else math.nextafter(root, math.inf)
