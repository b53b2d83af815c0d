"""The accountant against dp-accounting's and OpenDP's own, on random plans: never below them, hardly above."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import dp_accounting
import numpy as np
import opendp.prelude as dp
import pytest

from equipoise.privacy import accountant
from equipoise.privacy.accountant import Cost
from equipoise.privacy.conversion import _order
from equipoise.privacy.events import Event, Exponential, Gaussian, Laplace
from equipoise.privacy.stored_events import to_json
from equipoise.verification import prices  # noqa: F401  # what the second accountant charges
from equipoise.verification.terms import Terms, add_up, epsilon, terms_of

dp.enable_features("contrib")

NUM_PLANS = 1000
LARGEST = 1e-6
"""What two accountants may differ by, relatively, on the safe side."""


def random_plan(rng: np.random.Generator) -> list[tuple[Event, int]]:
    kinds = (
        lambda: Gaussian(Fraction(int(rng.integers(1, 4))), Fraction(float(10 ** rng.uniform(0, 4)))),
        lambda: Laplace(Fraction(int(rng.integers(1, 4))), Fraction(float(10 ** rng.uniform(1, 3)))),
        lambda: Exponential(Fraction(float(10 ** rng.uniform(-3, -0.5)))),
    )
    return [(kinds[int(rng.integers(3))](), int(rng.integers(1, 200))) for _ in range(int(rng.integers(1, 5)))]


def their_event(event: Event) -> dp_accounting.DpEvent:
    """The same in dp-accounting's words: of what it has no word for, the zCDP that the papers prove."""
    match event:
        case Gaussian(sensitivity_squared, variance):
            return dp_accounting.GaussianDpEvent(math.sqrt(variance / sensitivity_squared))
        case Laplace(sensitivity, scale):
            return dp_accounting.ZCDpEvent(float(sensitivity / scale) ** 2 / 2)
        case Exponential(chosen, num_selected):
            return dp_accounting.ZCDpEvent(num_selected * float(chosen) ** 2 / 8)
    raise TypeError(event)


def dp_accountings_epsilon(plan: list[tuple[Event, int]], delta: float, order: float) -> float:
    """Composed and converted by dp-accounting itself, at orders of every size, and more of them around ours."""
    near = [1 + (order - 1) * step for step in (0.99, 0.999, 0.9999, 1, 1.0001, 1.001, 1.01)]
    found = dp_accounting.rdp.RdpAccountant(sorted([*near, *(1 + np.geomspace(1e-3, 1e5, 80))]))
    found.compose(
        dp_accounting.ComposedDpEvent(
            [dp_accounting.SelfComposedDpEvent(their_event(event), times) for event, times in plan]
        )
    )
    return float(found.get_epsilon(delta))


def largest_disagreement(num_plans: int, seed: int = 0) -> dict[str, float]:
    """For each other accountant the largest relative excess of ours; fails where ours is below.

    Each is told the events and composes them itself.
    """
    rng, found = np.random.default_rng(seed), {"dp-accounting": 0.0, "second accountant": 0.0}
    for _ in range(num_plans):
        plan = random_plan(rng)
        total = accountant.total(plan)
        delta = float(10 ** rng.uniform(-12, -3))
        ours = accountant.epsilon_of(rho=total.rho, delta=delta)
        theirs = dp_accountings_epsilon(plan, delta, _order(float(total.rho), ours))
        terms = add_up(terms_of(to_json(event)).times(times) for event, times in plan)
        second = epsilon(Terms(terms.rho, None), delta)
        for name, other in (("dp-accounting", theirs), ("second accountant", second)):
            assert ours >= other * (1 - 1e-9) - 1e-12
            found[name] = max(found[name], (ours - other) / max(other, 1e-9))
    return found


@pytest.mark.parametrize("wrong", [Fraction(99, 100), Fraction(101, 100)])
def test_a_price_that_is_one_percent_off_is_seen(monkeypatch: pytest.MonkeyPatch, wrong: Fraction) -> None:
    """A comparison that shows nothing wrong must be able to: too cheap fails, too dear disagrees by too much."""
    monkeypatch.setattr(accountant, "total", lambda plan, right=accountant.total: Cost(wrong * right(plan).rho))
    if wrong < 1:
        with pytest.raises(AssertionError):
            largest_disagreement(10)
    else:
        assert min(largest_disagreement(10).values()) > LARGEST


def test_random_plans_agree_with_dp_accounting_and_the_second_accountant() -> None:
    assert max(largest_disagreement(NUM_PLANS // 10).values()) <= LARGEST


@pytest.mark.slow
def test_a_thousand_random_plans() -> None:
    assert max(largest_disagreement(NUM_PLANS, seed=1).values()) <= LARGEST


def opendps_disagreement(num_plans: int, seed: int = 2) -> tuple[float, float]:
    """How far our sums of exact prices are above and below OpenDP's composition of its own privacy maps, relatively.

    A plan is of up to five discrete Gaussian noises (rho) or discrete Laplace noises (pure epsilon), of any scales and
    sensitivities.
    """
    rng, above, below = np.random.default_rng(seed), 0.0, 0.0
    whole = dp.vector_domain(dp.atom_domain(T="i64"))
    for number in range(num_plans):
        scales = [float(10 ** rng.uniform(0, 3)) for _ in range(int(rng.integers(1, 6)))]
        distance = int(rng.integers(1, 5))
        if number % 2:
            made = [dp.m.make_gaussian(whole, dp.l2_distance(T="f64"), scale=scale) for scale in scales]
            theirs = dp.c.make_composition(made).map(float(distance))
            events: list[Event] = [Gaussian(Fraction(distance**2), Fraction(scale) ** 2) for scale in scales]
            ours = accountant.total((event, 1) for event in events).rho
        else:
            made = [dp.m.make_laplace(whole, dp.l1_distance(T="i64"), scale=scale) for scale in scales]
            theirs = dp.c.make_composition(made).map(distance)
            events = [Laplace(Fraction(distance), Fraction(scale)) for scale in scales]
            ours = accountant.total((event, 1) for event in events).epsilon or Fraction(0)
        assert math.isfinite(theirs)
        excess = float((ours - Fraction(theirs)) / Fraction(theirs))
        above, below = max(above, excess), max(below, -excess)
    return above, below


def test_opendps_composition_gives_the_same_rho_and_epsilon() -> None:
    """OpenDP adds floats and rounds each sum up, so its figure may exceed the exact one by a few last places."""
    above, below = opendps_disagreement(NUM_PLANS)
    assert above <= 1e-15, "rounding of exact prices (`short_above`) is 2^-60 at most"
    assert below <= 1e-14


def main() -> None:
    """Print the largest disagreements: `python -m tests.unit.privacy.test_crosscheck`."""
    found = largest_disagreement(NUM_PLANS, seed=1)
    above, below = opendps_disagreement(NUM_PLANS)
    for name, excess in found.items():
        sys.stdout.write(f"{NUM_PLANS} plans, above {name} by at most {excess:.2g}, relatively; never below\n")
    sys.stdout.write(f"{NUM_PLANS} plans, above OpenDP's composition by at most {above:.2g}; OpenDP rounds up by")
    sys.stdout.write(f" {below:.2g} at most\n")


if __name__ == "__main__":
    main()
