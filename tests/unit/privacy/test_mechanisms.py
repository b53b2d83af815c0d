from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from tests.games import bits, pairs

from equipoise.errors import SettingError
from equipoise.privacy.events import ConditionalRelease, Draws, Event, Exponential, Gaussian, Laplace, PermuteAndFlip
from equipoise.privacy.mechanisms import ConditionalTest, draw, float_above, measure, measure_pure, select, select_pure
from equipoise.privacy.noise import ExactNoise, Noise
from equipoise.privacy.private import GRID, Private, _Alike


@dataclass
class Recorder:
    """Notes scales and debits, and checks that the debit came first."""

    debits: list[Event] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)
    laws: list[str] = field(default_factory=list)

    @property
    def noise(self) -> Noise:
        return self  # type: ignore[return-value]

    def debit(self, event: Event) -> None:
        self.debits.append(event)

    def _note(self, scale: float) -> None:
        assert self.debits, "looked before paying"
        self.scales.append(scale)

    def gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        self._note(scale)
        return values

    laplace = gaussian

    def largest(self, scores: np.ndarray, scale: float, num_selected: int, law: str) -> np.ndarray:
        self._note(scale)
        self.laws.append(law)
        return np.arange(num_selected)

    def draws(self, scores: np.ndarray, scale: float, num_draws: int) -> np.ndarray:
        self._note(scale)
        return np.zeros(num_draws, dtype=np.int64)


def test_measure_charges_the_squared_sensitivity() -> None:
    game, payer = pairs(), Recorder()
    measure(payer, game.truth().take(np.array([3])), stddev=10.0)
    measure(payer, game.truth().take(np.arange(2, 8)), stddev=10.0)  # a whole marginal: sqrt(2), not 1
    assert payer.debits == [Gaussian(Fraction(1), Fraction(100)), Gaussian(Fraction(2), Fraction(100))]
    assert payer.scales == [10.0, 10.0]


def test_measure_pure_scales_with_l1() -> None:
    game, payer = pairs(), Recorder()
    measure_pure(payer, game.truth().take(np.arange(2, 8)), epsilon=Fraction(1, 10))
    assert payer.debits == [Laplace(Fraction(2), Fraction(20))]
    assert payer.scales == [20.0]


def test_selection_scale_is_twice_the_sensitivity_over_epsilon() -> None:
    game, payer = pairs(), Recorder()
    scores = game.truth().distance(np.zeros(8))
    select(payer, scores, epsilon=Fraction(1, 50))
    select(payer, scores, epsilon=Fraction(1, 50), num_selected=3)
    select_pure(payer, scores, epsilon=Fraction(1, 50))
    assert payer.debits == [
        Exponential(Fraction(1, 50)),
        Exponential(Fraction(1, 50), 3),
        PermuteAndFlip(Fraction(1, 50)),
    ]
    assert payer.scales == [100.0 * GRID] * 3
    assert payer.laws == ["gumbel", "gumbel", "exponential"]


def test_selection_returns_ids_of_the_workload() -> None:
    game, payer = pairs(), Recorder()
    scores = game.truth().distance(np.zeros(8)).take(np.array([6, 4, 2]))
    assert select(payer, scores, epsilon=Fraction(1), num_selected=2).tolist() == [6, 4]


def test_scores_cannot_be_measured_and_too_many_cannot_be_selected() -> None:
    game, payer = pairs(), Recorder()
    scores = game.truth().distance(np.zeros(8))
    with pytest.raises(SettingError, match="whole counts"):
        measure(payer, scores, stddev=1.0)
    with pytest.raises(SettingError, match="cannot select"):
        select(payer, scores, epsilon=Fraction(1), num_selected=9)
    assert payer.debits == []


def test_scales_round_up() -> None:
    for value in (Fraction(1, 3), Fraction(10**30 + 1, 7), Fraction(2)):
        assert Fraction(float_above(value)) >= value


@dataclass
class Exact(Recorder):
    @property
    def noise(self) -> Noise:
        return ExactNoise()


def test_conditional_release_hits_with_the_laplace_tail_and_independently() -> None:
    """Hit probability by its closed form; two queries' bits independent. False-alarm probability 1e-10 each."""
    epsilon, threshold, runs = Fraction(1, 2), 12, 6000
    game = bits(ones=12, num_rows=20)  # x = 0 has 8 records, x = 1 has 12
    truth, payer = game.truth(), Exact()
    test = ConditionalTest(payer, epsilon=epsilon, max_hits=2 * runs + 1, delta=Fraction(1, 10**9))
    table = np.zeros((2, 2))
    for _ in range(runs):
        zero, one = (test.test(truth.take(np.array([i])), threshold=threshold) is not None for i in (0, 1))
        table[int(zero), int(one)] += 1
    ratio = math.exp(-epsilon)
    for count, hits in ((8, table[1].sum()), (12, table[:, 1].sum())):
        # Pr[noise >= k] = ratio^k / (1 + ratio) for k >= 1.
        p = ratio ** (threshold + 1 - count) / (1 + ratio)
        assert stats.binomtest(int(hits), runs, p).pvalue > 1e-10
        assert stats.binomtest(int(hits), runs, min(1.0, 2 * p)).pvalue < 1e-10
    assert stats.chi2_contingency(table).pvalue > 1e-10
    assert payer.debits == [ConditionalRelease(epsilon, 2 * runs + 1, Fraction(1, 10**9))]


def test_conditional_release_stops_after_its_hits() -> None:
    payer = Exact()
    truth = bits(ones=20, num_rows=20).truth()
    test = ConditionalTest(payer, epsilon=Fraction(5), max_hits=2, delta=Fraction(1, 10**6))
    assert payer.debits == [ConditionalRelease(Fraction(5), 2, Fraction(1, 10**6))]
    one = truth.take(np.array([1]))
    assert [test.test(one, threshold=-1000) is not None for _ in range(2)] == [True, True]
    with pytest.raises(SettingError, match="all the hits"):
        test.test(one, threshold=-1000)
    with pytest.raises(SettingError, match="one count"):
        ConditionalTest(payer, epsilon=Fraction(1), max_hits=1, delta=Fraction(1, 9)).test(truth, threshold=0)


def test_whole_counts_are_selected_and_drawn_at_twice_one_over_epsilon() -> None:
    """Counts themselves as scores: their sensitivity is 1, and not made larger or smaller on the way."""
    game, payer = pairs(), Recorder()
    select(payer, game.truth(), epsilon=Fraction(1, 50))
    drawn = draw(payer, game.truth().take(np.array([5, 3])), epsilon=Fraction(1, 50), num_draws=3)
    draw(payer, game.truth().distance(np.zeros(8)), epsilon=Fraction(1, 50), num_draws=2)
    assert payer.debits == [Exponential(Fraction(1, 50)), Draws(Fraction(1, 50), 3), Draws(Fraction(1, 50), 2)]
    assert payer.scales == [100.0, 100.0, 100.0 * GRID]
    assert drawn.tolist() == [5, 5, 5]


def test_a_count_that_moves_by_two_is_not_tested() -> None:
    wide = Private(np.array([7]), _Alike(2, 1))
    with pytest.raises(SettingError, match="sensitivity 1"):
        ConditionalTest(Exact(), epsilon=Fraction(1), max_hits=1, delta=Fraction(1, 9)).test(wide, threshold=0)
