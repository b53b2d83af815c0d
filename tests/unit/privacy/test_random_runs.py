from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from equipoise.errors import LedgerError, SettingError
from equipoise.privacy import random_runs
from equipoise.privacy.accountant import Cost, cost, epsilon_at, rho_at, rho_of
from equipoise.privacy.events import Tuned
from equipoise.privacy.run import cost_from_text, cost_to_text
from equipoise.privacy.stored_events import from_json, to_json
from equipoise.privacy.totals import fits

STOP = Fraction(2, 9)


def weights(law: str, stop: Fraction, most: int) -> np.ndarray:
    """Pr[K = k] for k = 1 .. most."""
    k, g = np.arange(1, most + 1), float(stop)
    return g * (1 - g) ** (k - 1) if law == "geometric" else (1 - g) ** k / k / math.log(1 / g)


@pytest.mark.parametrize("law", random_runs.LAWS)
def test_the_number_of_runs_has_its_law_and_not_the_other_one(law: str) -> None:
    """Chi-square at 1e-10; the other law differs by far more than chance."""
    drawn = np.array([random_runs.draw_num_runs(law, STOP) for _ in range(20_000)])
    seen = np.bincount(np.minimum(drawn, 12), minlength=13)[1:]
    for tested in random_runs.LAWS:
        expected = weights(tested, STOP, 11)
        expected = 20_000 * np.append(expected, 1 - expected.sum())
        distance = ((seen - expected) ** 2 / expected).sum()
        assert (distance > stats.chi2.isf(1e-10, 11)) == (tested != law)


@pytest.mark.parametrize("law", random_runs.LAWS)
def test_the_mean_is_the_laws_and_can_be_asked_for(law: str) -> None:
    direct = float((np.arange(1, 2001) * weights(law, STOP, 2000)).sum())
    assert float(random_runs.mean_runs(law, STOP)) == pytest.approx(direct, rel=1e-12)
    for wanted in (1.5, 4.0, 30.0, 500.0):
        assert float(random_runs.mean_runs(law, random_runs.stop_of(law, wanted))) == pytest.approx(wanted, rel=0.05)
    for refused in (1.0, 0.0, 1e9):
        with pytest.raises(SettingError, match="mean number of runs"):
            random_runs.stop_of(law, refused)


@pytest.mark.parametrize("rho", [Fraction(1, 1000), Fraction(1, 10), Fraction(50)])
def test_the_shift_is_near_the_best_bound_and_never_below_it(rho: Fraction) -> None:
    log_stop = math.log(1 / STOP)
    orders = np.linspace(1, 200, 200_000)
    best = 2 * (float(rho) * (orders - 1) + log_stop / orders).min()
    found = float(random_runs.shift("geometric", STOP, rho))
    assert best * (1 - 1e-6) <= found <= best * (1 + 1e-4)


def test_a_tuned_run_costs_more_than_one_run_and_less_than_its_mean_number_of_runs() -> None:
    rho, stop = Fraction(1, 100), random_runs.stop_of("logarithmic", 20)
    tuned = cost(Tuned(rho, False, "logarithmic", stop))
    assert epsilon_at(Cost(rho, None), delta=1e-9) < epsilon_at(tuned, delta=1e-9)
    assert epsilon_at(tuned, delta=1e-9) < epsilon_at(Cost(20 * rho, None), delta=1e-9)
    assert cost(Tuned(Fraction(1, 3), True, "logarithmic", stop)).epsilon == Fraction(2, 3)
    assert cost(Tuned(Fraction(1, 3), True, "geometric", stop)).epsilon == 1


def test_tuned_costs_add_up_and_take_from_a_total_what_its_own_order_says() -> None:
    tuned = cost(Tuned(Fraction(1, 300), False, "logarithmic", Fraction(1, 20)))
    total = {"epsilon": 3.0, "delta": 1e-8}
    assert rho_at(Cost(Fraction(1, 7), None), **total) == Fraction(1, 7)
    twice = rho_at(tuned + tuned, **total)
    assert float(twice) == pytest.approx(2 * float(rho_at(tuned, **total)), rel=1e-12)
    limit = rho_of(**total)
    rest = limit - rho_at(tuned, **total)
    assert fits(tuned + Cost(rest * Fraction(999_999, 1_000_000), None), **total)
    assert not fits(tuned + Cost(rest * Fraction(1_000_001, 1_000_000), None), **total)
    # The one order that filters is not the best one for these costs: what passes the filter has epsilon to spare.
    assert epsilon_at(tuned + Cost(rest, None), delta=1e-8) <= 3.0


def test_tuned_events_and_costs_survive_storage() -> None:
    event = Tuned(Fraction(1, 300), False, "logarithmic", Fraction(1, 20))
    assert from_json(to_json(event)) == event
    assert cost_from_text(cost_to_text(cost(event))) == cost(event)
    with pytest.raises(SettingError, match="must be below 1"):
        Tuned(Fraction(1), False, "geometric", Fraction(1))
    with pytest.raises(SettingError, match="no law"):
        cost(Tuned(Fraction(1), False, "poisson", Fraction(1, 2)))


def test_logarithms_are_rounded_away_from_the_true_one_by_next_to_nothing() -> None:
    exact = Context(prec=80)
    for value in (Fraction(2), Fraction(5), Fraction(37), Fraction(10**6), Fraction(9, 7)):
        true = Fraction(exact.ln(exact.divide(Decimal(value.numerator), Decimal(value.denominator))))
        above, below = random_runs.log_above(value), random_runs._log(value, ROUND_FLOOR)
        assert below < true < above
        assert above - below < true * Fraction(1, 10**36)
    assert random_runs.log_above(Fraction(1)) == 0


def test_the_mean_is_never_below_the_laws() -> None:
    exact = Context(prec=80)
    for stop in (Fraction(1, 2), Fraction(1, 37), Fraction(2, 9)):
        log = Fraction(exact.ln(exact.divide(Decimal(stop.denominator), Decimal(stop.numerator))))
        assert 0 < random_runs.mean_runs("logarithmic", stop) - (1 / stop - 1) / log < Fraction(1, 10**30)
        assert random_runs.mean_runs("geometric", stop) == 1 / stop


def test_small_means_have_a_parameter() -> None:
    for mean in (1.01, 1.2, 1.5, 2.0, 9999.0):
        for law in random_runs.LAWS:
            stop = random_runs.stop_of(law, mean)
            assert float(random_runs.mean_runs(law, stop)) == pytest.approx(mean, rel=0.06)
            assert stop.denominator <= 10**7
    for mean in (1.0, 10_001.0):
        with pytest.raises(SettingError, match="mean"):
            random_runs.stop_of("geometric", mean)


@pytest.mark.parametrize(
    "text", ["1 1", "- 1 0", "1 1 -", "1 1 -1", "-1 1 0", "1 1 0 0 1 0 0 0", "1 1 0 0 1 -", "1 x 0"]
)
def test_what_is_no_cost_is_not_read(text: str) -> None:
    with pytest.raises(LedgerError, match="it is damaged"):
        cost_from_text(text)
