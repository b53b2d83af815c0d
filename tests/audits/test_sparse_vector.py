"""Classical sparse vector by exact laws: the bits cost what is charged; the known broken variants do not hold."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from tests.games import bits
from tests.noise import NoNoise, log_laplace_pmf

from equipoise.errors import SettingError
from equipoise.privacy.above_threshold import SparseVector
from equipoise.privacy.accountant import Cost, cost
from equipoise.privacy.events import AboveThreshold
from equipoise.privacy.gate import Turn

EPSILON = 1.0
"""Half for the threshold, half for the tests."""
REACH = 80


def law(scale: float) -> np.ndarray:
    noise = np.arange(-REACH, REACH + 1)
    found = np.exp([log_laplace_pmf(int(k), scale) for k in noise])
    return np.asarray(found / found.sum())


def bit_law(
    counts: tuple[int, ...], *, positives: int, noisy_tests: bool = True, cutoff: bool = True
) -> dict[str, float]:
    """Probability of each transcript of bits, for a threshold of 0."""
    threshold = law(2 / EPSILON)
    tests = law(4 * positives / EPSILON)
    above = np.cumsum(tests[::-1])[::-1]  # Pr[noise >= k] at k + REACH
    found: dict[str, float] = {}
    for pattern in itertools.product((0, 1), repeat=len(counts)):
        bits_seen = list(pattern)
        if cutoff and sum(bits_seen) >= positives:
            last = next(i for i, _ in enumerate(bits_seen) if sum(bits_seen[: i + 1]) == positives)
            if any(bits_seen[last + 1 :]):
                continue
            bits_seen = bits_seen[: last + 1]
        total = 0.0
        for k, chance in zip(range(-REACH, REACH + 1), threshold, strict=True):
            product = float(chance)
            for bit, count in zip(bits_seen, counts, strict=False):
                gap = max(-REACH, min(REACH, k - count))
                p = float(above[gap + REACH]) if noisy_tests else float(count >= k)
                product *= p if bit else 1 - p
            total += product
        found["".join(map(str, bits_seen))] = total
    return found


def worst(one: dict[str, float], two: dict[str, float]) -> float:
    return max(
        math.inf if (one[key] > 1e-12) != (two[key] > 1e-12) else abs(math.log(one[key] / two[key]))
        for key in one
        if one[key] > 1e-12 or two[key] > 1e-12
    )


NEIGHBOURS = [((0, 0, 0), (1, -1, 1)), ((0, 0, 0, 0), (-1, -1, -1, 1)), ((1, 0, 1), (0, 1, 0))]


@pytest.mark.parametrize(("here", "there"), NEIGHBOURS)
def test_bits_cost_at_most_what_is_charged(here: tuple[int, ...], there: tuple[int, ...]) -> None:
    one, two = bit_law(here, positives=1), bit_law(there, positives=1)
    assert sum(one.values()) == pytest.approx(1, abs=1e-6)
    assert worst(one, two) <= EPSILON + 1e-6
    assert cost(AboveThreshold(Fraction(1, 2), Fraction(1, 2), 1)).epsilon == 1


def test_without_noise_at_each_test_it_is_caught() -> None:
    """The first broken variant of lyu2017understanding: two counts that swap order tell everything."""
    one, two = (bit_law(c, positives=1, noisy_tests=False) for c in ((0, 1), (1, 0)))
    assert worst(one, two) == math.inf


def test_unbounded_positives_are_caught() -> None:
    """Noise for one positive, and eight of them: beyond what is charged."""
    one = bit_law((0,) * 8, positives=1, cutoff=False)
    two = bit_law((1,) * 4 + (-1,) * 4, positives=1, cutoff=False)
    assert worst(one, two) > EPSILON


def test_releasing_the_tested_value_is_caught() -> None:
    """A positive's noisy value v bounds the shared threshold from above: it cannot be shifted past v any more.

    Ten negatives at a count c, then a positive of value 0, released: Σ_{t <= 0} p(t) Pr[c + noise < t]^10. Moving c
    by one moves the log of that by more than epsilon, and more with every further negative.
    """
    threshold, tests = law(2 / EPSILON), law(4 / EPSILON)
    below = np.cumsum(tests)  # Pr[noise <= k] at k + REACH

    def chance(count: int, negatives: int) -> float:
        return sum(
            float(threshold[t + REACH]) * float(below[max(-REACH, t - 1 - count) + REACH]) ** negatives
            for t in range(-REACH, 1)
        )

    assert abs(math.log(chance(0, 10) / chance(1, 10))) > EPSILON
    assert abs(math.log(chance(0, 20) / chance(1, 20))) > 2 * EPSILON


def test_positives_are_counted_and_then_refused() -> None:
    charged: list[object] = []
    turn = Turn(NoNoise(), 1, Cost(Fraction(10), None), Cost(), lambda event, _: charged.append(event))
    vector = SparseVector(
        turn, threshold=10, threshold_epsilon=Fraction(1, 2), tests_epsilon=Fraction(1, 2), max_positives=1
    )
    counts = bits(15, 20).truth()
    assert not vector.above(counts.take(np.array([0])))
    assert vector.above(counts.take(np.array([1])))
    with pytest.raises(SettingError, match="all the positives"):
        vector.above(counts.take(np.array([1])))
    assert charged == [AboveThreshold(Fraction(1, 2), Fraction(1, 2), 1)]
