"""Draws and coins have exactly the laws they claim.

False-alarm probability 1e-10 a test (the threshold); a control passes unnoticed with 2e-11 at most.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from tests.noise import log_exponential_mechanism

from equipoise.privacy import draws
from equipoise.privacy.noise import ExactNoise

THRESHOLD = 1e-10
SCORES = np.array([0, 1024, 3072, 2048], dtype=np.int64)
SCALE = 1500.0


def p_value(observed: np.ndarray, scores: np.ndarray, scale: float) -> float:
    expected = np.exp([log_exponential_mechanism(scores, scale, i) for i in range(len(scores))])
    return float(stats.chisquare(observed, expected / expected.sum() * observed.sum()).pvalue)


def test_draws_have_the_exponential_law_and_no_other() -> None:
    observed = np.bincount(ExactNoise().draws(SCORES, SCALE, 200_000), minlength=4)
    assert p_value(observed, SCORES, SCALE) > THRESHOLD
    assert p_value(observed, SCORES, 0.94 * SCALE) < THRESHOLD
    assert p_value(observed, SCORES, 1.06 * SCALE) < THRESHOLD


def test_draws_are_independent() -> None:
    pairs = ExactNoise().draws(SCORES, SCALE, 200_000).reshape(-1, 2)
    table = np.zeros((4, 4))
    np.add.at(table, (pairs[:, 0], pairs[:, 1]), 1)
    assert stats.chi2_contingency(table).pvalue > THRESHOLD


@pytest.mark.parametrize("exponent", [0, 1, 700, 4000])
def test_coins_have_the_exponential_bias_and_no_other(exponent: int) -> None:
    heads = int(ExactNoise().coins(np.full(200_000, exponent), SCALE).sum())
    bias = float(np.exp(-exponent / SCALE))
    assert stats.binomtest(heads, 200_000, bias).pvalue > THRESHOLD
    if exponent > 100:
        assert stats.binomtest(heads, 200_000, bias**1.1).pvalue < THRESHOLD
        assert stats.binomtest(heads, 200_000, bias**0.9).pvalue < THRESHOLD


def test_the_law_is_the_same_when_no_float_is_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a margin that settles nothing every coin is compared digit by digit."""
    monkeypatch.setattr(draws, "MARGIN", 1.0)
    observed = np.bincount(draws.draw(SCORES, SCALE, 5_000), minlength=4)
    assert p_value(observed, SCORES, SCALE) > THRESHOLD
    assert p_value(observed, SCORES, 1.5 * SCALE) < THRESHOLD
    heads = int(draws.coins(np.full(5_000, 1000), SCALE).sum())
    assert stats.binomtest(heads, 5_000, float(np.exp(-1000 / SCALE))).pvalue > THRESHOLD


def test_float_exponentials_are_within_the_margin() -> None:
    """The bound that the settled coins rest on, against 60 digits, over all arguments that do not underflow."""
    rng = np.random.default_rng(5)
    with localcontext() as context:
        context.prec = 60
        for _ in range(3000):
            scale = float(np.exp(rng.uniform(0, 40)))
            gap = int(min(scale * rng.uniform(0, 700), 2.0**62))
            bits = int(rng.integers(0, 41))
            bound = int(np.floor(np.exp(-gap / scale) * 2.0**bits * (1 + 2.0**-32))) + 1
            rough = np.exp(np.array([gap]) / -scale) * (2.0**bits / np.array([bound]))
            ratio = Fraction(gap) / Fraction(scale)
            true = (-Decimal(ratio.numerator) / Decimal(ratio.denominator)).exp() * 2**bits / bound
            assert true <= 1
            assert abs(Decimal(float(rough[0])) / true - 1) <= Decimal(draws.MARGIN) / 2


def test_what_is_settled_is_settled_rightly() -> None:
    biases = np.array([0.0, 1e-300, 2.0**-70, 0.3, 1.0])
    for toss in (0, 1, 2**63, 2**64 - 1):
        below, above = draws._settled(np.full(5, toss, dtype=np.uint64), biases)
        for i, bias in enumerate(biases):
            exact = Fraction(float(bias))
            if below[i]:
                assert Fraction(toss + 1, 2**64) <= exact
            if above[i]:
                assert Fraction(toss, 2**64) >= exact
        assert not (below & above).any()
    # A toss of zero says nothing against the smallest bias.
    assert not draws._settled(np.zeros(1, dtype=np.uint64), np.zeros(1))[1].any()


def test_integers_below_a_limit_are_uniform() -> None:
    observed = np.bincount(draws._below(5, 100_000), minlength=5)
    assert len(observed) == 5
    assert stats.chisquare(observed).pvalue > THRESHOLD


def test_hopeless_candidates_are_not_drawn_and_lonely_ones_are() -> None:
    """Pr of drawing the second is exp(-10^6) in truth."""
    assert set(draws.draw(np.array([10**15, 0]), 1e9, 1000).tolist()) == {0}
    assert draws.draw(np.array([-7]), 3.0, 4).tolist() == [0, 0, 0, 0]
    assert len(draws.draw(SCORES, SCALE, 0)) == 0
    assert not draws.coins(np.array([10**15]), 1.0).any()
    with pytest.raises(ValueError, match="not negative"):
        draws.coins(np.array([-1]), 1.0)
