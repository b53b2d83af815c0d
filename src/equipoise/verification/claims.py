"""Whether a statement's figures and words follow from its own events, by the second accountant."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from equipoise.verification import analyst_prices, prices  # noqa: F401  they register themselves
from equipoise.verification.terms import Terms, add_up, epsilon, terms_of
from equipoise.verification.words import adjacency_of, definitions_of, words_of

__all__ = ["Check", "check_claims", "needed_epsilon"]

TOLERANCE = 1e-9
"""Relative: what two honest accountants may differ by in floating point. A claim below that is refused."""


class Check(NamedTuple):
    """One thing that was looked at.

    Attributes:
        what: In words.
        claimed: What the statement says.
        found: What it should be at least, or be.
        holds: Whether the claim stands.
    """

    what: str
    claimed: str
    found: str
    holds: bool


def needed_epsilon(terms: Terms, delta: float, claimed: float) -> float:
    """The epsilon that the terms need at this delta, if that is at most `claimed`; else something above it.

    Events with a delta* of their own leave delta - (1 + e^claimed) delta* to the rest (docs/mechanisms.md, Lemma D).
    """
    rest = delta - (1 + math.exp(min(claimed, 700.0))) * float(terms.delta)
    return epsilon(terms, rest) if 0 < rest < 1 else math.inf


def check_claims(statement: Mapping[str, Any]) -> list[Check]:
    """Every figure of the guarantee, every event's price and every sentence, computed again."""
    listed, claim = statement["events"], statement["guarantee"]
    total = add_up(terms_of(item["event"]).times(item["times"]) for item in listed)
    return [*_guarantee(claim, total), *_prices(listed), _units(claim, listed), *_words(claim, total, listed)]


def _at_least(what: str, claimed: float, found: float) -> Check:
    return Check(what, f"{claimed:.9g}", f"{found:.9g}", found <= claimed * (1 + TOLERANCE))


def _guarantee(claim: Mapping[str, Any], total: Terms) -> Iterator[Check]:
    stated, delta = float(claim["epsilon"]), float(claim["delta"])
    if delta == 0:
        found = math.inf if total.pure is None else float(total.pure)
        exact = claim.get("pure_epsilon")  # absent where a delta too small for a float was written by hand
        yield _at_least("pure epsilon", stated if exact is None else min(stated, float(Fraction(exact))), found)
    else:
        yield _at_least(f"epsilon at delta {delta:.3g}", stated, needed_epsilon(total, delta, stated))
    if not total.shift:
        yield _at_least("rho", float(Fraction(claim["rho_exact"])), float(total.rho))
    if (half := claim.get("half_mu_squared_exact")) is not None:
        found = math.inf if total.gaussian is None else float(total.gaussian)
        yield _at_least("half of mu squared", float(Fraction(half)), found)
        mu = math.sqrt(2 * Fraction(half))
        is_close = math.isclose(claim["mu"], mu, rel_tol=TOLERANCE)
        yield Check("mu as a number", f"{claim['mu']:.9g}", f"{mu:.9g}", is_close)
    for at, value in claim["curve"].items():
        # The curve is of what the events cost where nothing unlikely happened; a delta of their own comes on top.
        shape = Terms(total.rho, None, Fraction(0), total.shift, total.log_factor, gaussian=total.gaussian)
        found = epsilon(shape, float(at))
        yield _at_least(f"epsilon at delta {at}", float(value), found)
    stated_condition = "conditional" in claim
    rho = float(Fraction(claim["rho_exact"]))
    yield Check(
        "rho as a number", f"{claim['rho']:.9g}", f"{rho:.9g}", math.isclose(claim["rho"], rho, rel_tol=TOLERANCE)
    )
    words = {True: "conditional on a solver's certificates", False: "unconditional"}
    yield Check("condition", words[stated_condition], words[total.conditional], stated_condition >= total.conditional)


def _prices(listed: list[Mapping[str, Any]]) -> Iterator[Check]:
    for item in listed:
        each = terms_of(item["event"]).times(item["times"])
        if not each.shift:
            yield _at_least(f"rho of: {item['words']}", float(item["rho"]), float(each.rho))
        if item["epsilon"] is not None:
            found = math.inf if each.pure is None else float(each.pure)
            yield _at_least(f"epsilon of: {item['words']}", float(item["epsilon"]), found)


def _words(claim: Mapping[str, Any], total: Terms, listed: list[Mapping[str, Any]]) -> Iterator[Check]:
    """The sentences must be those that the figures give; of the events', the first that is not is told."""
    names = definitions_of(claim, is_zcdp=not total.shift)
    fitting = claim["definition"] if claim["definition"] in names else names[-1]
    yield Check("definition", claim["definition"], fitting, claim["definition"] == fitting)
    adjacency = adjacency_of(claim)
    yield Check("neighbouring tables", claim["adjacency"], adjacency, claim["adjacency"] == adjacency)
    told = [(item["words"], words_of(item["event"])) for item in listed]
    said, right = next((pair for pair in told if pair[0] != pair[1]), ("as the events", "the same"))
    yield Check("words of the events", said, right, all(one == other for one, other in told))


def _units(claim: Mapping[str, Any], listed: list[Mapping[str, Any]]) -> Check:
    """Of a table with several rows a unit every event must be charged for as many rows."""
    size = int(claim["rows_per_unit"])
    charged = min((_rows(item["event"], size) for item in listed), default=size)
    return Check("rows a unit", str(size), str(charged), charged >= size)


def _rows(event: Mapping[str, Any], size: int) -> int:
    if event["kind"] == "tuned":  # its budget is a unit's already
        return size
    return int(event["size"]) if event["kind"] == "group" else 1
