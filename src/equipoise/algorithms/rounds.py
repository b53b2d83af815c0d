"""How many rounds a game has by default: formulas of public quantities.

Every formula looks at n, the budget, the number of columns, of queries and of marginals, and at nothing else. The
factors were chosen on column subsets of public tables (Adult, the American Community Survey, Lending Club, KDD Cup
1999; 4,000 to 494,021 rows) at epsilon 0.1, 0.3, 1 and 10: one value for all of them, not the best for any.
"""

from __future__ import annotations

import math
from fractions import Fraction

from equipoise.algorithms.algorithm import Setting

__all__ = ["mwem_rounds", "pep_rounds", "selection_share"]

CELL_FACTOR = 2.0
"""Rounds of one cell each: this times (n √rho / log|Q|)^(2/3)."""

RESOLUTION_PER_ROUND = 15.0
"""Rounds of a whole marginal each: n √rho divided by this."""


def selection_share(*, whole_marginals: bool) -> Fraction:
    """Share of the budget for selecting; whole marginals are few, so easy to tell apart.

    Example:
        >>> selection_share(whole_marginals=True)
        Fraction(1, 10)
    """
    return Fraction(1, 10) if whole_marginals else Fraction(1, 2)


def mwem_rounds(setting: Setting, *, whole_marginals: bool = False) -> int:
    """Rounds of MWEM."""
    return _marginal_rounds(setting) if whole_marginals else _cell_rounds(setting)


def pep_rounds(setting: Setting, *, whole_marginals: bool = False, annealed: bool = False) -> int:
    """Rounds of PEP: the data players differ, what noise and selection allow does not.

    An annealed schedule begins with as many rounds as mckenna2022aim does (section 4.3 in v2), 16 a column, and has
    fewer in the end.
    """
    if annealed:
        return 16 * len(setting.grouped.domain.sizes)
    return _marginal_rounds(setting) if whole_marginals else _cell_rounds(setting)


def _cell_rounds(setting: Setting) -> int:
    """T = c (n √rho / log|Q|)^(2/3).

    A round's selection misses errors below about √T log|Q| / (n √rho), and T measured cells leave errors that fall
    like 1/T on skewed tables: the two meet there. With a pure budget epsilon composition is linear, the missed error
    is T log|Q| / (n epsilon), and they meet at the square root.
    """
    num_queries = max(2, setting.grouped.num_queries)
    if setting.epsilon is not None:
        resolution = setting.num_rows * float(setting.epsilon_per_record) / 2
        rounds = CELL_FACTOR * math.sqrt(resolution / math.log(num_queries))
    else:
        resolution = setting.num_rows * math.sqrt(setting.rho_per_record)
        rounds = CELL_FACTOR * (resolution / math.log(num_queries)) ** (2 / 3)
    # A query can be measured once only in PEP, and again in MWEM to little use.
    return max(1, min(math.ceil(rounds), num_queries))


def _marginal_rounds(setting: Setting) -> int:
    """T = n √rho / 15, or all marginals if there are fewer.

    All cells of a marginal cost as much as two, however many they are, and what is never measured has errors that
    no noise explains: so every marginal is measured once as long as the noise of a cell, √(T/rho)/n of all records,
    stays below 1/(15 √T). A pure budget has noise 2√2 T / (n epsilon) and meets the same limit at
    T^(3/2) = n epsilon / (15 · 2√2).
    """
    if setting.epsilon is not None:
        resolution = setting.num_rows * float(setting.epsilon_per_record) / math.sqrt(8)
        rounds: float = (resolution / RESOLUTION_PER_ROUND) ** (2 / 3)
    else:
        rounds = setting.num_rows * math.sqrt(setting.rho_per_record) / RESOLUTION_PER_ROUND
    # However small the budget: with fewer, columns or pairs of them are never looked at, which costs more than noise.
    least = 2 * len(setting.grouped.domain.sizes)
    return min(max(math.ceil(rounds), least), len(setting.grouped.groups))
