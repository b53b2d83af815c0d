"""What the hits of Algorithm 5 tell of one record: the product's own tests and noise, against the closed form."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.analysts import Charged
from tests.games import bits

from equipoise.audit.sampling import epsilon_bound
from equipoise.core import FloatArray
from equipoise.privacy.conditional import WindowTest
from equipoise.privacy.events import ConditionalRelease
from equipoise.privacy.keyed_noise import KeyedNoise, new_secret

EPSILON, LOW, HIGH = Fraction(1), 8, 12


def _miss(count: int, epsilon: float) -> float:
    """Pr[LOW <= count + Z <= HIGH], Z discrete Laplace."""
    law = np.exp(-epsilon * np.abs(np.arange(LOW, HIGH + 1) - count)) * math.tanh(epsilon / 2)
    return float(law.sum())


def test_a_hit_tells_its_epsilon_at_most_whatever_the_count() -> None:
    """Both outcomes, at every distance from the window; with half the noise it is more."""
    for factor, fails in ((1.0, False), (2.0, True)):
        misses = np.array([_miss(count, factor * float(EPSILON)) for count in range(-20, 41)])
        worst = max(float(np.abs(np.diff(law)).max()) for law in (np.log(misses), np.log1p(-misses)))
        assert (worst > float(EPSILON) + 1e-9) == fails


def _hits(ones: int, num_runs: int, scale: float = 1.0) -> FloatArray:
    paid = ConditionalRelease(EPSILON / Fraction(scale), num_runs, Fraction(1, 10**9))
    tests = WindowTest(Charged(paid), KeyedNoise(new_secret()))
    count = bits(ones, 20).truth().take(np.array([1]))
    found = [tests.test(count, ("ada", i), low=LOW, high=HIGH) is not None for i in range(num_runs)]
    return np.array(found, dtype=np.float64)


def test_the_real_hits_have_that_law_and_tell_no_more() -> None:
    """20,000 tests of a count at the window's edge and of its neighbour: a share is off by more than 6.3 standard
    deviations with probability below 1e-9, the bound fails with 1e-10. With .4 of the noise the shares
    are .924 and .076: not seeing 1 means both missed by 40 standard deviations and more."""
    worlds = [_hits(ones, 20_000) for ones in (13, 12)]
    for ones, found in zip((13, 12), worlds, strict=True):
        assert 1 - found.mean() == pytest.approx(_miss(ones, float(EPSILON)), abs=6.3 * 0.5 / math.sqrt(20_000))
    assert 0.3 < epsilon_bound(*worlds, delta=0.0) <= 1
    control = [_hits(ones, 20_000, scale=0.4) for ones in (13, 12)]
    assert epsilon_bound(*control, delta=0.0) > 1
