"""The terms of a session or round: public facts, and what may be spent on people and on analysts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from equipoise.data.schema import Schema
from equipoise.data.table import Table
from equipoise.errors import SettingError
from equipoise.pipeline import Request
from equipoise.privacy import accountant
from equipoise.privacy.events import ConditionalRelease
from equipoise.request import limits

__all__ = ["FAILURE", "Terms", "laplace_reach", "terms_of", "tests_of"]

FAILURE = 0.05
"""All half-widths of a session or round hold together with probability 1 - FAILURE."""

SESSIONS = 20
"""What is left to failure probabilities of a mechanism: a twentieth of delta, so that many sessions share one."""


@dataclass(frozen=True)
class Terms:
    """Public facts, and budgets as the mechanisms take them.

    Attributes:
        num_rows: Records in the table.
        num_cells: Cells of its domain.
        rows_per_unit: Rows of one privacy unit.
        num_analysts: Bound on the number of analysts.
        queries_each: Bound on the queries of each.
        rho: What may be spent on a privacy unit.
        tests_delta: The failure probability that tests may have (P9).
        analyst_rho: What may be spent on an analyst.
        analyst_delta: The failure probability that noisy limits and games may have.
        epsilon: The data budget as it was asked for.
        delta: Its delta.
        analyst_epsilon: The analysts' budget as it was asked for.
        total_analyst_delta: Its delta.
    """

    num_rows: int
    num_cells: int
    rows_per_unit: int
    num_analysts: int
    queries_each: int
    rho: Fraction
    tests_delta: Fraction
    analyst_rho: Fraction
    analyst_delta: Fraction
    epsilon: float
    delta: float
    analyst_epsilon: float
    total_analyst_delta: float

    @property
    def num_queries(self) -> int:
        """Bound on the number of all queries."""
        return self.num_analysts * self.queries_each

    @property
    def log_cells(self) -> float:
        """Logarithm of the size of the domain: how far the uniform distribution is from any table, at most."""
        return math.log(max(2, self.num_cells))


def terms_of(
    table: Table,
    *,
    epsilon: float,
    delta: float | None,
    analyst_epsilon: float,
    analyst_delta: float | None,
    num_analysts: int,
    queries_each: int,
    accept_inferred: bool,
    analyst_total: tuple[float, float] | None,
) -> Terms:
    """Check what is asked for, and work out what may be spent.

    Raises:
        SettingError: a number is out of range.
        SchemaError: the schema is not confirmed.
    """
    if num_analysts < 1 or queries_each < 1:
        raise SettingError("the number of analysts and of the queries of each must be at least 1")
    schema: Schema = table.schema
    if schema.items is not None:
        raise SettingError("analysts ask about a table of columns, and this is a table of items")
    given = limits(Request(table, epsilon=epsilon, delta=delta, accept_inferred=accept_inferred))
    if not 0 < analyst_epsilon <= MAX_EPSILON or epsilon > MAX_EPSILON:
        raise SettingError(f"epsilon and the analysts' epsilon must be positive, and at most {MAX_EPSILON}")
    second = 1 / (num_analysts * queries_each + 1) ** 2 if analyst_delta is None else analyst_delta
    if not 0 < second < 1:
        raise SettingError("the analysts' delta must lie strictly between 0 and 1; the default is about 1/k^2")
    people = _split(epsilon, given.delta, None if not schema.epsilon else (schema.epsilon, schema.delta or 0.0))
    analysts = _split(analyst_epsilon, second, analyst_total)
    return Terms(
        given.num_rows,
        schema.domain.num_cells,
        schema.rows_per_unit,
        num_analysts,
        queries_each,
        *people,
        *analysts,
        epsilon,
        given.delta,
        analyst_epsilon,
        second,
    )


MAX_EPSILON = 200
"""Beyond it nothing is protected, and exponentials of it overflow."""


def _split(epsilon: float, delta: float, total: tuple[float, float] | None) -> tuple[Fraction, Fraction]:
    """What may be spent in rho, and the failure probability that goes with it.

    The ledger counts a failure probability (1 + e^epsilon) times (Lemma D), with the epsilon of the account's total.
    """
    worst = max(epsilon, total[0] if total else 0.0)
    least = min(delta, total[1]) if total and total[1] else delta
    own = accountant.exact(least / (SESSIONS * (1 + math.exp(worst))) * (1 - 1e-6))
    return accountant.rho_of(epsilon=epsilon, delta=delta - (1 + math.exp(epsilon)) * float(own) * (1 + 1e-6)), own


def tests_of(rho: Fraction, max_hits: int, delta: Fraction) -> ConditionalRelease:
    """The conditional release (P9) of so many values with the least noise that costs at most rho.

    Example:
        >>> event = tests_of(Fraction(1, 50), 100, Fraction(1, 10**8))
        >>> Fraction(99, 5000) < accountant.cost(event).rho <= Fraction(1, 50)
        True
    """
    low, high = 0.0, 1.0
    while accountant.cost(ConditionalRelease(accountant.exact(high), max_hits, delta)).rho <= rho:
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        cheap = accountant.cost(ConditionalRelease(accountant.exact(middle), max_hits, delta)).rho <= rho
        low, high = (middle, high) if cheap else (low, middle)
    return ConditionalRelease(accountant.exact(low), max_hits, delta)


def laplace_reach(scale: Fraction | float, num_draws: int, failure: float) -> int:
    """A number that no one of so many discrete Laplace noises exceeds in size, but with the failure probability.

    Guarantees:
        Pr[|noise| > m] = 2 p^(m+1) / (1 + p) with p = exp(-1/scale), times the number of draws.

    Example:
        >>> laplace_reach(1.0, 1, 2 * math.exp(-4) / (1 + math.exp(-1)) * 1.001)
        3
    """
    rate = 1 / float(scale)
    return max(0, math.ceil(math.log(2 * num_draws / ((1 + math.exp(-rate)) * failure)) / rate * (1 + 1e-12)) - 1)
