"""The noise is what it claims: 100,000 samples pass at the claimed scale and fail at 0.7 and 1.3 times it.

False-alarm probability of each test: 1e-10 (the threshold), so about 1e-9 for the file.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from tests.noise import log_gaussian_pmf, log_laplace_pmf

from equipoise.privacy.noise import ExactNoise

NUM_SAMPLES = 100_000
THRESHOLD = 1e-10
SCALE = 4.0


def fits(samples: np.ndarray, log_pmf: Callable[[int, float], float], scale: float) -> float:
    """p-value of a chi-square test against the law, tails pooled so that every expected count is at least 20."""
    reach = max(int(np.abs(samples).max()), int(8 * scale))
    values = np.arange(-reach, reach + 1)
    expected = np.exp([log_pmf(int(v), scale) for v in values]) * len(samples)
    observed = np.bincount(samples + reach, minlength=len(values)).astype(float)
    inner = np.flatnonzero(expected >= 20)
    low, high = inner[0], inner[-1]
    pooled_expected = np.concatenate([[expected[:low].sum()], expected[low : high + 1], [expected[high + 1 :].sum()]])
    pooled_observed = np.concatenate([[observed[:low].sum()], observed[low : high + 1], [observed[high + 1 :].sum()]])
    keep = pooled_expected > 5
    statistic = float(((pooled_observed - pooled_expected)[keep] ** 2 / pooled_expected[keep]).sum())
    return float(stats.chi2.sf(statistic, keep.sum() - 1))


@pytest.mark.parametrize(("draw", "log_pmf"), [("gaussian", log_gaussian_pmf), ("laplace", log_laplace_pmf)])
def test_measurement_noise(draw: str, log_pmf: Callable[[int, float], float]) -> None:
    samples = getattr(ExactNoise(), draw)(np.zeros(NUM_SAMPLES, dtype=np.int64), SCALE)
    assert fits(samples, log_pmf, SCALE) > THRESHOLD
    assert fits(samples, log_pmf, 0.7 * SCALE) < THRESHOLD
    assert fits(samples, log_pmf, 1.3 * SCALE) < THRESHOLD


@pytest.mark.parametrize("draw", ["gaussian", "laplace"])
def test_noise_is_centred_on_each_value(draw: str) -> None:
    centres = np.repeat(np.array([-(10**12), 0, 10**12], dtype=np.int64), 2000)
    offsets = getattr(ExactNoise(), draw)(centres, SCALE) - centres
    for part in offsets.reshape(3, -1):
        # Mean of 2,000 draws of standard deviation below 6: eight standard errors.
        assert abs(part.mean()) < 8 * 6 / np.sqrt(2000)


def test_noise_cannot_be_seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two fresh sources never repeat each other, whatever seeds the environment or numpy is given."""
    draws = []
    for _ in range(2):
        for name in ("SEED", "PYTHONHASHSEED", "OPENDP_SEED", "EQUIPOISE_SEED"):
            monkeypatch.setenv(name, "0")
        np.random.seed(0)  # noqa: NPY002  the point: it must not matter
        draws.append(ExactNoise().gaussian(np.zeros(64, dtype=np.int64), 1000.0))
    # Equal with probability below (1/2500)^64.
    assert not np.array_equal(draws[0], draws[1])
