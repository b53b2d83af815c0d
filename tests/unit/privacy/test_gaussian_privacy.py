"""Gaussian differential privacy: golden values, the two lemmas enumerated, and what a price that is too low would show.

Every lemma has a negative control: half the noise, a selection at its zCDP price, discrete noise as if continuous.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import dp_accounting
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from equipoise.core import FloatArray
from equipoise.errors import LedgerError
from equipoise.privacy import accountant, gaussian_privacy
from equipoise.privacy.accountant import Cost, cost
from equipoise.privacy.cost import cost_from_text, cost_to_text
from equipoise.privacy.events import Draws, Exponential, Gaussian, Group, Laplace
from equipoise.privacy.gate import within
from equipoise.privacy.gaussian_privacy import delta_of, epsilon_of, measured, selected, worth

BUDGETS = [(1.0, 1e-6), (0.1, 43944**-2.0), (1.0, 43944**-2.0), (5.0, 1e-9), (1e-4, 1e-5)]


def hockey_stick(here: FloatArray, there: FloatArray, epsilon: float) -> float:
    """The delta of two laws on the same outcomes."""
    return float(np.maximum(here - math.exp(epsilon) * there, 0.0).sum())


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_worth_is_the_root_of_the_closed_form(epsilon: float, delta: float) -> None:
    mu = math.sqrt(2 * worth(epsilon=epsilon, delta=delta))
    found = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    assert found <= delta
    assert found == pytest.approx(delta, rel=1e-6)
    assert epsilon_of(worth(epsilon=epsilon, delta=delta), delta=delta) == pytest.approx(epsilon, rel=1e-8)


def test_it_buys_a_tenth_more_than_zcdp() -> None:
    """And never less: zCDP of Gaussian noise follows from it."""
    for (epsilon, delta), gain in zip(BUDGETS[:3], (1.150, 1.116, 1.103), strict=True):
        ratio = worth(epsilon=epsilon, delta=delta) / accountant.rho_of(epsilon=epsilon, delta=delta)
        assert float(ratio) == pytest.approx(gain, abs=1e-3)


@given(st.floats(1e-3, 20), st.floats(-14, -1), st.floats(1.001, 3))
def test_more_is_never_worth_less(epsilon: float, exponent: float, factor: float) -> None:
    delta = 10**exponent
    assert worth(epsilon=epsilon, delta=delta) <= worth(epsilon=epsilon * factor, delta=delta)
    assert worth(epsilon=epsilon, delta=delta) >= worth(epsilon=epsilon, delta=delta / factor)
    assert worth(epsilon=epsilon, delta=delta) >= accountant.rho_of(epsilon=epsilon, delta=delta)


@pytest.mark.parametrize("mu", [1e-6, 0.9999e-4, 1.0001e-4, 0.02, 1.0, 7.0])
@pytest.mark.parametrize("deviations", [0.5, 3.0, 6.0])
def test_delta_is_not_below_a_quadrature(mu: float, deviations: float) -> None:
    """delta is the integral of phi(x) (1 - e^(-mu (x - a))) beyond a: no difference of nearly equal numbers."""
    epsilon = mu * (deviations + mu / 2)
    x = np.linspace(deviations, deviations + 12, 400_001)
    values = norm.pdf(x) * -np.expm1(-mu * (x - deviations))
    reference = float(np.trapezoid(values, x))
    assert reference * (1 - 1e-8) <= delta_of(mu * mu / 2, epsilon=epsilon) <= reference * (1 + 1e-3)


@pytest.mark.parametrize(("stddev", "times"), [(20.0, 1), (83.7111, 200)])
def test_an_independent_accountant_finds_the_same(stddev: float, times: int) -> None:
    reference = dp_accounting.pld.PLDAccountant(value_discretization_interval=1e-5)
    reference.compose(dp_accounting.GaussianDpEvent(stddev), times)
    ours = accountant.epsilon_at(cost(Gaussian(Fraction(1), Fraction(stddev) ** 2)) * times, delta=1e-8)
    assert ours == pytest.approx(reference.get_epsilon(1e-8), rel=6e-3)
    assert ours >= reference.get_epsilon(1e-8) * (1 - 1e-4)


def discrete(variance: float, reach: int) -> FloatArray:
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-k * k / (2 * variance))
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize("variance", [8.0, 12.5, 40.0])
@pytest.mark.parametrize("distance", [1, 3])
def test_discrete_noise_is_dominated(variance: float, distance: int) -> None:
    """Lemma F: at every epsilon the discrete law's delta is at most that of mu; at the continuous mu it is not."""
    law = np.pad(discrete(variance, 120), distance)
    here, there = law, np.roll(law, distance)
    half = measured(Fraction(distance**2), Fraction(variance))
    assert half is not None
    too_low, seen_above = distance**2 / (2 * variance), 0
    for epsilon in np.linspace(0.0, 12 * math.sqrt(2 * half), 200):
        true = hockey_stick(here, there, epsilon)
        assert true <= delta_of(half, epsilon=epsilon) + 1e-15
        seen_above += true > delta_of(too_low, epsilon=epsilon) + 1e-12
    assert seen_above  # the blur is needed: without it the price would be too low


def test_two_noisy_counts_and_a_selection_are_dominated_together() -> None:
    """An adaptive game by enumeration: two noisy counts, then a selection by scores that depend on the first."""
    variance, epsilon_of_selection = 9.0, 0.7
    law = np.pad(discrete(variance, 30), 1)
    moved = np.roll(law, 1)
    k = np.arange(len(law)) % 5

    def selection(shift: int) -> FloatArray:
        scores = np.stack([k + shift, 2.0 - k - shift, np.ones(len(k))], axis=1)
        weights = np.exp(epsilon_of_selection * scores / 2)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    here, there = (
        np.einsum("i,j,is->ijs", one, one, selection(shift)).ravel() for one, shift in ((law, 0), (moved, 1))
    )
    noise, choice = cost(Gaussian(Fraction(2), Fraction(variance))), cost(Exponential(Fraction(epsilon_of_selection)))
    both = noise + choice
    assert both.gaussian is not None
    half_the_noise = accountant.Cost(gaussian=(cost(Gaussian(Fraction(2), 4 * Fraction(variance))) + choice).gaussian)
    assert half_the_noise.gaussian is not None
    caught = 0
    for epsilon in np.linspace(0.0, 6.0, 60):
        true = max(hockey_stick(here, there, epsilon), hockey_stick(there, here, epsilon))
        assert true <= delta_of(both.gaussian, epsilon=epsilon) + 1e-15
        caught += true > delta_of(half_the_noise.gaussian, epsilon=epsilon) + 1e-12
    assert caught


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0])
def test_selections_are_dominated_whatever_their_law(epsilon: float) -> None:
    """Lemma G: of all laws whose log-ratio has the range epsilon, the worst has two outcomes; mu covers every one."""
    half = selected(Fraction(epsilon))
    assert half is not None
    caught = 0
    for at, e in product(np.linspace(0.001, 0.999, 60), np.linspace(0.0, 0.999, 60)):
        top, here = epsilon * at, (math.exp(epsilon) - math.exp(epsilon * at)) / math.expm1(epsilon)
        true = here * max(0.0, 1 - math.exp(epsilon * e - top))
        assert true <= delta_of(half, epsilon=epsilon * e) + 1e-15
        caught += true > delta_of(epsilon**2 / 8, epsilon=epsilon * e) + 1e-12
    assert caught  # at its price in zCDP it would not be covered


def test_the_normal_law_has_lighter_tails_than_the_logistic_one() -> None:
    """What Lemma G rests on: Phi^-1 of the logistic function is concave above 0."""
    z = np.linspace(1e-3, 8.0, 20_001)
    hazard = norm.pdf(z) / norm.sf(z) - norm.pdf(z) / norm.cdf(z)
    assert (hazard >= z).all()


def test_a_group_costs_at_most_the_square() -> None:
    for event in (Exponential(Fraction(1, 2)), Draws(Fraction(1, 2), 3), Gaussian(Fraction(2), Fraction(50))):
        one, three = cost(event), cost(Group(event, 3))
        assert one.gaussian is not None
        assert three.gaussian == 9 * one.gaussian
    wide, narrow = selected(Fraction(3, 2)), selected(Fraction(1, 2))
    assert wide is not None
    assert narrow is not None
    assert wide <= 9 * narrow  # a group of three has three times the range


def test_what_has_no_price_has_none() -> None:
    assert measured(Fraction(1), Fraction(7)) is None
    assert selected(Fraction(31)) is None
    assert cost(Laplace(Fraction(1), Fraction(10))).gaussian is None
    assert (cost(Laplace(Fraction(1), Fraction(10))) + cost(Gaussian(Fraction(1), Fraction(100)))).gaussian is None
    assert (Cost() + cost(Gaussian(Fraction(1), Fraction(100)))).gaussian == Fraction(1, 192)
    assert (Cost().impure + cost(Gaussian(Fraction(1), Fraction(100)))).gaussian == Fraction(1, 192)


def test_the_smaller_epsilon_counts() -> None:
    noise, choice = cost(Gaussian(Fraction(2), Fraction(1000))), cost(Exponential(Fraction(1, 10)))
    for of in (noise, choice):
        assert of.gaussian is not None
        zcdp, gaussian = accountant.epsilon_of(rho=of.rho, delta=1e-8), epsilon_of(of.gaussian, delta=1e-8)
        assert accountant.epsilon_at(of, delta=1e-8) == min(zcdp, gaussian)
    assert accountant.epsilon_at(noise, delta=1e-8) < accountant.epsilon_of(rho=noise.rho, delta=1e-8)
    assert accountant.epsilon_at(choice, delta=1e-8) == accountant.epsilon_of(rho=choice.rho, delta=1e-8)


def test_a_reservation_holds_a_run_to_its_mu() -> None:
    """A selection of the same rho as the noise that was reserved costs more, and is refused."""
    reserved = cost(Gaussian(Fraction(2), Fraction(1000))).impure
    swapped = cost(Exponential(Fraction(89, 1000))).impure
    assert swapped.rho < reserved.rho
    assert not within(swapped, reserved)
    assert not within(cost(Laplace(Fraction(1), Fraction(1000))).impure, reserved)
    assert within(cost(Gaussian(Fraction(2), Fraction(1001))).impure, reserved)
    assert within(Cost(), reserved)  # nothing is spent yet


def test_text_keeps_it() -> None:
    for of in (cost(Exponential(Fraction(1, 3))), cost(Gaussian(Fraction(2), Fraction(1000))) * 7, Cost()):
        assert cost_from_text(cost_to_text(of)) == of
    assert cost_from_text("1/3 - 0").gaussian is None
    for damaged in ("1/3 - 0 g", "1/3 - 0 gx", "1/3 - 0 g-1", "g1/3", "1/3 - 0 g0", "1/3 - 0 g1 g1"):
        with pytest.raises(LedgerError):
            cost_from_text(damaged)


def test_a_wrong_sign_or_scale_would_be_seen() -> None:
    """Golden values: mu = 1 at epsilon 1 (dong2022gaussian's own example), and the blur of four."""
    assert delta_of(0.5, epsilon=1.0) == pytest.approx(0.12693674, rel=1e-6)
    assert measured(Fraction(2), Fraction(104)) == Fraction(1, 100)
    half = selected(Fraction(1))
    assert half is not None
    assert 2 * norm.cdf(math.sqrt(2 * half) / 2) - 1 == pytest.approx(math.tanh(0.25), rel=1e-9)
    assert gaussian_privacy.BLUR == 4
