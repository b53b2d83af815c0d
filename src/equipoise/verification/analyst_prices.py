"""What the second accountant charges for the events of sessions with many analysts (docs/s004.md)."""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

from equipoise.verification.terms import DIGITS, UPWARDS, Body, Terms, epsilon, exact, price_of

__all__: list[str] = []


@price_of("above_threshold")
def _above_threshold(body: Body) -> Terms:
    pure = exact(body["threshold_epsilon"]) + exact(body["tests_epsilon"])
    return Terms(rho=pure**2 / 2, pure=pure)


@price_of("noisy_stop")
def _noisy_stop(body: Body) -> Terms:
    return Terms(rho=exact(body["epsilon"]) ** 2 / 2, pure=exact(body["epsilon"]), delta=exact(body["delta"]))


@price_of("capped_hedge")
def _capped_hedge(body: Body) -> Terms:
    """After t updates the log-ratio has the range rate t + slack; the first round follows none."""
    rate, slack, last = exact(body["rate"]), exact(body["slack"]), int(body["num_rounds"]) - 1
    ranges = rate * last * (last + 1) / 2 + slack * last
    squares = rate**2 * Fraction(last * (last + 1) * (2 * last + 1), 6) + slack * rate * last * (last + 1)
    return Terms(rho=(squares + last * slack**2) / 8, pure=ranges).times(body["draws"])


@price_of("gated")
def _gated(body: Body) -> Terms:
    return Terms(rho=exact(body["budget"]) * int(body["num_runs"]), pure=None)


@price_of("analyst_game")
def _analyst_game(body: Body) -> Terms:
    """By how many hidden queries the two worlds may differ, exactly; any number to stop counting at is valid."""
    delta, rounds = exact(body["delta"]), int(body["num_rounds"])
    loss = Fraction(_game(rounds, exact(body["distance"]), exact(body["rate"]), delta))
    return Terms(rho=loss**2 / 2, pure=loss, delta=delta)


def _game(rounds: int, distance: Fraction, rate: Fraction, delta: Fraction) -> float:
    with localcontext(Context(prec=DIGITS)):
        chance, allowed = (Decimal(x.numerator) / Decimal(x.denominator) for x in (distance, delta))
        masses = [(1 - chance) ** rounds]
        beyond = 1 - masses[0]
        some, best, extra = beyond, math.inf, 0
        while len(masses) <= rounds and extra < 4:
            masses.append(masses[-1] * (rounds - len(masses) + 1) * chance / (len(masses) * (1 - chance)))
            beyond = max(Decimal(0), beyond - masses[-1]) + UPWARDS * some
            if beyond < allowed:
                extra += beyond <= allowed / 2
                best = min(best, _loss(masses, rounds, rate, min(float((allowed - beyond) / some), 0.5)))
        return best if some > allowed / 2 else 0.0


def _loss(masses: list[Decimal], rounds: int, rate: Fraction, each: float) -> float:
    total = Decimal(0)
    for differing, mass in enumerate(masses[1:], 1):
        worth = epsilon(Terms(rounds * (differing * rate) ** 2 / 8, None), each)
        total += mass * (Decimal(worth).exp() - 1)
    return float((1 + total / masses[0]).ln() * (1 + Decimal("1e-14")))
