"""The game that rounds play: capped multiplicative weights over queries against multiplicative weights over records."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from equipoise.analysts.hypotheses import Scores
from equipoise.core import FloatArray, IntArray, Progress
from equipoise.data.rules import Rules
from equipoise.queries.query import Query
from equipoise.query_players.capped_hedge import CappedHedge

__all__ = ["play_records"]


def play_records(
    player: CappedHedge,
    queries: Sequence[Query],
    *,
    shape: tuple[int, ...],
    rules: Rules | None,
    rate: Fraction,
    num_rounds: int,
    progress: Progress,
) -> tuple[IntArray, FloatArray]:
    """Cells of the records played, one a round, and the mean of their answers to each query.

    The data player: log D_t(x) = (rate/2) Σ_{j <= t} q_j(x) over the queries drawn so far; then x_t is drawn from
    D_t. The queries' true answers cancel, so given the queries drawn nothing here depends on the table.
    """
    scores = Scores(shape, rules)
    cells = np.empty(num_rounds, dtype=np.int64)
    for t in range(num_rounds):
        drawn = player.draw()
        if drawn is not None:
            place, sign = drawn
            scores.add([(queries[place], -sign)])
        cells[t] = scores.draw(rate / 2, 1)[0]
        player.update(np.array(np.unravel_index(cells[t], shape)))
        progress(t + 1, num_rounds)
    return cells, player.sums / num_rounds
