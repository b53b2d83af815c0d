"""What was drawn in earlier rounds, each draw weighted by what its query's weight did since, as far as can be known.

A round of DualQuery multiplies the weight of a query by exp(rate (q(table) - q(records))) (gaboardi2014dual, Algorithm
1, arXiv v2). A draw of some rounds ago, times these factors, speaks for the weights of now: hearing many rounds is then
like drawing as many times as often, at no cost. Without the factors it would keep asking for what is repaired already,
and the game would swing. q(table) is private; what was played lately hovers around it, so its mean stands in for it.

Post-processing: moves and records only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from equipoise.core import Codes, FloatArray, IntArray, Move
from equipoise.errors import QueryError
from equipoise.queries.queries import Queries

__all__ = ["Remembered", "held", "recall", "remember", "update"]

REFERENCE = 100
"""Rounds whose mean answer stands in for the table's."""

LEAST_REFERENCE = 30
"""Rounds before which that mean is not relied on: Adult at epsilon 0.1 plays 21, and loses a tenth by it."""

SHORT = 4
"""Rounds that may be heard together as they are: the weights change little in so few."""

MOST_CHANGE = 3.0
"""Largest change of a draw's log-weight that is believed."""


class Remembered(NamedTuple):
    """A round's draws.

    Attributes:
        ids: The queries.
        signs: 1, or -1 for a negation.
        expected: What stands in for the table's answers.
        change: By how much the logarithm of each one's weight changed since, as far as is known.
    """

    ids: IntArray
    signs: IntArray
    expected: FloatArray
    change: FloatArray


def remember(workload: Queries, move: Move, rounds: Sequence[Codes]) -> Remembered:
    """The newest draws; what was played in the newest rounds says what to expect of them."""
    expected = held(workload, move.ids, np.concatenate(rounds[-REFERENCE:], axis=1))
    return Remembered(move.ids, move.signs, expected, np.zeros(len(move.ids)))


def update(workload: Queries, heard: Sequence[Remembered], played: Codes, rates: FloatArray) -> tuple[Remembered, ...]:
    """The same draws after a round that played these records, with the learning rate of each query."""
    ids = np.concatenate([each.ids for each in heard])
    answers = np.split(held(workload, ids, played), np.cumsum([len(each.ids) for each in heard])[:-1])
    return tuple(
        each._replace(change=each.change + rates[each.ids] * each.signs * (each.expected - own))
        for each, own in zip(heard, answers, strict=True)
    )


def recall(heard: Sequence[Remembered], *, num_rounds: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Ids, signs and weights of what is to be answered now; the newest SHORT rounds alike while few were played.

    Together they weigh at most as much as the draws of SHORT rounds, so that noise on a record's values means the same
    whatever is remembered.
    """
    if num_rounds < LEAST_REFERENCE:
        heard = [each._replace(change=np.zeros_like(each.change)) for each in heard[-SHORT:]]
    weights = np.exp(np.clip(np.concatenate([each.change for each in heard]), -MOST_CHANGE, MOST_CHANGE))
    weights *= min(1.0, SHORT / len(heard)) / weights.mean()
    return np.concatenate([each.ids for each in heard]), np.concatenate([each.signs for each in heard]), weights


def held(workload: Queries, ids: IntArray, codes: Codes) -> FloatArray:
    """The share of the records on which each of these queries holds.

    Example:
        >>> from equipoise.data.domain import Domain
        >>> from equipoise.queries.conjunctions import Conjunctions
        >>> pairs = Conjunctions.of(Domain(("a", "b"), (2, 2)), [[0, 1], [0, 1]], [[1, 0], [1, 1]])
        >>> held(pairs, np.array([0, 1]), np.array([[1, 1, 1, 0], [1, 1, 0, 0]], dtype=np.uint8)).tolist()
        [0.25, 0.5]
    """
    try:
        columns, wanted = workload.literals(ids)
    except QueryError:  # ranges and the like
        return np.array([_share(workload, int(i), codes) for i in ids])
    holds = np.ones((len(ids), codes.shape[1]), dtype=np.bool_)
    for column, code in zip(columns.T, wanted.T, strict=True):
        holds &= (codes[np.maximum(column, 0)] == code[:, np.newaxis]) | (column < 0)[:, np.newaxis]
    return np.asarray(holds.mean(axis=1), dtype=np.float64)


def _share(workload: Queries, query_id: int, codes: Codes) -> float:
    query = workload.query(query_id)
    masks = [mask[codes[column]] for column, mask in query.conditions.items()]
    return float(np.logical_and.reduce(masks).mean())
