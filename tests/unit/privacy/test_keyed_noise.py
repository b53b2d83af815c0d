"""Bits of a stream are taken in order, each once; a label has its noise, and another label another."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.analysts import Charged
from tests.games import bits

from equipoise.errors import LedgerError, SettingError
from equipoise.privacy import noisy_stop
from equipoise.privacy.conditional import WindowTest, _root, measure_paid
from equipoise.privacy.events import ConditionalRelease, Gaussian, Group
from equipoise.privacy.keyed_noise import KeyedNoise, _Bits, new_secret
from equipoise.privacy.noisy_stop import NoisyLimit

SECRET = bytes(range(32))
PAID = ConditionalRelease(Fraction(1, 10), 5, Fraction(1, 10**6))


def test_bits_are_taken_in_order_and_each_once() -> None:
    blocks = [int.from_bytes(np.random.default_rng(i).bytes(64), "big") for i in range(8)]
    stream = "".join(f"{block:0512b}" for block in blocks)
    taker, at = _Bits(iter(blocks)), 0
    for count in (5, 1, 510, 3, 700, 64, 512, 1024, 1):
        assert taker.take(count) == int(stream[at : at + count], 2)
        at += count


def test_numbers_below_a_limit_are_the_first_that_fit() -> None:
    block = int("1" * 3 + "101" + "011" + "0" * 503, 2)
    assert _Bits(iter([block])).below(6) == 5
    taker = _Bits(iter([block]))
    assert [taker.below(4), taker.below(8), taker.below(1)] == [3, 6, 0]


def test_noise_belongs_to_label_and_secret() -> None:
    noise, scale = KeyedNoise(SECRET), Fraction(10**9)
    labels = [("ada", 1), ("ada", 2), ("bob", 1), ("ada", "1"), ("ada1",), ("ada", 1, "")]
    found = [noise.laplace(label, scale) for label in labels]
    assert len(set(found)) == len(labels)
    assert found == [KeyedNoise(SECRET).laplace(label, scale) for label in labels]
    assert found[0] != KeyedNoise(SECRET[::-1]).laplace(labels[0], scale)
    assert len(new_secret()) == 32
    assert new_secret() != new_secret()
    with pytest.raises(ValueError, match="32 bytes"):
        KeyedNoise(b"short")


def test_each_test_has_the_noise_of_its_label_on_its_count() -> None:
    truth, noise = bits(3, 10).truth(), KeyedNoise(SECRET)
    tests = WindowTest(Charged(PAID), noise)
    assert (tests.scale, tests.max_hits) == (10, 5)
    for label in (("ada", 1), ("ada", 2)):
        noisy = 7 + noise.laplace(label, Fraction(10))
        count = truth.take(np.array([0]))
        assert tests.test(count, label, low=noisy + 1, high=noisy + 9) == noisy
        assert tests.test(count, label, low=noisy - 9, high=noisy - 1) == noisy
        assert tests.test(count, label, low=noisy, high=noisy) is None
        assert tests.test(count, label, low=noisy - 9, high=noisy + 9) is None
    with pytest.raises(SettingError, match="one count"):
        tests.test(truth, ("ada", 3), low=0, high=1)
    with pytest.raises(SettingError, match="sensitivity 1"):
        tests.test(truth.distance(np.zeros(2)).take(np.array([0])), ("ada", 3), low=0, high=1)


def test_tests_and_measurements_are_paid_for_once() -> None:
    for charged in ((), (PAID, PAID)):
        with pytest.raises(LedgerError, match="not been charged"):
            WindowTest(Charged(*charged), KeyedNoise(SECRET))
    paid, truth = Gaussian(Fraction(2), Fraction(1, 10**6)), bits(3, 10).truth()
    for event in (paid, Group(paid, 3)):
        assert measure_paid(Charged(event), truth).tolist() == [7, 3]
    less = Gaussian(Fraction(1), Fraction(1, 10**6))
    for charged in ((), (paid, paid), (less,)):
        with pytest.raises(LedgerError, match="not been charged"):
            measure_paid(Charged(*charged), truth)
    assert measure_paid(Charged(less), truth.take(np.array([1]))).tolist() == [3]


def test_no_block_of_a_label_comes_twice() -> None:
    blocks = KeyedNoise(SECRET)._blocks(b"label")
    assert len({next(blocks) for _ in range(6)}) == 6


def test_a_noisy_limit_has_noise_of_twice_one_over_epsilon() -> None:
    limit = NoisyLimit(Fraction(1, 2), 5, 3)
    assert limit.scale == 4
    assert limit.reached(8, 10**9), "limit and margin: whatever the threshold"
    assert not limit.reached(7, 10**9)
    assert limit.reached(7, -(10**9))


def test_the_noise_of_a_label_is_for_ever() -> None:
    """A session that an earlier version began must find the noise that it had: these values never change."""
    noise = KeyedNoise(SECRET)
    found = [noise.laplace(("ada", number), Fraction(50)) for number in range(8)]
    assert found == [-40, -285, -33, -31, -68, 51, -15, -151]
    assert noise.laplace(("ada", "worst"), Fraction(10**30)) == 1255169447000898709151301612711


def test_a_root_that_is_exact_is_taken_as_it_is_and_others_rounded_up() -> None:
    assert (_root(Fraction(9)), _root(Fraction(25, 4))) == (3.0, 2.5)
    for variance in (Fraction(2), Fraction(1, 3), Fraction(10**20 + 1)):
        root = _root(variance)
        assert Fraction(root) ** 2 >= variance > Fraction(math.nextafter(root, 0)) ** 2


def test_a_limit_is_reached_where_count_and_noise_are_at_the_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = NoisyLimit(Fraction(1, 2), 50, 30)
    for noise in (0, 3, -4):
        monkeypatch.setattr(noisy_stop, "fresh_laplace", lambda scale, noise=noise: noise)
        assert limit.threshold() == 50 + noise
        assert limit.reached(20 - noise, 20)
        assert not limit.reached(19 - noise, 20)
