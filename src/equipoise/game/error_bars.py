"""Error bars that the game gives away: bounds on every query's error, from public quantities, at no cost.

The last selection is evidence about all queries at once. The exponential mechanism picks a query whose error is within
(2/epsilon) log(|Q|/beta) counts of the largest (mcsherry2007mechanism, Theorem 6), and the picked error is known up
to the noise of its measurement; so no query that could have been picked was further off. The last repair moved each
answer by a known amount, which is added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from equipoise.core import FloatArray, Move
from equipoise.game.loop import Outcome
from equipoise.queries.queries import Queries

__all__ = ["FAILURE", "SelectionEvidence", "error_bars"]

FAILURE = 0.05
"""All bars hold together with probability 1 - FAILURE: two fifths for the selection, the rest for measurements."""


@dataclass(frozen=True)
class SelectionEvidence:
    """What the bounds need to know of the query player: public parameters."""

    epsilon: Fraction | None
    """Parameter of the selection; None when everything was measured and nothing selected."""
    num_candidates: int
    """What was selected from: queries, or whole marginals."""
    repeats: bool
    gaussian: bool
    """Whether the measurements' noise is Gaussian (else Laplace)."""


def _reach(
    evidence: SelectionEvidence, stddev: float | FloatArray, num_measured: int, failure: float
) -> float | FloatArray:
    """A bound on the noise of all measurements at once, in counts, that fails with probability at most 3/5 `failure`.

    Guarantees:
        Discrete Gaussian noise is sub-Gaussian with its own parameter (canonne2020discrete, Corollary 17 in v4):
        Pr[|noise| > t s] <= 2 exp(-t^2/2). Laplace noise of scale b has Pr[|noise| > t b] <= exp(-t), and stddev >=
        sqrt(2) b - 1.
    """
    each = 0.6 * failure / max(1, num_measured)
    if evidence.gaussian:
        return stddev * math.sqrt(2 * math.log(2 / each))
    return (stddev + 1) / math.sqrt(2) * math.log(1 / each) + 1


def error_bars(
    outcome: Outcome, workload: Queries, num_rows: int, evidence: SelectionEvidence, *, failure: float = FAILURE
) -> FloatArray:
    """Half-widths, one a query, that hold together for the model's answers, by default with probability 0.95.

    Guarantees:
        With probability at least 1 - failure over the mechanisms' noise, |q(model) - q(table)| is at most the bar of
        q for every query of the workload. Uses moves and played answers only: post-processing.
    """
    if outcome.last_played is None:
        return np.ones(workload.num_queries)
    final = workload.on(outcome.distribution)
    last = outcome.moves[-1]
    num_measured = sum(len(move.ids) for move in outcome.moves)
    bars = np.ones(workload.num_queries)
    if evidence.epsilon is not None:
        before = outcome.last_played.answers
        weights = workload.weights().astype(np.float64)
        slack = math.log(evidence.num_candidates / (0.4 * failure)) * 2 * weights.max(initial=1.0)
        seen = np.abs(_measured(last) - num_rows * before[last.ids]) + _reach(
            evidence, last.stddev, num_measured, failure
        )
        worst = float((weights[last.ids] * seen).max()) + slack / float(evidence.epsilon)
        bars = worst / weights / num_rows + np.abs(final - before)
    for move in outcome.moves:
        direct = (
            np.abs(_measured(move) / num_rows - final[move.ids])
            + _reach(evidence, move.stddev, num_measured, failure) / num_rows
        )
        # A query that may not be picked again was not among the candidates of the last selection, unless it was just
        # picked.
        usable = evidence.repeats or move is last
        bars[move.ids] = np.minimum(bars[move.ids], direct) if usable else direct
    capped: FloatArray = np.minimum(bars, 1.0)
    return capped


def _measured(move: Move) -> FloatArray:
    if move.values is None:
        raise ValueError("error bars need measured moves")
    return move.values.astype(np.float64)
