"""The parts of the exact sampler, without statistics; frequencies are in tests/statistics/test_selection.py."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.privacy import draws, exact_selection
from equipoise.privacy.exact_selection import flip, scaled_exponential, weight_bounds
from equipoise.privacy.noise import ExactNoise

PRECISE = Context(prec=80, Emin=-(10**6), Emax=10**6)


def exponential(gap: int, scale: float) -> Fraction:
    """exp(-gap/scale) to 80 digits."""
    ratio = Fraction(gap) / Fraction(scale)
    return Fraction(PRECISE.exp(PRECISE.divide(Decimal(-ratio.numerator), Decimal(ratio.denominator))))


@given(st.lists(st.integers(0, 2**55), min_size=1, max_size=50), st.floats(0.01, 1e15))
def test_bounds_are_above_the_weights_and_hardly(gaps: list[int], scale: float) -> None:
    found = weight_bounds(np.array(gaps, dtype=np.int64), scale, 40)
    for gap, bound in zip(gaps, found.tolist(), strict=True):
        if gap / scale > 10**5:
            assert bound == 1
            continue
        exact = exponential(gap, scale) * 2**40
        assert exact <= bound <= exact * (1 + Fraction(1, 2**31)) + 1


@given(st.fractions(0, 200), st.sampled_from([Fraction(1), Fraction(2**40, 3), Fraction(1, 7)]), st.integers(20, 60))
def test_enclosures_hold_the_bias(exponent: Fraction, factor: Fraction, digits: int) -> None:
    low, high = scaled_exponential(exponent, factor, digits)
    exact = factor * Fraction(PRECISE.exp(PRECISE.divide(Decimal(-exponent.numerator), Decimal(exponent.denominator))))
    tolerance = exact / 10**70
    assert low <= exact + tolerance
    assert exact - tolerance <= high
    assert high - low <= max(exact, 1) * Fraction(1, 10 ** (digits - 1))


class Script:
    """The bits of a number in [0, 1), 64 at a time."""

    def __init__(self, number: Fraction) -> None:
        self.number, self.calls = number, 0

    def __call__(self, bits: int) -> int:
        scaled = self.number * 2**bits
        self.number, self.calls = scaled - math.floor(scaled), self.calls + 1
        return math.floor(scaled)


def test_a_coin_asks_for_more_bits_until_it_is_sure() -> None:
    exact = exponential(3, 7.0)
    near = Fraction(1, 10**50)

    def enclose(digits: int) -> tuple[Fraction, Fraction]:
        return scaled_exponential(Fraction(3, 7), Fraction(1), digits)

    for offset, heads in ((-near, True), (near, False)):
        script = Script(exact + offset)
        assert flip(enclose, script) is heads
        assert script.calls >= 3  # 128 bits are 38 digits: not enough to tell them apart
    plain = Script(exact / 2)
    assert flip(enclose, plain)
    assert plain.calls == 1


def test_a_hopeless_candidate_costs_no_long_numbers() -> None:
    low, high = scaled_exponential(Fraction(10**12), Fraction(2**40), 20)
    assert (low, high) == (0, Fraction(1, 10**20))


def test_many_candidates_leave_room_for_their_sum() -> None:
    for num_candidates in (1, 4, 10**6, 10**9):
        bits = exact_selection.fixed_point_bits(num_candidates)
        assert num_candidates * (2**bits * (1 + 2**-31) + 1) < 2**63


def test_everything_selected_is_a_permutation() -> None:
    scores = np.array([5, -3, 10**6, 0, 0], dtype=np.int64)
    found = ExactNoise().largest(scores, 1.0, 5, "gumbel")
    assert sorted(found.tolist()) == [0, 1, 2, 3, 4]
    assert found[0] == 2  # but for probability e^-999995


@pytest.mark.parametrize("law", ["gumbel", "exponential"])
def test_far_better_wins_and_one_candidate_is_chosen(law: str) -> None:
    scores = np.zeros(1000, dtype=np.int64)
    scores[123] = 10**9
    assert ExactNoise().largest(scores, 1000.0, 1, law).tolist() == [123]
    assert ExactNoise().largest(np.array([7]), 1.0, 1, law).tolist() == [0]


def test_exponential_noise_selects_one_only() -> None:
    with pytest.raises(ValueError, match="one candidate"):
        ExactNoise().largest(np.zeros(3, dtype=np.int64), 1.0, 2, "exponential")


def test_enclosures_are_as_narrow_as_asked_for() -> None:
    for exponent in (Fraction(0), Fraction(1, 3), Fraction(9), Fraction(70), Fraction(87), Fraction(500)):
        for digits in (20, 40):
            low, high = scaled_exponential(exponent, Fraction(1), digits)
            assert 0 <= low <= high
            assert high - low <= Fraction(1, 10**digits)


def test_a_bound_above_the_weight_is_never_kept_without_a_coin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds of proposals lie above their weights, that of the best candidate too: each is kept with that share."""
    asked: list[tuple[Fraction, Fraction]] = []

    def tails(enclose: Callable[[int], tuple[Fraction, Fraction]]) -> bool:
        asked.append(enclose(40))
        return False

    monkeypatch.setattr(exact_selection, "flip", tails)
    keep = exact_selection._keep
    above = (1 << 40) + 257
    assert not keep(0, 2.0, above, 40)
    assert not keep(3, 2.0, 1 << 40, 40)
    assert keep(0, 2.0, 1 << 40, 40), "the only one that is certain"
    for (low, high), exact in zip(asked, (Fraction(1 << 40, above), exponential(3, 2.0)), strict=True):
        assert low <= exact <= high


def test_a_proposal_belongs_to_the_candidate_whose_share_it_falls_into(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers 0 .. W_0 - 1 are the first candidate's, the next W_1 the second's."""
    bounds = weight_bounds(np.array([0, 0]), 1.0, 40)
    monkeypatch.setattr(exact_selection, "flip", lambda enclose: True)
    for drawn, position in ((0, 0), (int(bounds[0]) - 1, 0), (int(bounds[0]), 1), (int(bounds.sum()) - 1, 1)):
        monkeypatch.setattr(exact_selection.secrets, "randbelow", lambda limit, drawn=drawn: drawn)
        assert exact_selection._propose_until_kept(np.array([5, 5]), 1.0) == position


def test_places_of_fixed_point_numbers() -> None:
    wanted = {1: 40, 2**20: 40, 2**21 - 1: 40, 2**21: 39, 2**22: 38, 2**30: 30}
    assert {number: exact_selection.fixed_point_bits(number) for number in wanted} == wanted


def test_coins_of_draws_are_tossed_against_their_share_of_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bias 2^40 exp(-1/2) / bound, which is .3033 for a bound of 2^41: heads below it, tails above."""
    for toss, heads in ((0.30, True), (0.31, False), (0.62, False)):
        word = int(toss * 2**64).to_bytes(8, "little")
        monkeypatch.setattr(draws.os, "urandom", lambda size, word=word: word)
        assert draws._keep(np.array([1]), 2.0, np.array([2**41]), 40).tolist() == [heads]


def test_a_toss_that_floats_cannot_settle_is_settled_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A toss at the bias itself: the exact coin is given exponent and factor as they are."""
    asked: list[tuple[int, Fraction, Fraction]] = []

    def exact(toss: int, exponent: Fraction, factor: Fraction) -> bool:
        asked.append((toss, exponent, factor))
        return True

    toss = int(math.exp(-0.5) / 2 * 2**64)
    monkeypatch.setattr(draws.os, "urandom", lambda size: toss.to_bytes(8, "little"))
    monkeypatch.setattr(draws, "_exact_flip", exact)
    assert draws._keep(np.array([1]), 2.0, np.array([2**41]), 40).tolist() == [True]
    assert asked == [(toss, Fraction(1, 2), Fraction(1, 2))]
