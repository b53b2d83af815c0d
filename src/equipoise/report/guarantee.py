"""The privacy statement in plain words, from the machine-readable one."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist
from typing import Any, NamedTuple

from equipoise.report.numbers import count, percent, power, significant

__all__ = ["Guarantee", "Spent", "budget", "guarantee", "largest_power"]

LEVEL = 0.05
"""Level of the test in the plain-words statement: the one every statistician knows."""


class Guarantee(NamedTuple):
    """The parts of the statement: one sentence for everyone, and one for those who test hypotheses."""

    promise: str
    test: str
    epsilon: str
    delta: str
    rho: str
    mu: str | None
    curve: tuple[tuple[str, str], ...]


class Spent(NamedTuple):
    """A line of the budget table."""

    words: str
    times: int
    rho: str
    share: float


def largest_power(epsilon: float, delta: float, level: float = LEVEL, mu: float | None = None) -> float:
    """The largest power of a test, of that level, that tells two neighbouring tables apart from the release.

    Guarantees:
        For every event E of an (epsilon, delta)-private output, Pr[E | one] <= e^epsilon Pr[E | other] + delta, in both
        directions; the rejection region and its complement are such events. Of a mu-GDP output it is at most that of
        the best test of N(0, 1) against N(mu, 1), by definition.

    Example:
        >>> round(largest_power(1.0, 0.0), 4), largest_power(0.0, 0.0)
        (0.1359, 0.05)
        >>> round(largest_power(1.0, 1e-9, mu=0.178), 4)
        0.0712
    """
    if mu is not None:
        normal = NormalDist()
        return min(largest_power(epsilon, delta, level), normal.cdf(normal.inv_cdf(level) + mu))
    # Beyond e^700 a float overflows; the bound is 1 long before.
    grown = math.exp(min(epsilon, 700.0))
    return max(level, min(1.0, grown * level + delta, 1 - (1 - delta - level) / grown))


def _protected(claim: dict[str, Any], table: str) -> str:
    """Who is protected, and from what: the words between "whether" and the colon."""
    if claim["unit"] == "one record":
        return f"any one record of {table} was as it is or had been replaced by another"
    limit = int(claim["rows_per_unit"])
    rows = "the row" if limit == 1 else f"the rows (up to {count(limit)})"
    verb, others = ("was as it is", "another") if limit == 1 else ("were as they are", "others")
    return f"{rows} of any one {claim['unit']} in {table} {verb} or had been replaced by {others}"


def _confidence(power_bound: float) -> str:
    """How well the two can be told apart, in words no stronger than the bound on a test's power."""
    if power_bound <= 0.25:
        return "can hardly tell"
    if power_bound <= 0.65:
        return "can tell only with limited confidence"
    return "may be able to tell (epsilon is large, so this promise is weak)"


def _condition(claim: dict[str, Any]) -> str:
    """What of the promise is not proven, where something is not."""
    if "conditional" not in claim:
        return ""
    apart = claim["conditional"]
    share = significant(float(Fraction(apart["conditional_rho"])))
    return f" NOT PROVEN, and apart from the rest: rho {share} of the cost {apart['condition']}."


def guarantee(statement: dict[str, Any]) -> Guarantee:
    """The guarantee of a statement in words."""
    claim = statement["guarantee"]
    epsilon, delta = float(claim["epsilon"]), float(claim["delta"])
    mu = claim.get("mu")
    bound = largest_power(epsilon, delta, mu=mu)
    protected = _protected(claim, str(statement["table"]))
    up_to = f", up to an added probability of {power(delta)}" if delta else ""
    promise = (
        f"Whoever sees this release {_confidence(bound)} whether {protected}: anything they can see is at most"
        f" {significant(math.exp(min(epsilon, 700.0)), 3)} times (e to the power epsilon) as likely one way as the"
        f" other{up_to}. This holds whatever they know already and whatever they do with the release. The number of"
        f" records, {count(statement['num_rows'])}, is public.{_condition(claim)}"
    )
    test = (
        f"In a statistician's words: a test of level {percent(LEVEL, 0)} that looks at this release, to tell one such"
        f" table from the other, has power at most {percent(bound, 1)}."
    )
    curve = tuple((power(float(d)), f"{float(e):.3f}") for d, e in claim["curve"].items())
    rho, said = significant(float(claim["rho"])), None if mu is None else significant(float(mu))
    return Guarantee(promise, test, significant(epsilon), power(delta), rho, said, curve)


MAX_EVENTS = 12
"""Rows of the budget's table; a plan with a noise level for each marginal would fill pages."""


def budget(statement: dict[str, Any], *, in_full: str = "statement.json") -> list[Spent]:
    """What was paid for, in the order of first use; beyond MAX_EVENTS rows, summed by kind (`in_full`: see where)."""
    lines = [(str(event["words"]), int(event["times"]), float(event["rho"])) for event in statement["events"]]
    if len(lines) > MAX_EVENTS:
        kinds: dict[str, tuple[int, float]] = {}
        for words, times, rho in lines:
            kind = f"{words.split(',')[0]}, of several noise levels (each in {in_full})"
            before = kinds.get(kind, (0, 0.0))
            kinds[kind] = (before[0] + times, before[1] + rho)
        lines = [(kind, times, rho) for kind, (times, rho) in kinds.items()]
    total = sum(rho for _, _, rho in lines)
    return [Spent(words, times, significant(rho), rho / total if total > 0 else 0.0) for words, times, rho in lines]
