"""Selection has its closed form's law, and that of OpenDP's noisy maximum.

False-alarm probability of each comparison: 1e-10 (the threshold), so below 1e-9 for the file. The negative controls
are the same samples against half and twice the scale.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import opendp.prelude as dp
import pytest
from scipy import stats
from tests.noise import log_exponential_mechanism, log_permute_and_flip

from equipoise.privacy import exact_selection
from equipoise.privacy.noise import ExactNoise

THRESHOLD = 1e-10
SCALE = 1500.0
LAWS = [("gumbel", log_exponential_mechanism), ("exponential", log_permute_and_flip)]


def noisy_maximum(scale: float, num_selected: int, law: str) -> Callable[[list[int]], list[int]]:
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
    measure = dp.zero_concentrated_divergence() if law == "gumbel" else dp.max_divergence()
    made: Callable[[list[int]], list[int]] = dp.m.make_noisy_top_k(*space, measure, k=num_selected, scale=scale)
    return made


@pytest.mark.parametrize(("law", "log_probability"), LAWS)
@pytest.mark.parametrize("scores", [[0, 0, 0, 0, 2000], [-4000, -4000, -1000, -1, -1], [7, 1507, 3007, 4507, 6007]])
def test_frequencies(law: str, log_probability: Callable[..., float], scores: list[int]) -> None:
    given, runs, noise = np.array(scores, dtype=np.int64), 4000, ExactNoise()
    observed = np.bincount([noise.largest(given, SCALE, 1, law)[0] for _ in range(runs)], minlength=len(scores))

    def p_value(scale: float) -> float:
        expected = np.exp([log_probability(given, scale, i) for i in range(len(scores))])
        return float(stats.chisquare(observed, expected / expected.sum() * runs).pvalue)

    assert p_value(SCALE) > THRESHOLD
    assert p_value(SCALE / 2) < THRESHOLD
    assert p_value(2 * SCALE) < THRESHOLD


@pytest.mark.parametrize(("law", "num_selected"), [("gumbel", 1), ("gumbel", 3), ("exponential", 1)])
def test_the_law_is_that_of_noisy_maximum(law: str, num_selected: int) -> None:
    """Ordered outcomes of both samplers in one contingency table; against half the scale they differ."""
    scores, runs, noise = [0, 1500, 1500, 3200], 4000, ExactNoise()
    outcomes = {chosen: i for i, chosen in enumerate(itertools.permutations(range(4), num_selected))}

    def counts(draw: Callable[[list[int]], list[int]]) -> np.ndarray:
        return np.bincount([outcomes[tuple(draw(scores))] for _ in range(runs)], minlength=len(outcomes))

    ours = counts(lambda given: noise.largest(np.array(given), SCALE, num_selected, law).tolist())
    for scale, alike in ((SCALE, True), (SCALE / 2, False)):
        table = np.array([ours, counts(noisy_maximum(scale, num_selected, law))])
        p_value = float(stats.chi2_contingency(table[:, table.sum(axis=0) > 10]).pvalue)
        assert (p_value > THRESHOLD) is alike


def test_a_level_of_many_equal_candidates_is_left_evenly() -> None:
    """A thousand equal scores against one better by scale · log 1000: half each, and even among the equal ones."""
    size, runs, noise = 1000, 4000, ExactNoise()
    scores = np.zeros(size + 1, dtype=np.int64)
    scores[-1] = round(SCALE * np.log(size))
    chosen = np.array([noise.largest(scores, SCALE, 1, "gumbel")[0] for _ in range(runs)])
    best = int((chosen == size).sum())
    p = float(np.exp(log_exponential_mechanism(scores, SCALE, size)))
    assert stats.binomtest(best, runs, p).pvalue > THRESHOLD
    tenths = np.bincount(chosen[chosen < size] // 100, minlength=10)
    assert stats.chisquare(tenths).pvalue > THRESHOLD


def test_top_k_has_the_law_of_draws_without_replacement() -> None:
    """Pr[ordered pair (a, b)] = p_a p_b / (1 - p_a) for the one-shot top-2 (durfee2019practical, Lemma 4.2)."""
    scores, noise, runs = np.array([0, 1024, 3072, 2048]), ExactNoise(), 10_000
    p = np.exp([log_exponential_mechanism(scores, SCALE, i) for i in range(4)])
    observed = np.zeros((4, 4))
    for _ in range(runs):
        first, second = noise.largest(scores, SCALE, 2, "gumbel")
        observed[first, second] += 1
    cells = [(a, b) for a in range(4) for b in range(4) if a != b]
    expected = np.array([p[a] * p[b] / (1 - p[a]) for a, b in cells]) * runs
    found = np.array([observed[cell] for cell in cells])
    assert observed.trace() == 0
    assert stats.chisquare(found, expected * runs / expected.sum()).pvalue > THRESHOLD
    wrong = np.array([p[a] * p[b] for a, b in cells])
    assert stats.chisquare(found, wrong / wrong.sum() * runs).pvalue < THRESHOLD


@pytest.mark.parametrize(("law", "log_probability"), LAWS)
def test_bounds_that_are_far_too_large_cost_time_and_change_nothing(
    law: str, log_probability: Callable[..., float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the bounds overshoot is rejected again: the law rests on no float. Unrejected, half would be wrong."""
    given, runs, noise, honest = np.array([0, 1500, 1500, 3200]), 4000, ExactNoise(), exact_selection.weight_bounds

    def wasteful(gaps: np.ndarray, scale: float, bits: int) -> np.ndarray:
        return np.minimum(honest(gaps, scale, bits) * np.where(np.arange(len(gaps)) == 0, 8, 1), 1 << bits)

    monkeypatch.setattr(exact_selection, "weight_bounds", wasteful)
    monkeypatch.setattr(exact_selection, "fixed_point_bits", lambda number: 30)
    observed = np.bincount([noise.largest(given, SCALE, 1, law)[0] for _ in range(runs)], minlength=4)
    expected = np.exp([log_probability(given, SCALE, i) for i in range(4)])
    assert stats.chisquare(observed, expected / expected.sum() * runs).pvalue > THRESHOLD
    if law == "gumbel":
        believed = wasteful(given.max() - given, SCALE, 30)
        assert stats.chisquare(observed, believed / believed.sum() * runs).pvalue < THRESHOLD
