from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import dp_accounting
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import SettingError
from equipoise.privacy import accountant
from equipoise.privacy.accountant import Cost, cost
from equipoise.privacy.events import ConditionalRelease, Event, Exponential, Gaussian, Group, Laplace, PermuteAndFlip

GOLDEN_RHO = [
    (1.0, 1e-6, 0.02435597),
    (0.1, 1e-6, 0.00032104769),
    (1.0, 1 / 48842**2, 0.014270343),
    (0.1, 1 / 48842**2, 0.00016747617),
]


@pytest.mark.parametrize(("epsilon", "delta", "rho"), GOLDEN_RHO)
def test_rho_golden(epsilon: float, delta: float, rho: float) -> None:
    assert float(accountant.rho_of(epsilon=epsilon, delta=delta)) == pytest.approx(rho, rel=1e-7)


def test_conversion_beats_the_loose_formula() -> None:
    # rho + 2 sqrt(rho log(1/delta)) = 1 at delta 1e-6: the tight conversion buys 39 % more at epsilon 1, 78 % at 0.1.
    for epsilon, gain in ((1.0, 1.39), (0.1, 1.78)):
        root = math.sqrt(-math.log(1e-6))
        loose = (math.sqrt(root * root + epsilon) - root) ** 2
        assert float(accountant.rho_of(epsilon=epsilon, delta=1e-6)) / loose == pytest.approx(gain, abs=0.01)


@given(st.floats(1e-3, 20), st.floats(1e-14, 1e-2))
def test_conversions_invert_each_other_on_the_safe_side(epsilon: float, delta: float) -> None:
    rho = accountant.rho_of(epsilon=epsilon, delta=delta)
    back = accountant.epsilon_of(rho=rho, delta=delta)
    assert back <= epsilon * (1 + 1e-9)
    assert back >= epsilon * (1 - 1e-4) - 1e-9
    assert accountant.delta_of(rho=rho, epsilon=epsilon) <= delta * (1 + 1e-6)


@pytest.mark.parametrize("stddev", [3.0, 20.0, 83.7111])
@pytest.mark.parametrize("times", [1, 30])
def test_never_below_the_true_loss_of_gaussian_noise(stddev: float, times: int) -> None:
    """An independent accountant (numerical privacy loss distribution) must not find a larger epsilon than ours."""
    delta = 1e-8
    reference = dp_accounting.pld.PLDAccountant(value_discretization_interval=1e-4)
    reference.compose(dp_accounting.GaussianDpEvent(stddev), times)
    rho = cost(Gaussian(Fraction(1), Fraction(stddev) ** 2)).rho * times
    ours = accountant.epsilon_of(rho=rho, delta=delta)
    true = reference.get_epsilon(delta)
    assert true * 0.999 <= ours <= true * 1.3 + 0.01


def test_costs() -> None:
    e = Fraction(1, 10)

    def cost(event: Event) -> Cost:
        return replace(accountant.cost(event), gaussian=None)

    assert cost(Exponential(e)) == Cost(Fraction(1, 800), e)
    assert cost(Exponential(e, 25)) == Cost(Fraction(25, 800), 25 * e)
    assert cost(PermuteAndFlip(e)) == Cost(Fraction(1, 200), e)
    assert cost(Laplace(Fraction(2), Fraction(20))) == Cost(Fraction(1, 200), e)
    assert cost(Gaussian(Fraction(2), Fraction(100))) == Cost(Fraction(1, 100), None)
    assert cost(Group(Exponential(e), 3)) == Cost(Fraction(9, 800), 3 * e)


def test_group_of_conditional_release_is_refused() -> None:
    with pytest.raises(SettingError, match="several rows"):
        cost(Group(ConditionalRelease(Fraction(1, 100), 10, Fraction(1, 10**8)), 2))


@pytest.mark.parametrize(("hits", "calls"), [(10, 111), (100, 366), (1000, 2435)])
def test_conditional_release_golden(hits: int, calls: int) -> None:
    found = accountant.calls_of_conditional_release(epsilon=Fraction(1, 100), max_hits=hits, delta=Fraction(1, 10**8))
    assert found == calls


def test_conditional_release_tail_by_the_exact_negative_binomial() -> None:
    """Each charged call hits with probability at least 1/(e^epsilon + 1): the exact tail must stay below delta."""
    from scipy import stats

    for hits, delta in ((10, 1e-8), (100, 1e-6), (1000, 1e-10)):
        epsilon = Fraction(1, 20)
        calls = accountant.calls_of_conditional_release(epsilon=epsilon, max_hits=hits, delta=Fraction(delta))
        p = 1 / (math.exp(epsilon) + 1)
        assert stats.binom.cdf(hits - 1, calls, p) <= delta


@given(st.integers(1, 10**6), st.integers(1, 10**9))
def test_root_below_and_stddev_round_the_safe_way(numerator: int, denominator: int) -> None:
    value = Fraction(numerator, denominator)
    root = accountant.root_below(value)
    assert root**2 <= value
    assert root**2 >= value * (1 - Fraction(1, 10**11))
    stddev = accountant.stddev_of(rho=value)
    assert cost(Gaussian(Fraction(1), Fraction(stddev) ** 2)).rho <= value


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 1e-6), (-1.0, 1e-6), (1.0, 0.0), (1.0, 1.0), (1.0, -0.1)])
def test_nonsense_is_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(SettingError):
        accountant.rho_of(epsilon=epsilon, delta=delta)


def test_thousands_of_different_events_add_up_to_a_short_fraction() -> None:
    rng = np.random.default_rng(0)
    events = [Gaussian(Fraction(2), Fraction(float(s)) ** 2) for s in rng.uniform(10, 1000, 5000)]
    total = accountant.total((event, 1) for event in events)
    assert len(str(total.rho)) < 100
    true = sum(2 / (2 * float(e.variance)) for e in events)
    assert true * (1 - 1e-12) <= float(total.rho) <= true * (1 + 1e-12)
    for event in events[:200]:
        assert event.sensitivity_squared / (2 * event.variance) <= cost(event).rho
