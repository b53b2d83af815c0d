"""When epochs end: exact laws of the first positive look, with noise at every look and, as printed, without."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.noise import log_laplace_pmf

from equipoise.privacy.accountant import cost
from equipoise.privacy.events import NoisyStop

EPSILON = 1.0


def first_positive(counts: list[int], limit: int, *, looks: bool) -> np.ndarray:
    """Pr[first positive look is i] for these counts, and last none; the threshold has noise, and so has each look."""
    scale = 2 / EPSILON if looks else 1 / EPSILON
    reach = 60
    noise = np.arange(-reach, reach + 1)
    law = np.exp([log_laplace_pmf(int(k), scale) for k in noise])
    tail = {int(k): float(law[noise >= k].sum()) for k in range(-reach, reach + 2)}

    def positive(count: int, threshold: int) -> float:
        gap = threshold - count
        if not looks:
            return float(gap <= 0)
        return 1.0 if gap < -reach else 0.0 if gap > reach + 1 else tail[max(-reach, min(reach + 1, gap))]

    found = np.zeros(len(counts) + 1)
    for k, chance in zip(noise, law, strict=True):
        alive = float(chance)
        for i, count in enumerate(counts):
            hit = positive(count, limit + int(k))
            found[i] += alive * hit
            alive *= 1 - hit
        found[-1] += alive
    return found


def ratio(one: np.ndarray, two: np.ndarray) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nanmax(np.abs(np.log(one) - np.log(two))))


WITHOUT = [0, 1, 1, 2, 3, 3, 4, 5, 5, 5]
"""Counts of hits at each of ten looks; in the other world the third query hits too."""
WITH = [0, 1, 2, 3, 4, 4, 5, 6, 6, 6]


def test_one_hit_more_is_hidden_by_noise_at_every_look() -> None:
    one, two = first_positive(WITHOUT, 4, looks=True), first_positive(WITH, 4, looks=True)
    assert one.sum() == pytest.approx(1, abs=1e-9)
    assert ratio(one, two) <= EPSILON + 1e-9
    assert ratio(one, two) > 0.45  # half the price would not do
    assert cost(NoisyStop(Fraction(1), Fraction(1, 10**9))).epsilon == 1


def test_a_noisy_quota_alone_is_caught() -> None:
    """As printed (Algorithm 5): an epoch that ends after a query that was no hit tells that another one was."""
    assert ratio(first_positive(WITHOUT, 4, looks=False), first_positive(WITH, 4, looks=False)) == math.inf


def test_a_noisy_quota_has_ratio_one_plus_e_to_the_epsilon_even_when_every_query_hits() -> None:
    """Insert a hit between the third and the fourth of queries that all hit; others see when the epoch ended.

    An end at the inserted query is seen after the third, like an end at the third: the two add up.
    """
    without = first_positive([1, 2, 3, 4, 5, 6], 4, looks=False)
    inserted = first_positive([1, 2, 3, 4, 5, 6, 7], 4, looks=False)
    seen = np.concatenate([inserted[:2], [inserted[2] + inserted[3]], inserted[4:]])
    found = math.log(seen[2] / without[2])
    assert found == pytest.approx(math.log(1 + math.exp(EPSILON)), abs=1e-6)
    assert found > EPSILON
