"""What the second accountant charges for each kind of event; formulas from docs/mechanisms.md, written down anew."""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

from equipoise.verification.gaussian import noise, selection
from equipoise.verification.terms import DIGITS, UPWARDS, Body, Terms, exact, price_of, terms_of

__all__: list[str] = []


def _above(value: Decimal) -> Fraction:
    return Fraction(value) * (1 + Fraction(UPWARDS))


def _pure(epsilon: Fraction) -> Terms:
    """A step of which nothing but its pure epsilon is known."""
    return Terms(rho=epsilon**2 / 2, pure=epsilon)


def _selection(epsilon: Fraction) -> Terms:
    """A step whose log-ratio has the range epsilon."""
    return Terms(rho=epsilon**2 / 8, pure=epsilon, gaussian=selection(epsilon))


@price_of("gaussian")
def _gaussian(body: Body) -> Terms:
    squared, variance = exact(body["sensitivity_squared"]), exact(body["variance"])
    return Terms(rho=squared / variance / 2, pure=None, gaussian=noise(squared, variance))


@price_of("laplace")
def _laplace(body: Body) -> Terms:
    return _pure(exact(body["sensitivity"]) / exact(body["scale"]))


@price_of("exponential")
def _exponential(body: Body) -> Terms:
    return _selection(exact(body["epsilon"])).times(body["num_selected"])


@price_of("draws")
def _draws(body: Body) -> Terms:
    return _selection(exact(body["epsilon"])).times(body["num_draws"])


@price_of("permute_and_flip")
def _permute_and_flip(body: Body) -> Terms:
    return _pure(exact(body["epsilon"]))


@price_of("conditional_release")
def _conditional_release(body: Body) -> Terms:
    """Lemma D: as many pure steps as Chernoff's bound allows before the last hit, but for delta."""
    step, hits, delta = exact(body["epsilon"]), int(body["max_hits"]), exact(body["delta"])
    with localcontext(Context(prec=DIGITS)):
        tail = -(Decimal(delta.numerator) / Decimal(delta.denominator)).ln()
        excess = (tail + (tail * (tail + 2 * hits)).sqrt()) / hits
        chance = (Decimal(step.numerator) / Decimal(step.denominator)).exp() + 1
        calls = math.ceil(_above((1 + excess) * hits * chance))
    return Terms(rho=calls * step**2 / 2, pure=None, delta=delta)


@price_of("coins")
def _coins(body: Body) -> Terms:
    """Heads with probability exp(-r): the log-ratio's range, and Kearns and Saul's constant for two outcomes."""
    rate, slack, spread = (exact(body[name]) for name in ("rate", "slack", "spread"))
    with localcontext(Context(prec=DIGITS)):
        per, least = (Decimal(x.numerator) / Decimal(x.denominator) for x in (rate, slack))
        most = least + Decimal(spread.numerator) / Decimal(spread.denominator)
        of_tails = per / (least.exp() - 1)
        chances = (-most).exp(), (-least).exp()
        half = Decimal("0.5")
        if chances[0] <= half <= chances[1] or min(abs(p - half) for p in chances) < Decimal("1e-9"):
            variance = Decimal("0.125")
        else:
            p = min(chances, key=lambda chance: abs(chance - half))
            variance = (1 - 2 * p) / (4 * ((1 - p) / p).ln())
        rho = _above((per + of_tails) ** 2 * variance)
        pure = max(rate, _above(of_tails))
    return Terms(rho=rho, pure=pure).times(body["num_coins"])


@price_of("separator_laplace")
def _separator_laplace(body: Body) -> Terms:
    moved = 2 * (body["grid"] + body["gap"]) + 1
    found = _pure(Fraction(moved * body["num_separators"]) / exact(body["scale"]))
    return Terms(found.rho, found.pure, conditional=True)


@price_of("separator_gaussian")
def _separator_gaussian(body: Body) -> Terms:
    """Chernoff's bound on the sum of absolute noises, on a grid of its parameter: every one is valid."""
    stddev, delta = float(exact(body["stddev"])), float(exact(body["delta"]))
    number, moved = (
        int(body["num_separators"]),
        (2 * (body["grid"] + body["gap"]) + 1) / float(exact(body["stddev"])),
    )

    def tail(u: float) -> float:
        centre = 1 + math.erf(u / math.sqrt(2)) + 2 / (stddev * math.sqrt(2 * math.pi))
        return (number * (u * u / 2 + math.log(centre)) - math.log(delta)) / u

    best = min(range(1, 4000), key=lambda k: tail(k / 100)) / 100
    size = min(tail(best + k * 1e-6) for k in range(-10_000, 10_001) if best + k * 1e-6 > 0)
    loss = Fraction((moved * size + number * moved * moved / 2) * (1 + 1e-12))
    return Terms(rho=loss**2 / 2, pure=None, delta=exact(body["delta"]), conditional=True)


@price_of("prsma")
def _prsma(body: Body) -> Terms:
    return Terms(rho=(62 * exact(body["epsilon"])) ** 2 / 2, pure=None, delta=11 * exact(body["delta"]))


@price_of("group")
def _group(body: Body) -> Terms:
    one, size = terms_of(body["event"]), int(body["size"])
    if size > 1 and (one.delta or one.shift or one.log_factor):
        raise ValueError("no rule for several rows a unit")
    pure = None if one.pure is None else size * one.pure
    gaussian = None if one.gaussian is None else size**2 * one.gaussian
    return Terms(size**2 * one.rho, pure, one.delta, conditional=one.conditional, gaussian=gaussian)


@price_of("tuned")
def _tuned(body: Body) -> Terms:
    """The best of a random number of runs (privacy/random_runs.py has the proof): h is 1 or 2 by the law."""
    budget, stop = exact(body["budget"]), exact(body["stop"])
    h = {"logarithmic": 1, "geometric": 2}[body["law"]]
    if body["pure"]:
        return _pure((1 + h) * budget)
    with localcontext(Context(prec=DIGITS)):
        log_stop = (Decimal(stop.denominator) / Decimal(stop.numerator)).ln()
        each = Decimal(budget.numerator) / Decimal(budget.denominator)
        order = max(Decimal(1), (log_stop / each).sqrt())
        shift = h * (each * (order - 1) + log_stop / order)
        mean = Decimal(stop.denominator) / Decimal(stop.numerator)
        if h == 1:
            mean = (mean - 1) / log_stop
        return Terms(rho=budget, pure=None, shift=_above(shift), log_factor=_above(mean.ln()))
