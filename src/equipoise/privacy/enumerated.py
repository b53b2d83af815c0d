"""The exponential mechanism over every query of a small class: no solver, no certificate, nothing conditional."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from equipoise.core import Move
from equipoise.errors import SettingError
from equipoise.oracles.classes.minimisers import ByEnumeration
from equipoise.oracles.classes.query_class import QueryClass
from equipoise.privacy.events import Exponential
from equipoise.privacy.gate import Gate, Turn
from equipoise.privacy.mechanisms import float_above
from equipoise.privacy.perturbed import GRID, PublicPoints, accepted, weighed
from equipoise.privacy.private_points import PrivatePoints
from equipoise.privacy.rspm import Chosen

__all__ = ["choose_enumerated"]


def choose_enumerated(
    gate: Gate,
    points: PrivatePoints,
    query_class: QueryClass,
    *,
    epsilon: Fraction,
    public: PublicPoints | None = None,
    number: int = 0,
    max_queries: int = 1_000_000,
) -> Chosen:
    """A query of the class with a small weighted sum F, by the exponential mechanism (P3).

    Guarantees:
        Precondition: the records' weights are -1, 0 or 1. Statement: Pr[q] proportional to exp(-epsilon F(q) / 2),
        exactly: epsilon-DP and epsilon²/8-zCDP for one record replaced (cesar2021bounding, Lemma 3.2 in v2). Proof:
        replacing a record (x, w) by (x', w') moves F(q) by w' q(x') - w q(x), which lies in an interval of length 2 for
        all queries; less its middle, the same for all, which does not change the law, it is at most 1 in size.

    Args:
        gate: Debits, and keeps the choice, in one move.
        points: The records.
        query_class: Of at most `max_queries` queries.
        epsilon: Pure privacy.
        public: Public records to be weighed with the private ones.
        number: How many choices come before this one in the run; one that was made is returned as it was.
        max_queries: What is refused beyond.

    Raises:
        SettingError: the class is too large, or the records do not fit it.
    """
    if (reason := ByEnumeration(max_queries).refuses(query_class)) is not None:
        raise SettingError(f"the exponential mechanism tries every query, and {reason}; use RSPM")
    accepted(points, query_class, ByEnumeration(max_queries))
    event = Exponential(Fraction(epsilon))

    if number < len(gate.moves):
        return Chosen(gate.moves[number].ids, query_class, event, None)
    # Before the ledger's transaction, which others would have to wait for; nobody sees the scores but the draw.
    every = query_class.every()
    scores = -weighed(points, query_class, public).values(every)

    def play(turn: Turn) -> Move:
        turn.debit(event)
        chosen = every[turn.noise.largest(scores, float_above(2 * GRID / event.epsilon), 1, "gumbel")[0]]
        return Move(chosen, np.zeros_like(chosen), None, 0.0)

    return Chosen(gate.play(play).ids, query_class, event, None)
