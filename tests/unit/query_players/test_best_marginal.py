"""What is likely to be off by what was played: it decides between pairs, and is the same on neighbouring tables."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.book import MemoryBook
from tests.noise import NoNoise

from equipoise.core import FloatArray, IntArray
from equipoise.data.distributions import Histogram
from equipoise.data.domain import Domain
from equipoise.privacy.accountant import Cost
from equipoise.privacy.gate import Gate
from equipoise.privacy.private import Private
from equipoise.queries.played import Played
from equipoise.queries.workload import Group, Workload
from equipoise.query_players.best_marginal import BestMarginal, likely_errors

DOMAIN = Domain(("a", "b", "c"), (2, 2, 2))
WORKLOAD = Workload(
    DOMAIN,
    (
        Group((0, 1), (2, 2)),
        Group((0, 2), (2, 2)),
        Group((1, 2), (2, 2)),
        Group((0,), (2,)),
        Group((0, 1, 2), (2, 2, 2)),
    ),
)
TABLE = np.einsum("ab,c->abc", [[0.4, 0.1], [0.1, 0.4]], [0.5, 0.5])
"""The first two columns depend on one another; the third does not on either."""

ROWS = np.array([[0] * 4 + [1] * 4, [0, 0, 1, 1] * 2, [0, 1] * 4])
"""Eight records, one of each kind."""

PLAYER = BestMarginal(
    num_rows=8,
    sensitivity_squared=2,
    sensitivity=2,
    selection_epsilon=Fraction(1, 10),
    measurement_stddev=2.0,
    score="agreement",
    repeats=True,
)


class Asked(NoNoise):
    """Keeps the scores of a selection."""

    def largest(self, scores: IntArray, scale: float, num_selected: int, law: str) -> IntArray:
        self.scores = scores
        return super().largest(scores, scale, num_selected, law)


def scores(rows: IntArray, measured: list[int], table: FloatArray = TABLE) -> IntArray:
    noise = Asked()
    state = PLAYER.init(Private(WORKLOAD.count_rows(rows.astype(np.uint8)), WORKLOAD))
    state = state._replace(measured=np.array(measured, dtype=np.int64))
    PLAYER.step(Gate(MemoryBook(Cost(Fraction(10), None)), noise=noise), state, Played(Histogram(table), WORKLOAD))
    return noise.scores


def test_a_pair_is_likely_off_by_how_far_its_columns_are_from_independent() -> None:
    """Distance 0.3, and room 0.25: two values of half of the rows each."""
    likely = likely_errors(WORKLOAD.on(Histogram(TABLE)), WORKLOAD)
    np.testing.assert_allclose(likely, [(0.3 * 0.25) ** 0.5, 0, 0, 0, 0], atol=1e-8)


def test_it_matters_less_where_the_columns_leave_no_room() -> None:
    """The same dependence, as far as it can go, between two seldom values."""
    seldom = np.einsum("ab,c->abc", [[0.98, 0.0], [0.0, 0.02]], [0.5, 0.5])
    likely = likely_errors(WORKLOAD.on(Histogram(seldom)), WORKLOAD)[0]
    assert likely == pytest.approx((2 * 0.98 * 0.02 * 0.98 * 0.02) ** 0.5)


def test_shares_that_are_not_quite_shares_have_no_negative_room() -> None:
    pair = Workload(Domain(("a", "b"), (2, 2)), (Group((0, 1), (2, 2)),))
    assert np.isfinite(likely_errors(np.array([1.0 + 1e-12, 0.0, 0.0, -1e-12]), pair)).all()


def test_what_is_likely_counts_until_the_pair_was_measured() -> None:
    before, after = scores(ROWS, []), scores(ROWS, [0])
    assert before[0] > after[0]
    np.testing.assert_array_equal(before[1:], after[1:])


def test_what_is_likely_is_the_same_on_neighbouring_tables() -> None:
    """What it adds to a score is a number that no record changes."""
    neighbour = ROWS.copy()
    neighbour[:, 0] = 1, 1, 1
    added = [scores(rows, []) - scores(rows, [0]) for rows in (ROWS, neighbour)]
    np.testing.assert_array_equal(*added)
    assert added[0][0] > 0
