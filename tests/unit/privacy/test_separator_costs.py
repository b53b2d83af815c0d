"""What noise on separators costs: scales, events, and conditional costs kept apart."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import pytest
from tests.learners import ONE, records

from equipoise.errors import BudgetError, SettingError
from equipoise.oracles.classes.conjunctions import Conjunctions
from equipoise.privacy import accountant, events
from equipoise.privacy.accountant import Cost
from equipoise.privacy.enumerated import choose_enumerated
from equipoise.privacy.event_words import describe_event
from equipoise.privacy.gate import Gate
from equipoise.privacy.ledger import Ledger
from equipoise.privacy.rspm import NO_PROOF, gaussian_event, laplace_event, rspm
from equipoise.privacy.separators import gaussian_epsilon, gaussian_stddev
from equipoise.privacy.stored_events import from_json, to_json
from equipoise.privacy.totals import fits, refusal
from equipoise.report.guarantee import guarantee
from equipoise.statement import CONDITION, conditional_part


def test_the_published_gaussian_scale_needs_the_words_and_pays_the_proven_price() -> None:
    settings = {"epsilon": ONE, "delta": Fraction(1, 10**6)}
    with pytest.raises(SettingError, match="not private"):
        gaussian_event(Conjunctions(400), **settings, published_scale="yes")
    published = gaussian_event(Conjunctions(400), **settings, published_scale=NO_PROOF)
    assert float(published.stddev) / 64 == pytest.approx(math.sqrt(400 * math.log(10**6)))
    assert float(accountant.cost(published).rho) > 25 * float(
        accountant.cost(gaussian_event(Conjunctions(400), **settings)).rho
    )


@pytest.mark.parametrize(("num_separators", "golden"), [(10, 49.6060), (100, 265.4608), (400, 849.5102)])
def test_the_gaussian_scale_is_below_that_of_the_lipschitz_bound_and_above_the_lower_bound(
    num_separators: int, golden: float
) -> None:
    """The golden values are for the closed form of the specification; the numeric tail is never worse."""
    found = gaussian_stddev(shift=2**20, num_separators=num_separators, epsilon=1.0, delta=1e-6) / 2**19
    assert 1.6 * num_separators < found < golden
    closed = math.sqrt(2 / math.pi) * num_separators + math.sqrt(2 * num_separators * math.log(1e6))
    assert 2 / golden * closed + 2 * num_separators / golden**2 == pytest.approx(1, abs=1e-5)


def test_the_gaussian_scale_is_monotone() -> None:
    def scale(num_separators: int = 50, epsilon: float = 1.0, delta: float = 1e-6) -> float:
        return gaussian_stddev(shift=129, num_separators=num_separators, epsilon=epsilon, delta=delta)

    assert scale(51) > scale() > scale(49)
    assert scale(epsilon=0.9) > scale() > scale(epsilon=1.1)
    assert scale(delta=1e-7) > scale() > scale(delta=1e-5)
    assert gaussian_epsilon(shift=129, num_separators=50, stddev=scale(), delta=1e-6) <= 1


def test_events_are_stored_and_priced() -> None:
    for event in (
        laplace_event(Conjunctions(5), epsilon=Fraction(1, 3)),
        gaussian_event(Conjunctions(5), epsilon=ONE, delta=Fraction(1, 1000)),
        events.Prsma(Fraction(1, 62), Fraction(1, 110)),
    ):
        assert from_json(to_json(event)) == event
        assert describe_event(event)
        price = accountant.cost(event)
        assert price.conditional_rho == (price.rho if events.conditional(event) else 0)
    assert accountant.cost(events.Prsma(Fraction(1, 62), Fraction(1, 110))) == Cost(
        Fraction(1, 2), None, Fraction(1, 10)
    )
    grouped = accountant.cost(events.Group(laplace_event(Conjunctions(5), epsilon=ONE), 3))
    assert (grouped.epsilon, grouped.conditional_epsilon, grouped.conditional_rho) == (3, 3, Fraction(9, 2))
    with pytest.raises(SettingError, match="several rows"):
        accountant.cost(events.Group(gaussian_event(Conjunctions(5), epsilon=ONE, delta=Fraction(1, 1000)), 2))
    with pytest.raises(SettingError, match="PRSMA"):
        events.Prsma(ONE, Fraction(1, 100))


def test_the_ledger_keeps_conditional_costs_apart(tmp_path: Path) -> None:
    account = Ledger(tmp_path / "ledger.sqlite").account("people", epsilon=2.0, delta=1e-6)
    event = laplace_event(Conjunctions(5), epsilon=ONE)
    run = account.start(run="a", plan={}, reserve=accountant.cost(event), unit_seed=0)
    rspm(Gate(run), records(), Conjunctions(5), epsilon=ONE)
    other = account.start(run="b", plan={}, reserve=accountant.cost(events.Exponential(ONE)), unit_seed=0)
    choose_enumerated(Gate(other), records(), Conjunctions(5), epsilon=ONE)
    run.finish()
    other.finish()
    held = account.held()
    assert (held.epsilon, held.conditional_epsilon) == (2, 1)
    assert (held.rho, held.conditional_rho) == (Fraction(5, 8), Fraction(1, 2))
    account.verify()
    with pytest.raises(BudgetError, match="Not proven"):
        account.check(accountant.cost(event))
    apart = conditional_part(held)["conditional"]
    assert (apart["proven_rho"], apart["conditional_rho"], apart["condition"]) == ("1/8", "1/2", CONDITION)
    assert (apart["proven_pure_epsilon"], apart["conditional_pure_epsilon"]) == ("1", "1")
    assert "Not proven" in refusal("people", 1.0, 0.0, held, Cost())
    assert "Not proven" not in refusal("people", 1.0, 0.0, Cost(ONE, ONE), Cost())


def test_the_report_says_what_is_not_proven() -> None:
    claim = {"epsilon": 1.0, "delta": 1e-6, "rho": 0.5, "unit": "one record", "rows_per_unit": 1, "curve": {}}
    body = {"guarantee": claim, "table": "people", "num_rows": 10}
    assert "NOT PROVEN" not in guarantee(body).promise
    price = accountant.cost(laplace_event(Conjunctions(5), epsilon=ONE))
    body["guarantee"] = claim | conditional_part(price)
    assert "NOT PROVEN" in guarantee(body).promise


def test_pure_costs_fit_a_total_with_a_delta() -> None:
    assert fits(Cost(Fraction(1, 2), ONE), epsilon=1.0, delta=1e-6)
    assert not fits(Cost(Fraction(1, 2), None), epsilon=1.0, delta=1e-6)
    assert not fits(Cost(Fraction(2), Fraction(2)), epsilon=1.0, delta=1e-6)


def test_a_delta_of_an_events_own_is_taken_off_at_every_delta() -> None:
    """(1 + e^epsilon) of it, so at some deltas nothing is left: never less than what `fits` allows."""
    cost = Cost(Fraction(1, 100), None, Fraction(1, 10**7))
    bare = accountant.epsilon_at(Cost(Fraction(1, 100), None), delta=1e-6)
    found = accountant.epsilon_at(cost, delta=1e-6)
    assert bare < found < 2 * bare
    assert fits(cost, epsilon=found, delta=1e-6)
    assert not fits(cost, epsilon=found * 0.999, delta=1e-6)
    assert accountant.epsilon_at(cost, delta=1e-7) == math.inf


def test_a_failure_probability_that_uses_up_delta_to_the_last_digit_does_not_fit() -> None:
    """(1 + e^epsilon) delta* is worked out in floats, so it is raised by more than they err."""
    failing = Cost(Fraction(1, 2), ONE, Fraction(1e-7))
    used = (1 + math.e) * 1e-7
    assert not fits(failing, epsilon=1.0, delta=used)
    assert fits(failing, epsilon=1.0, delta=used * (1 + 2e-9))
    assert not fits(failing, epsilon=1.0, delta=0.0)
    assert fits(Cost(Fraction(1, 2), ONE), epsilon=1.0, delta=0.0)
    assert not fits(Cost(Fraction(1, 2), None), epsilon=1.0, delta=0.0)
