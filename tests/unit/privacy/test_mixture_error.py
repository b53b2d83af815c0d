"""The private best-mixture-error: its sensitivity, its price, and what happens when the solver fails."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.games import triples
from tests.noise import NoNoise

from equipoise.audit.book import MemoryBook
from equipoise.errors import BudgetError, CapacityError
from equipoise.privacy import accountant, mixture_error
from equipoise.privacy.accountant import Cost
from equipoise.privacy.gate import Gate
from equipoise.privacy.private import reveal
from equipoise.queries.best_mixture import BestMixture, best_mixture
from equipoise.query_players.public_error import event_of, measure_public_error

GAME = triples(0, 60)
SUPPORT = np.unique(GAME.rows.astype(np.uint8), axis=1)[:, ::5].copy()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_neighbours_differ_by_no_more_than_what_is_charged(seed: int) -> None:
    rng = np.random.default_rng(seed)
    other = GAME.neighbour(tuple(rng.integers(0, size) for size in GAME.workload.domain.sizes), int(rng.integers(60)))
    sealed = [
        mixture_error.mixture_error(GAME.truth(rows), GAME.workload, GAME.num_rows, SUPPORT)
        for rows in (GAME.rows, other)
    ]
    assert abs(int(reveal(sealed[0])[0]) - int(reveal(sealed[1])[0])) <= mixture_error.SENSITIVITY
    assert sealed[0].norms.l2_squared == mixture_error.SENSITIVITY**2


def test_the_measurement_costs_its_budget_and_says_the_error() -> None:
    rho = Fraction(1, 10)
    book = MemoryBook(Cost(rho, None))
    found = measure_public_error(
        Gate(book, noise=NoNoise()), GAME.truth(), GAME.workload, GAME.num_rows, SUPPORT, rho=rho
    )
    truth = best_mixture(GAME.workload, GAME.counts(), GAME.num_rows, SUPPORT).error / GAME.num_rows
    assert found.share == pytest.approx(truth, abs=1 / (1024 * GAME.num_rows))
    assert [event for event, _ in book.charged] == [event_of(rho)]
    assert Fraction(99, 100) * rho <= book.spent.rho <= rho
    # sqrt(1 / (2 rho)) records, but for the slack of the grid.
    assert found.stddev == pytest.approx((1 / (2 * 0.1)) ** 0.5 / GAME.num_rows, rel=4e-3)
    assert accountant.cost(event_of(rho)).rho <= rho
    # A second look at a recorded move is free.
    again = measure_public_error(Gate(book), GAME.truth(), GAME.workload, GAME.num_rows, SUPPORT, rho=rho)
    assert again == found
    assert len(book.charged) == 1


def test_a_reservation_that_is_too_small_is_refused() -> None:
    book = MemoryBook(Cost(Fraction(1, 11), None))
    with pytest.raises(BudgetError):
        measure_public_error(Gate(book), GAME.truth(), GAME.workload, GAME.num_rows, SUPPORT, rho=Fraction(1, 10))
    assert not book.charged


def test_nothing_is_charged_when_the_program_is_not_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixture_error, "best_mixture", lambda *_: BestMixture(5.0, 1.0, np.ones(1)))
    book = MemoryBook(Cost(Fraction(1), None))
    with pytest.raises(CapacityError, match="nothing was spent"):
        measure_public_error(Gate(book), GAME.truth(), GAME.workload, GAME.num_rows, SUPPORT, rho=Fraction(1, 10))
    assert not book.charged
    assert not book.stored


def test_errors_of_several_tables_move_together_and_each_by_its_own() -> None:
    scores = mixture_error.mixture_scores(GAME.truth(), GAME.workload, GAME.num_rows, [SUPPORT, SUPPORT[:, ::2]])
    each = mixture_error.SENSITIVITY
    assert (scores.norms.linf, scores.norms.l1, scores.norms.l2_squared) == (each, 2 * each, 2 * each**2)
    assert scores.take(np.array([1])).norms.l1 == each
    better, worse = reveal(scores).tolist()
    assert worse <= better <= 0
    assert -better == int(reveal(mixture_error.mixture_error(GAME.truth(), GAME.workload, GAME.num_rows, SUPPORT))[0])
