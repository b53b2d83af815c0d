"""Audits of noise on separators: the parity pair in closed form, a whole class by enumeration, the real mechanism.

The parity pair: one record, all ones, with weight 1 or -1 (its label changed). Without it the best parity z has z_i = 1
where the noise is negative, and is even or odd with equal chance; the record pulls it to even, or to odd. So the event
"even" depends on min |η_i| alone, whatever the number m of separators: the case in which RSPM needs all its noise.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from tests.noise import ScriptedNoise, SeededNoise, log_gaussian_pmf

from equipoise.audit.book import MemoryBook
from equipoise.oracles.classes.conjunctions import Conjunctions
from equipoise.oracles.classes.decision_lists import DecisionLists
from equipoise.oracles.classes.minimisers import ByEnumeration
from equipoise.oracles.classes.parities import Parities
from equipoise.oracles.classes.query_class import QueryClass
from equipoise.privacy.accountant import Cost
from equipoise.privacy.enumerated import choose_enumerated
from equipoise.privacy.gate import Gate
from equipoise.privacy.private_points import PrivatePoints
from equipoise.privacy.rspm import gaussian_event, gaussian_rspm, laplace_event, rspm
from equipoise.privacy.separators import gaussian_stddev, shift

PLENTY = Cost(Fraction(10**9), None, Fraction(10), conditional_rho=Fraction(10**9))


def chances(stay: float) -> tuple[float, float]:
    """Pr[even] when the record pulls to even, and when to odd; `stay`: that min |η_i| is too large to be pulled."""
    return 1 - stay / 2, stay / 2


def laplace_stays(scale: float, num_separators: int, pull: int) -> float:
    """Pr[min |η_i| > pull] for discrete Laplace noise: the oracle breaks ties, and uses its gap, as it harms most."""
    return (2 * math.exp(-(pull + 1) / scale) / (1 + math.exp(-1 / scale))) ** num_separators


def parity_loss(scale: float, num_separators: int, *, grid: int, gap: int = 0) -> float:
    one, other = chances(laplace_stays(scale, num_separators, grid + gap))
    return math.log(one / other)


@pytest.mark.parametrize("num_separators", [1, 2, 10, 400])
@pytest.mark.parametrize(("grid", "gap"), [(1, 0), (64, 0), (64, 1), (64, 64), (64, 1000)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_parity_pair_is_told_apart_by_epsilon_at_most(
    num_separators: int, grid: int, gap: int, epsilon: float
) -> None:
    scale = shift(grid=grid, gap=gap) * num_separators / epsilon
    assert parity_loss(scale, num_separators, grid=grid, gap=gap) <= epsilon


def test_the_parity_pair_has_the_closed_form_whatever_the_number_of_separators() -> None:
    """1 - exp(-epsilon/2)/2 in the limit of a fine grid: log-ratio .832 at epsilon 1."""
    for num_separators in (1, 5, 50):
        scale = 2 * 10**6 * num_separators
        even, _ = chances(laplace_stays(scale, num_separators, 10**6))
        assert even == pytest.approx(1 - math.exp(-0.5) / 2, abs=1e-4)
        assert parity_loss(scale, num_separators, grid=10**6) == pytest.approx(0.832, abs=1e-3)


def test_less_laplace_noise_is_caught() -> None:
    """Lap(2/epsilon), without m; half the scale; a gap of the solver that the shift does not cover."""
    assert parity_loss(2 * 64 / 1.0, 4, grid=64) > 1
    assert parity_loss(shift(grid=64, gap=0) * 10 / 2.0, 10, grid=64) > 1
    assert parity_loss(shift(grid=64, gap=0) * 10 / 1.0, 10, grid=64, gap=64) > 1
    # Nor is RSPM epsilon²/(2m)-zCDP, as m noises of scale 2m/epsilon would be: at m = 10 its KL is above that.
    even, odd = chances(laplace_stays(shift(grid=64, gap=0) * 10.0, 10, 64))
    divergence = even * math.log(even / odd) + odd * math.log(odd / even)
    assert 1 / (2 * 10) < divergence <= 1 / 2


def gaussian_loss(stddev: float, num_separators: int, delta: float) -> float:
    """The least epsilon at which "even" is consistent with (epsilon, delta), for continuous noise, in records."""
    one, other = chances((1 - math.erf(1 / (stddev * math.sqrt(2)))) ** num_separators)
    return math.log((one - delta) / other)


@pytest.mark.parametrize(
    ("factor", "num_separators", "golden"), [(1, 100, 2.80), (1, 1600, 9.3), (3.5, 400, 1.76), (3.5, 10**4, 6.8)]
)
def test_the_published_gaussian_scale_is_caught(factor: float, num_separators: int, golden: float) -> None:
    published = factor * math.sqrt(num_separators * math.log(1e6))
    assert gaussian_loss(published, num_separators, 1e-6) == pytest.approx(golden, rel=0.01)
    sound = gaussian_stddev(shift=129, num_separators=num_separators, epsilon=1.0, delta=1e-6) / 64
    assert gaussian_loss(sound, num_separators, 1e-6) <= 1 < gaussian_loss(published, num_separators, 1e-6)


@pytest.mark.parametrize("num_separators", [1, 10, 50])
def test_discrete_gaussian_noise_at_the_sound_scale_passes(num_separators: int) -> None:
    """On a grid of one unit a record, where the discreteness is worst, with exact probabilities."""
    stddev = gaussian_stddev(shift=3, num_separators=num_separators, epsilon=1.0, delta=1e-6)
    for factor, fails in ((1.0, False), (0.3, True)):
        inner = sum(math.exp(log_gaussian_pmf(k, stddev * factor)) for k in (-1, 0, 1))
        one, other = chances((1 - inner) ** num_separators)
        # A single noise is charged for more than this event can show, so the control is for several.
        assert (one > math.e * other + 1e-6) == (fails and num_separators > 1)


def laws(query_class: QueryClass, scale: float, reach: int) -> list[np.ndarray]:
    """Pr of every query on all tables of one record of weight 1 or -1, noise on a grid of one unit a record."""
    separators, every = query_class.separators(), query_class.every()
    axes = np.arange(-reach, reach + 1)
    noise = np.stack(np.meshgrid(*[axes] * len(separators), indexing="ij"), axis=-1).reshape(-1, len(separators))
    weights = np.exp(-np.abs(axes) / scale)
    weights = weights / weights.sum()
    chance = np.prod(weights[noise + reach], axis=1)
    values = noise @ query_class.answers(every, separators).astype(np.int64).T
    found = []
    for bits in itertools.product((0, 1), repeat=query_class.num_features):
        point = query_class.points(np.array([bits], dtype=np.uint8))
        pull = query_class.answers(every, point)[:, 0].astype(np.int64)
        for weight in (1, -1):
            best = np.argmin(values + weight * pull, axis=1)
            found.append(np.bincount(best, chance, len(every)))
    return found


@pytest.mark.parametrize("query_class", [Conjunctions(2), Parities(2), DecisionLists(1)], ids=str)
def test_every_query_of_a_class_on_every_pair_of_tables(query_class: QueryClass) -> None:
    """The whole law by enumeration of the noise, cut off at probability 1e-9; ties go to the first query."""
    num_separators, epsilon = len(query_class.separators()), 1.0
    for factor, fails in ((1.0, False), (0.25, True)):
        scale = shift(grid=1, gap=0) * num_separators / epsilon * factor
        found = laws(query_class, scale, math.ceil(23 * scale))
        worst = max(float(np.abs(np.log(a / b)).max()) for a, b in itertools.combinations(found, 2))
        assert (worst > epsilon) == fails


def even_share(weight: int, num_runs: int, seed: int, delta: Fraction | None = None) -> float:
    """How often the real mechanism, Gaussian with a delta, outputs an even parity."""
    noise, query_class = SeededNoise(seed), Parities(4)
    points = PrivatePoints(np.ones((1, 4)), [weight])
    even = 0
    for _ in range(num_runs):
        gate, settings = Gate(MemoryBook(PLENTY), noise=noise), {"epsilon": Fraction(1), "minimiser": ByEnumeration()}
        if delta is None:
            chosen = rspm(gate, points, query_class, **settings)
        else:
            chosen = gaussian_rspm(gate, points, query_class, delta=delta, **settings)
        even += int(chosen.parameters.sum()) % 2
    return 1 - even / num_runs


@pytest.mark.parametrize("num_runs", [3000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_the_real_mechanism_has_the_closed_form(num_runs: int) -> None:
    """A share is off by more than 6.3 standard deviations with probability below 1e-9."""
    event = laplace_event(Parities(4), epsilon=Fraction(1))
    stays = laplace_stays(float(event.scale), 4, 64)
    for weight, expected in zip((1, -1), chances(stays), strict=True):
        assert even_share(weight, num_runs, seed=weight + 1) == pytest.approx(
            expected, abs=6.3 * 0.5 / math.sqrt(num_runs)
        )
    assert even_share(0, num_runs, seed=5) == pytest.approx(0.5, abs=6.3 * 0.5 / math.sqrt(num_runs))


def test_the_real_gaussian_mechanism_has_the_closed_form() -> None:
    """2,000 runs a world, as above."""
    delta = Fraction(1, 1000)
    event = gaussian_event(Parities(4), epsilon=Fraction(1), delta=delta)
    stays = math.erfc(64.5 / (float(event.stddev) * math.sqrt(2))) ** 4
    for weight, expected in zip((1, -1), chances(stays), strict=True):
        found = even_share(weight, 2000, seed=weight + 1, delta=delta)
        assert found == pytest.approx(expected, abs=6.3 * 0.5 / math.sqrt(2000))


def test_without_records_the_answers_on_the_separators_are_fair_coins() -> None:
    """2,000 runs; a noise is exactly 0, and the bit not fair, with probability 1/1000."""
    noise, runs = SeededNoise(3), []
    points = PrivatePoints(np.ones((1, 4)), [0])
    for _ in range(2000):
        gate = Gate(MemoryBook(PLENTY), noise=noise)
        runs.append(rspm(gate, points, Parities(4), epsilon=Fraction(1), minimiser=ByEnumeration()).parameters)
    signs = 1 - 2 * np.array(runs)
    limit = 6.5 / math.sqrt(2000)
    assert np.abs(signs.mean(axis=0)).max() < limit
    assert np.abs(np.triu(signs.T @ signs / 2000, 1)).max() < limit


def test_the_exponential_mechanism_on_a_class() -> None:
    """Every query, every pair of tables of two records with labels: the exact law, and half the noise caught."""
    query_class, epsilon = Conjunctions(2), Fraction(1)
    worlds = list(itertools.product(itertools.product((0, 1), repeat=3), repeat=2))
    for sabotage, fails in ((1.0, False), (0.45, True)):
        found = {}
        for world in worlds:
            points = PrivatePoints.labelled([record[:2] for record in world], [record[2] for record in world])
            law = []
            for place in range(query_class.num_queries):
                noise = ScriptedNoise([place], sabotage)
                choose_enumerated(Gate(MemoryBook(PLENTY), noise=noise), points, query_class, epsilon=epsilon)
                law.append(noise.log_probability)
            found[world] = np.array(law)
            assert np.exp(law).sum() == pytest.approx(1)
        worst = max(
            float(np.abs(found[a] - found[b]).max())
            for a, b in itertools.combinations(worlds, 2)
            if (a[0] == b[0]) != (a[1] == b[1])
        )
        assert (worst > float(epsilon) + 1e-9) == fails
