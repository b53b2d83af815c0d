"""Every sampler that protects data: its law at 100,000 samples, and that nobody can choose what it draws.

False-alarm probability of each comparison: 1e-10 (the threshold). A control at 0.7 or 1.3 times the scale has a
chi-square statistic of over 1,000 in the mean, so it passes unnoticed with a probability below 1e-50.
"""

from __future__ import annotations

import os
import random
import secrets
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.noise import log_exponential_mechanism, log_laplace_pmf, log_permute_and_flip

from equipoise.privacy import capped, prsma, random_runs
from equipoise.privacy.keyed_noise import KeyedNoise, fresh_laplace, new_secret
from equipoise.privacy.noise import ExactNoise

THRESHOLD = 1e-10
NUM_SAMPLES = 100_000
SCORES = np.array([0, 900, 2100, 1500], dtype=np.int64)
ZEROS = np.zeros(200, dtype=np.int64)
LEVEL = np.zeros(1000, dtype=np.int64)

OURS: dict[str, Callable[[], Any]] = {
    "exponential mechanism": lambda: [int(ExactNoise().largest(LEVEL, 5.0, 1, "gumbel")[0]) for _ in range(20)],
    "top-k": lambda: ExactNoise().largest(LEVEL, 5.0, 20, "gumbel").tolist(),
    "permute-and-flip": lambda: [int(ExactNoise().largest(LEVEL, 5.0, 1, "exponential")[0]) for _ in range(20)],
    "draws": lambda: ExactNoise().draws(LEVEL, 5.0, 20).tolist(),
    "coins": lambda: ExactNoise().coins(np.full(200, 7), 10.0).tolist(),
    "fresh Laplace": lambda: [fresh_laplace(Fraction(1000)) for _ in range(20)],
    "a session's secret": lambda: new_secret().hex(),
    "capped weights": lambda: [capped.draw_proportional(np.ones(1000)) for _ in range(20)],
    "number of runs": lambda: [random_runs.draw_num_runs("geometric", Fraction(1, 500)) for _ in range(20)],
    "blocks of PRSMA": lambda: prsma._blocks(200, 10, 20).tolist(),
}
OPENDPS: dict[str, Callable[[], Any]] = {
    "Gaussian": lambda: ExactNoise().gaussian(ZEROS, 1000.0).tolist(),
    "Laplace": lambda: ExactNoise().laplace(ZEROS, 1000.0).tolist(),
}
SEEDS = ("SEED", "PYTHONHASHSEED", "OPENDP_SEED", "EQUIPOISE_SEED", "NUMPY_SEED", "RANDOM_SEED", "RUST_SEED")


@pytest.mark.parametrize("name", [*OURS, *OPENDPS])
def test_no_seed_repeats_a_draw(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal with probability below 1e-40: 20 draws of at least a hundred likely values, or 200 coins of bias 1/2."""
    found = []
    for _ in range(2):
        for variable in SEEDS:
            monkeypatch.setenv(variable, "0")
        np.random.seed(0)  # noqa: NPY002  the point: it must not matter
        random.seed(0)
        found.append((OURS | OPENDPS)[name]())
    assert found[0] != found[1]


def test_no_environment_repeats_a_process() -> None:
    """The same program, started twice with the same seeds in its environment."""
    program = "from tests.statistics.test_every_sampler import OPENDPS, OURS\n"
    program += "for draw in (OURS | OPENDPS).values(): print(draw())"
    path = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), *sys.path])
    environment = {**os.environ, **dict.fromkeys(SEEDS, "0"), "PYTHONPATH": path}
    runs = [
        subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    one, two = (run.stdout.splitlines() for run in runs)
    assert len(one) == len(two) == len(OURS) + len(OPENDPS)
    assert not any(here == there for here, there in zip(one, two, strict=True))


@pytest.mark.parametrize("name", OURS)
def test_every_bit_is_the_operating_systems(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the system's generator held still the draws stand still too: there is no other source."""

    def still() -> Any:
        stream = random.Random(1)
        with monkeypatch.context() as patch:
            patch.setattr(os, "urandom", stream.randbytes)
            patch.setattr(secrets, "randbelow", stream.randrange)
            patch.setattr(secrets, "randbits", stream.getrandbits)
            patch.setattr(secrets, "token_bytes", stream.randbytes)
            return _with_defaults(name, stream)

    assert still() == still()


def _with_defaults(name: str, stream: random.Random) -> Any:
    """`draw_num_runs` has its source as a default, taken when it was defined."""
    if name != "number of runs":
        return OURS[name]()
    return [random_runs.draw_num_runs("geometric", Fraction(1, 500), stream.randrange) for _ in range(20)]


def _p_value(observed: np.ndarray, law: np.ndarray) -> float:
    return float(stats.chisquare(observed, law / law.sum() * observed.sum()).pvalue)


def _fits(p_value: Callable[[float], float]) -> None:
    assert p_value(1.0) > THRESHOLD
    assert p_value(0.7) < THRESHOLD
    assert p_value(1.3) < THRESHOLD


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "log_probability"), [("gumbel", log_exponential_mechanism), ("exponential", log_permute_and_flip)]
)
def test_a_hundred_thousand_selections(law: Any, log_probability: Callable[..., float]) -> None:
    noise = ExactNoise()
    chosen = [noise.largest(SCORES, 1000.0, 1, law)[0] for _ in range(NUM_SAMPLES)]
    observed = np.bincount(chosen, minlength=len(SCORES))

    def p_value(share: float) -> float:
        return _p_value(observed, np.exp([log_probability(SCORES, share * 1000.0, i) for i in range(len(SCORES))]))

    _fits(p_value)


@pytest.mark.slow
@pytest.mark.parametrize("source", ["keyed", "fresh"])
def test_a_hundred_thousand_laplace_noises(source: str) -> None:
    scale, noise, edge = Fraction(7, 2), KeyedNoise(new_secret()), 20
    drawn = [noise.laplace(("q", i), scale) if source == "keyed" else fresh_laplace(scale) for i in range(NUM_SAMPLES)]
    observed = np.bincount(np.clip(drawn, -edge, edge) + edge, minlength=2 * edge + 1)

    def p_value(share: float) -> float:
        law = np.exp([log_laplace_pmf(k, share * 3.5) for k in range(-edge, edge + 1)])
        law[[0, -1]] += (1 - law.sum()) / 2
        return _p_value(observed, law)

    _fits(p_value)


def test_a_hundred_thousand_draws_and_coins() -> None:
    observed = np.bincount(ExactNoise().draws(SCORES, 1000.0, NUM_SAMPLES), minlength=len(SCORES))
    heads = int(ExactNoise().coins(np.full(NUM_SAMPLES, 1000), 1000.0).sum())

    def draws(share: float) -> float:
        law = [log_exponential_mechanism(SCORES, share * 1000.0, i) for i in range(len(SCORES))]
        return _p_value(observed, np.exp(law))

    def coins(share: float) -> float:
        return float(stats.binomtest(heads, NUM_SAMPLES, float(np.exp(-1 / share))).pvalue)

    _fits(draws)
    _fits(coins)


@pytest.mark.slow
@pytest.mark.parametrize("law", random_runs.LAWS)
def test_a_hundred_thousand_numbers_of_runs(law: str) -> None:
    """Parameter g; the controls have 0.7 g and 1.3 g."""
    edge = 40
    drawn = [random_runs.draw_num_runs(law, Fraction(1, 10)) for _ in range(NUM_SAMPLES)]
    observed = np.bincount(np.minimum(drawn, edge), minlength=edge + 1)[1:]

    def p_value(share: float) -> float:
        numbers = np.arange(1, 4000)
        chances = (1 - share / 10) ** numbers / (numbers if law == "logarithmic" else 1)
        chances /= chances.sum()
        return _p_value(observed, np.append(chances[: edge - 1], chances[edge - 1 :].sum()))

    _fits(p_value)
