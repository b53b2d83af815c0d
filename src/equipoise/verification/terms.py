"""The second accountant: prices of a statement's events, computed again from their JSON.

It shares no line with `equipoise.privacy`: it reads the events as text, prices them with formulas written down anew,
and converts by minimising epsilon over the order directly (`epsilon`), in decimal arithmetic of 50 digits, rounded
upwards. What the first accountant claims must never be less than what this one finds.

An event kind that it does not know is an error, never a price of nothing. `price_of(kind)` registers one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any, TypeAlias

from equipoise.errors import OutputError
from equipoise.verification.gaussian import epsilon_of_gaussian

__all__ = ["PRICES", "Terms", "add_up", "epsilon", "exact", "price_of", "terms_of"]

DIGITS = 50
UPWARDS = Decimal("1e-30")
"""What is added, as a share, after transcendental functions: far above their rounding, far below any claim."""

Body: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Terms:
    """A bound on the Rényi divergence of every order a: rho a + shift + log_factor / (a - 1), outside delta.

    `pure` bounds it at every order, where the event has such a bound. `conditional` says whether any of it rests on a
    solver's certificate. `gaussian` is mu^2/2 of Gaussian differential privacy, where the event has that.
    """

    rho: Fraction = Fraction(0)
    pure: Fraction | None = Fraction(0)
    delta: Fraction = Fraction(0)
    shift: Fraction = Fraction(0)
    log_factor: Fraction = Fraction(0)
    conditional: bool = False
    gaussian: Fraction | None = None

    def times(self, number: int) -> Terms:
        """The same event so many times."""
        pure = None if self.pure is None else self.pure * number
        more = (self.delta * number, self.shift * number, self.log_factor * number)
        gaussian = None if self.gaussian is None else self.gaussian * number
        return Terms(self.rho * number, pure, *more, self.conditional, gaussian)


Price: TypeAlias = Callable[[Body], Terms]
PRICES: dict[str, Price] = {}
"""Every kind of event that can be checked."""


def price_of(kind: str) -> Callable[[Price], Price]:
    """Register the price of a kind of event."""

    def register(price: Price) -> Price:
        PRICES[kind] = price
        return price

    return register


def terms_of(body: Body) -> Terms:
    """The price of one event of a statement.

    Raises:
        OutputError: it cannot be read, or its kind is unknown.
    """
    kind = body.get("kind")
    if kind not in PRICES:
        raise OutputError(f"the statement holds an event of the kind {kind!r}, which this version cannot check")
    try:
        found = PRICES[str(kind)](body)
        if any(isinstance(part, float) for part in astuple(found)):  # a number of draws, say, that is no whole one
            raise TypeError("not exact")
        return found
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise OutputError(f"the statement holds an event {kind!r} whose parameters cannot be read") from error


def exact(text: Any) -> Fraction:
    """A fraction as statements write it; nothing else, such as an exponent that would fill the memory."""
    if not isinstance(text, str) or not re.fullmatch(r"-?\d{1,4000}(/\d{1,4000})?", text, re.ASCII):
        raise ValueError("not a fraction")
    return Fraction(text)


def add_up(parts: Iterable[Terms]) -> Terms:
    """The price of all of them, in any order, each chosen after seeing the others' results."""
    result = Terms(gaussian=Fraction(0))
    for part in parts:
        pure = None if result.pure is None or part.pure is None else result.pure + part.pure
        result = Terms(
            result.rho + part.rho,
            pure,
            result.delta + part.delta,
            result.shift + part.shift,
            result.log_factor + part.log_factor,
            result.conditional or part.conditional,
            None if result.gaussian is None or part.gaussian is None else result.gaussian + part.gaussian,
        )
    return result


def epsilon(terms: Terms, delta: float) -> float:
    """The smallest epsilon found at which the terms imply (epsilon, delta)-DP, rounded up; 0 < delta < 1.

    Guarantees:
        For every order a > 1, divergence at most D_a implies (epsilon, delta)-DP with
        epsilon = D_a + log(1 - 1/a) - (log delta + log a)/(a - 1)  (canonne2020discrete, Proposition 12 in v4, solved
        for epsilon). Any order is valid, so the search (golden sections in log(a - 1)) can only overestimate. A
        statement whose terms have a delta of their own needs it taken off first: see `claims.needed_epsilon`. Where
        all is priced in Gaussian privacy, the smaller of the two.
    """
    with localcontext(Context(prec=DIGITS)):
        log_delta = Decimal(delta).ln()
        linear, constant, single = (_decimal(x) for x in (terms.rho, terms.shift, terms.log_factor))

        def bound(log_order: Decimal) -> Decimal:
            beyond = log_order.exp()
            order = 1 + beyond
            return linear * order + constant + (single - log_delta - order.ln()) / beyond + (beyond / order).ln()

        found = _least(bound, Decimal(-20), Decimal(40))
        capped = found if terms.pure is None else min(found, _decimal(terms.pure))
        by_order = _float_above(max(capped, Decimal(0)) * (1 + UPWARDS))
    return by_order if terms.gaussian is None else min(by_order, epsilon_of_gaussian(terms.gaussian, delta))


def _least(function: Callable[[Decimal], Decimal], low: Decimal, high: Decimal) -> Decimal:
    """The least value that golden sections find."""
    ratio = (Decimal(5).sqrt() - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(120):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = function(right)
    return min(at_left, at_right)


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator) * (1 + (UPWARDS if value > 0 else -UPWARDS))


def _float_above(value: Decimal) -> float:
    found = float(value)
    return math.nextafter(found, math.inf) if Decimal(found) < value else found
