"""Keyed noise: its law, and that a query's noise is its own."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from tests.analysts import Charged
from tests.games import bits
from tests.noise import log_laplace_pmf

from equipoise.errors import LedgerError
from equipoise.privacy.conditional import WindowTest
from equipoise.privacy.events import ConditionalRelease
from equipoise.privacy.keyed_noise import KeyedNoise, fresh_laplace, new_secret


@pytest.mark.parametrize("source", ["keyed", "fresh"])
@pytest.mark.parametrize("scale", [Fraction(3), Fraction(7, 2)])
def test_the_law_is_the_discrete_laplace_law_and_no_other(source: str, scale: Fraction) -> None:
    """Chi-square at 1e-10; the same 30,000 draws fail at 0.7 and 1.3 times the scale beyond doubt."""
    noise = KeyedNoise(new_secret())
    drawn = [noise.laplace(("q", i), scale) if source == "keyed" else fresh_laplace(scale) for i in range(30_000)]

    def fit(claimed: float) -> float:
        edge = 20
        cells = np.arange(-edge, edge + 1)
        law = np.exp([log_laplace_pmf(int(k), claimed) for k in cells])
        law[0] += (1 - law.sum()) / 2
        law[-1] += 1 - law.sum()
        found = np.bincount(np.clip(drawn, -edge, edge) + edge, minlength=2 * edge + 1)
        return float(stats.chisquare(found, 30_000 * law / law.sum()).pvalue)

    assert fit(float(scale)) > 1e-10
    assert fit(0.7 * float(scale)) < 1e-10
    assert fit(1.3 * float(scale)) < 1e-10


def test_an_inserted_query_leaves_the_noise_of_others() -> None:
    noise = KeyedNoise(bytes(range(32)))
    alone = [noise.laplace(("ada", "key", k), Fraction(100)) for k in ("x", "y")]
    inserted = [noise.laplace(("ada", "key", k), Fraction(100)) for k in ("x", "new", "y")]
    assert [inserted[0], inserted[2]] == alone
    assert noise.laplace(("ad", "akey", "x"), Fraction(100)) != alone[0]


def test_a_hit_has_the_probability_of_a_laplace_tail_and_bits_are_independent() -> None:
    """Of 20,000 tests the share of hits is within 0.02 (7 deviations and more); two bits pass a chi-square at 1e-10."""
    tests = WindowTest(Charged(ConditionalRelease(Fraction(1, 2), 10**6, Fraction(1, 10**9))), KeyedNoise(new_secret()))
    count = bits(10, 20).truth().take(np.array([1]))
    found = np.array(
        [[tests.test(count, (i, side), low=8, high=12) is not None for side in (0, 1)] for i in range(10_000)]
    )
    p = np.exp(-1 / 2)
    assert found.mean() == pytest.approx(2 * p**3 / (1 + p), abs=0.02)
    table = [[np.sum((found[:, 0] == a) & (found[:, 1] == b)) for b in (0, 1)] for a in (0, 1)]
    assert stats.chi2_contingency(table).pvalue > 1e-10


def test_tests_that_were_not_paid_for_are_refused() -> None:
    with pytest.raises(LedgerError, match="not been charged"):
        WindowTest(Charged(), KeyedNoise(new_secret()))


def test_both_ends_of_a_window_belong_to_it() -> None:
    tests = WindowTest(Charged(ConditionalRelease(Fraction(1, 2), 10, Fraction(1, 100))), KeyedNoise(bytes(32)))
    count = bits(10, 20).truth().take(np.array([1]))
    noisy = tests.test(count, ("a",), low=10**6, high=10**6 + 1)
    assert noisy is not None
    assert tests.test(count, ("a",), low=noisy, high=10**6) is None
    assert tests.test(count, ("a",), low=-(10**6), high=noisy) is None
    assert tests.test(count, ("a",), low=noisy + 1, high=10**6) == noisy
    assert tests.test(count, ("a",), low=-(10**6), high=noisy - 1) == noisy
    assert tests.scale == 2
    assert tests.max_hits == 10
