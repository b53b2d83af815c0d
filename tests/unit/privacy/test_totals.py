"""Whether costs fit a declared total, at its very edge; and what a refusal says."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from equipoise.privacy import accountant
from equipoise.privacy.cost import Cost
from equipoise.privacy.totals import fits, refusal

RHO = Fraction(1, 10)


def test_a_total_is_kept_to_the_last_unit() -> None:
    limit = accountant.rho_of(epsilon=1.0, delta=1e-6)
    assert fits(Cost(limit, None), epsilon=1.0, delta=1e-6)
    assert not fits(Cost(limit * (1 + Fraction(1, 10**15)), None), epsilon=1.0, delta=1e-6)


def test_a_pure_total_takes_pure_costs_only() -> None:
    assert fits(Cost(RHO, Fraction(1)), epsilon=1.0, delta=0.0)
    assert not fits(Cost(RHO, Fraction(1) + Fraction(1, 10**15)), epsilon=1.0, delta=0.0)
    assert not fits(Cost(Fraction(1, 10**9), None), epsilon=1.0, delta=0.0)
    assert not fits(Cost(RHO, Fraction(1, 2), Fraction(1, 10**9)), epsilon=1.0, delta=0.0)


def test_pure_costs_fit_whatever_they_are_in_rho() -> None:
    assert fits(Cost(Fraction(1, 2), Fraction(1)), epsilon=1.0, delta=1e-6)
    assert not fits(Cost(Fraction(1, 2), Fraction(2)), epsilon=1.0, delta=1e-6)


@pytest.mark.parametrize("pure", [Fraction(1), None])
def test_a_failure_probability_counts_one_plus_e_to_the_epsilon_times(pure: Fraction | None) -> None:
    """Pure but for it, all of delta may be used up; else a part is left to the conversion."""
    whole = 1e-6 / (1 + math.e)
    used = 1 if pure is not None else 0.5
    rest = accountant.rho_of(epsilon=1.0, delta=1e-6 * (1 - used) * (1 - 1e-6)) if pure is None else Fraction(1, 2)
    assert fits(Cost(rest, pure, Fraction(whole * used * (1 - 1e-8))), epsilon=1.0, delta=1e-6)
    assert not fits(Cost(rest, pure, Fraction(whole * used * (1 + 1e-5))), epsilon=1.0, delta=1e-6)
    assert not fits(Cost(Fraction(0), None, Fraction(whole)), epsilon=1.0, delta=1e-6)


def test_a_refusal_says_total_spent_asked_left_and_what_to_do() -> None:
    told = refusal("people", 1.0, 1e-6, Cost(Fraction(1, 100)), Cost(Fraction(2, 100)))
    assert told.splitlines() == [
        "the budget of table people does not cover this release",
        "  total  epsilon 1 at delta 1e-06 (rho 0.024356)",
        "  spent  rho 0.01, which is epsilon 0.6217 (unfinished releases included)",
        "  asked  rho 0.02",
        "  left   rho 0.014356",
        "Nothing was spent. Ask for a smaller epsilon, or close an unfinished release (`equipoise ledger --help`).",
    ]
    assert "  left   rho 0\n" in refusal("people", 1.0, 1e-6, Cost(Fraction(1)), Cost(Fraction(1)))


def test_a_refusal_of_a_pure_total_says_what_is_not_pure() -> None:
    told = refusal("people", 1.0, 0.0, Cost(RHO, Fraction(1, 2)), Cost(RHO, None))
    assert told.splitlines()[1:4] == [
        "  total  pure epsilon 1",
        "  spent  0.5 (unfinished releases included)",
        "  asked  more than any pure epsilon: choose a pure method",
    ]


def test_a_refusal_tells_of_what_rests_on_solvers_and_of_failures() -> None:
    held = Cost(RHO, Fraction(1, 4), Fraction(1, 10**9), conditional_rho=RHO, conditional_epsilon=Fraction(1, 4))
    asked = Cost(2 * RHO, Fraction(1, 2), conditional_rho=2 * RHO, conditional_epsilon=Fraction(1, 2))
    told = refusal("people", 2.0, 1e-6, held, asked).splitlines()
    assert (
        "  Not proven, but if a solver's certificates hold: rho 0.1 of what is spent and 0.2 of what is asked" in told
    )
    failures = "  Failure probabilities count 1 + e^epsilon times: of delta 1e-06, 8.39e-09 is spent and 0 asked;"
    assert f"{failures} ask for a smaller delta" in told
    pure = refusal("people", 2.0, 0.0, held, asked).splitlines()
    assert (
        "  Not proven, but if a solver's certificates hold: pure epsilon 0.25 of what is spent and 0.5 of what is asked"
        in pure
    )
    assert not any("certificate" in line or "Failure" in line for line in refusal("x", 1.0, 1e-6, Cost(RHO), Cost(RHO)))
    only = [Cost(RHO, None, Fraction(1, 10**6)), Cost(RHO)]
    for pair in (only, only[::-1]):
        assert "Failure probabilities" in refusal("people", 1.0, 1e-6, *pair)
    some = [Cost(RHO, conditional_rho=RHO), Cost(RHO)]
    for pair in (some, some[::-1]):
        assert "certificates" in refusal("people", 1.0, 1e-6, *pair)


def test_where_failures_leave_nothing_of_delta_nothing_fits_but_pure_costs() -> None:
    failure = Fraction(1, 10**7)
    delta = (1 + math.exp(1.0)) * float(failure) * (1 + 1e-9)
    assert not fits(Cost(Fraction(1, 10**9), None, failure), epsilon=1.0, delta=delta)
    assert fits(Cost(Fraction(1, 10**9), Fraction(1), failure), epsilon=1.0, delta=delta)


def test_a_refusal_counts_a_tuned_release_at_the_totals_order() -> None:
    tuned = Cost(RHO / 100, None, shift=Fraction(1, 100), factor=Fraction(3))
    said = refusal("people", 1.0, 1e-6, tuned, tuned)
    worth = float(accountant.rho_at(tuned, epsilon=1.0, delta=1e-6))
    assert worth > 2 * float(tuned.rho)
    assert f"spent  rho {worth:.6g}, which is epsilon {accountant.epsilon_at(tuned, delta=1e-6):.4g}" in said
    assert f"asked  rho {worth:.6g}" in said
