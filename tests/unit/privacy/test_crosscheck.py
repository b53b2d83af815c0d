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
from equipoise.privacy.conversion import _order
from equipoise.privacy.events import Event, Exponential, Gaussian, Laplace
from equipoise.verification.terms import Terms, epsilon

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


def largest_disagreement(num_plans: int, seed: int = 0) -> dict[str, float]:
    """For each other accountant the largest relative excess of ours; fails where ours is below."""
    rng, found = np.random.default_rng(seed), {"dp-accounting": 0.0, "second accountant": 0.0}
    for _ in range(num_plans):
        total = accountant.total(random_plan(rng))
        delta = float(10 ** rng.uniform(-12, -3))
        ours = accountant.epsilon_of(rho=total.rho, delta=delta)
        order = _order(float(total.rho), ours)
        orders = [1 + (order - 1) * step for step in (0.999, 0.9999, 1, 1.0001, 1.001)]
        theirs, _ = dp_accounting.rdp.compute_epsilon(orders, [float(total.rho) * a for a in orders], delta)
        second = epsilon(Terms(total.rho, None), delta)
        for name, other in (("dp-accounting", theirs), ("second accountant", second)):
            assert ours >= other * (1 - 1e-9) - 1e-12
            found[name] = max(found[name], (ours - other) / max(other, 1e-9))
    return found


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
