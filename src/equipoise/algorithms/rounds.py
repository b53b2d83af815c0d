"""How many rounds a game has by default: formulas of public quantities.

Every formula looks at n, the budget, the number of queries and of marginals, and at nothing else. The exponents are
the theory's; the factors were fitted on column subsets of public tables (Adult, the American Community Survey, Lending
Club, KDD Cup 1999) at epsilon 0.1, 1 and 10, and are flat around the value given: half or double the rounds change
the largest error by less than a third.
"""

from __future__ import annotations

import math
from fractions import Fraction

from equipoise.algorithms.algorithm import Setting

__all__ = ["mwem_rounds", "pep_rounds", "selection_share"]

CELL_FACTOR = 2.0
"""Rounds of one cell each: this times (n √rho / log|Q|)^(2/3)."""

ROUNDS_PER_RESOLUTION = 1 / 15
"""Rounds of a whole marginal each: this times n √rho, the number of records over which one rho resolves a count."""


def selection_share(*, whole_marginals: bool) -> Fraction:
    """Share of the budget for selecting; whole marginals are few, so easy to tell apart."""
    return Fraction(1, 10) if whole_marginals else Fraction(1, 2)


def mwem_rounds(setting: Setting, *, whole_marginals: bool = False) -> int:
    """Rounds of MWEM."""
    return _marginal_rounds(setting) if whole_marginals else _cell_rounds(setting)


def pep_rounds(setting: Setting, *, whole_marginals: bool = False) -> int:
    """Rounds of PEP."""
    return _marginal_rounds(setting) if whole_marginals else _cell_rounds(setting)


def _marginal_rounds(setting: Setting) -> int:
    """Every marginal of the workload once, if the budget allows; a round measures all cells of one.

    Noise of √(T/rho) a cell is then no more than a few times what a single marginal would get, and what is not measured
    has no such bound. Fewer rounds than two a column would leave columns that were hardly looked at.
    """
    budget = setting.rho_per_record if setting.epsilon is None else setting.epsilon_per_record**2 / 8
    affordable = math.ceil(ROUNDS_PER_RESOLUTION * setting.num_rows * math.sqrt(budget))
    return min(max(affordable, 2 * len(setting.workload.domain.sizes)), len(setting.workload.groups))


def _cell_rounds(setting: Setting) -> int:
    """T = c (n √rho / log|Q|)^(2/3).

    A round's selection misses errors below about √T log|Q| / (n √rho), and T measured cells leave errors that fall
    like 1/T on skewed tables: the two meet there. With a pure budget epsilon composition is linear, the missed error
    is T log|Q| / (n epsilon), and they meet at the square root.
    """
    num_queries = max(2, setting.workload.num_queries)
    if setting.epsilon is not None:
        resolution = setting.num_rows * float(setting.epsilon_per_record) / 2
        rounds = CELL_FACTOR * math.sqrt(resolution / math.log(num_queries))
    else:
        resolution = setting.num_rows * math.sqrt(setting.rho_per_record)
        rounds = CELL_FACTOR * (resolution / math.log(num_queries)) ** (2 / 3)
    # A query can be measured once only in PEP, and again in MWEM to little use.
    return max(1, min(math.ceil(rounds), num_queries))
