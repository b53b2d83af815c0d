"""Draws from multiplicative weights whose probabilities are capped at 1/density (P7): no query is drawn too often.

Capping (the Bregman projection of hsu2013differential, Definition 2.10, with E-004-12) is what hides a query among
others: the law P(a) = min(1, c w(a))/s, with c such that the minima add up to s, changes by at most k/s in total
variation when k actions are replaced (Lemma C, docs/mechanisms.md). For people it costs what uncapped draws cost
(Lemma B).

Floats: a law is computed as floats p, and then drawn from exactly, Pr[a] = p(a)/Σp as the rational numbers they are.
Each p is off by a share of 1e-9 at most (sums of up to a million terms, exponents above -600), so the range of the
log-ratio between neighbours grows by 8e-9 at most: less than SLACK, which is paid for.
"""

from __future__ import annotations

import secrets
from fractions import Fraction
from typing import Protocol

import numpy as np

from equipoise.core import FloatArray, IntArray
from equipoise.errors import LedgerError, SettingError
from equipoise.privacy.events import CappedHedge, Event
from equipoise.privacy.private import GRID, Private, reveal

__all__ = ["SLACK", "CappedDraws", "Paid", "capped", "draw_proportional"]

SLACK = Fraction(1, 2**26)
DEEPEST = -600.0
"""Exponents are cut off this far below the largest: that moves no faster than they do, and nothing underflows."""

_BITS = 40


class Paid(Protocol):
    """A run of the ledger, which knows what it was charged for."""

    def events(self) -> list[Event]:
        """Every event charged."""
        ...


def capped(weights: FloatArray, density: float, times: IntArray | None = None) -> FloatArray:
    """min(1, c w) with c such that they add up to `density`, which must be below the number of weights.

    `times` says how often each weight counts; the results are for one of each.

    Guarantees:
        Precondition: positive weights, 0 < density < their number. Statement: the results add up to `density` and are
        at most 1, up to a share of 1e-9. Proof: hsu2013differential (arXiv v1), Definition 2.10: with the weights in
        falling order and the first j capped, c = (density - j) / (sum of the rest) is the right one at the first j for
        which c times the largest of the rest is at most 1.

    Example:
        >>> capped(np.array([4.0, 2.0, 1.0, 1.0]) / 8, 2).tolist(), capped(np.array([4.0, 2.0, 1.0, 1.0]), 3).tolist()
        ([1.0, 0.5, 0.25, 0.25], [1.0, 1.0, 0.5, 0.5])
        >>> capped(np.array([4.0, 2.0, 1.0]), 3, np.array([1, 1, 2])).tolist()
        [1.0, 1.0, 0.5]
    """
    numbers = np.ones(len(weights), dtype=np.int64) if times is None else times
    if not 0 < density < numbers.sum():
        raise SettingError("the density of a capped law must lie below the number of its actions")
    order = np.argsort(-weights, kind="stable")
    largest, numbers = weights[order], numbers[order]
    sums = np.cumsum((largest * numbers)[::-1])[::-1]
    factors = (density - (np.cumsum(numbers) - numbers)) / sums
    first = int(np.argmax(factors * largest <= 1))
    return np.asarray(np.minimum(1.0, factors[first] * weights))


def draw_proportional(shares: FloatArray) -> int:
    """A position, with probability proportional to these positive floats, exactly.

    Guarantees:
        Precondition: positive floats. Statement: Pr[i] = p_i / Σp for the floats p = shares / max, as the rational
        numbers they are. Proof: proposals have law W_i / ΣW, W_i = floor(2^40 p_i) + 1 >= 2^40 p_i; one is kept with
        probability 2^40 p_i / W_i, as a comparison of integers.
    """
    scaled = shares / shares.max()  # a law of floats; the rounding of this division is part of SLACK's 1e-9
    bounds = np.floor(scaled * 2.0**_BITS).astype(np.int64) + 1
    ends = np.cumsum(bounds)
    while True:
        place = int(np.searchsorted(ends, secrets.randbelow(int(ends[-1])), side="right"))
        kept = Fraction(float(scaled[place])) * 2**_BITS / int(bounds[place])
        if secrets.randbelow(kept.denominator) < kept.numerator:
            return place


class CappedDraws:
    """Draws of a query player, paid for: each a query or a negation, or an analyst and then a query of theirs.

    Guarantees:
        Precondition: each count moves by at most 1 between neighbouring tables; at most one draw after each number of
        updates 0, 1, .. num_rounds - 1.
        Postcondition: the price of `CappedHedge`. After t updates exponents move by h = rate t/2 at most, up or down,
        so the log-ratio of the capped law lies in an interval of length 2h (Lemma B); and so does that of a query
        drawn by its weight among its analyst's (Lemma A).

    Args:
        paid: The run that was charged for them.
        truth: Counts of all queries.
        num_rows: Records in the table.
        density: s: no action is drawn with a probability above 1/s.
        owners: For each query the analyst that it belongs to; None: queries are capped, not analysts.
        num_actions: Queries and their negations, or analysts, with what is added to reach a public number: actions
            that are always right, whose weight stays what it was.
    """

    def __init__(
        self, paid: Paid, truth: Private, *, num_rows: int, density: float, owners: IntArray | None, num_actions: int
    ) -> None:
        found = [event for event in paid.events() if isinstance(event, CappedHedge)]
        if len(found) != 1 or found[0].draws != (1 if owners is None else 2) or truth.linf_sensitivity > 1:
            raise LedgerError("the ledger has not been charged for the draws of this game; nothing was looked at")
        self._event, self._truth, self._num_rows, self._density = found[0], truth, num_rows, density
        self._num_actions = num_actions
        self._owners = None if owners is None else np.concatenate([owners, owners])

    def exponents(self, sums: FloatArray, num_updates: int) -> FloatArray:
        """Of queries, then of negations: (rate/2)(t c - n Σ q(x)). Secret."""
        if num_updates >= self._event.num_rounds:
            raise SettingError("a game cannot have more rounds than it paid for")
        payoffs = reveal(self._truth.payoffs(self._num_rows * sums, times=num_updates)) / GRID
        return np.asarray(payoffs * (float(self._event.rate) / 2))

    def draw(self, sums: FloatArray, num_updates: int) -> int | None:
        """A position among queries and then negations, or None for an action that was added.

        Args:
            sums: Over the records played so far, of their answers to each query.
            num_updates: How many records that is.
        """
        exponents = self.exponents(sums, num_updates)
        top = max(0.0, float(exponents.max()))  # what was added has exponent 0
        weights = np.exp(np.maximum(exponents - top, DEEPEST))
        actions = weights
        if self._owners is not None:
            actions = np.bincount(self._owners, weights=weights) / np.bincount(self._owners)
        times = np.ones(len(actions), dtype=np.int64)
        if (added := self._num_actions - len(actions)) > 0:
            actions, times = np.append(actions, np.exp(max(DEEPEST, -top))), np.append(times, added)
        action = draw_proportional(capped(actions, self._density, times) * times)
        if added > 0 and action == len(actions) - 1:
            return None
        if self._owners is None:
            return action
        own = np.flatnonzero(self._owners == action)
        return int(own[draw_proportional(weights[own])])
