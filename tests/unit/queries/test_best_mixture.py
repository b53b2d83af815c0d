from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from tests.games import pairs, triples

from equipoise.errors import QueryError
from equipoise.queries import best_mixture as module
from equipoise.queries.best_mixture import TOLERANCE, best_mixture


def incidence(workload, rows: np.ndarray) -> np.ndarray:
    """q(x) for every query and row, by counting each row alone."""
    return np.stack([workload.count_rows(rows[:, i : i + 1]) for i in range(rows.shape[1])], axis=1).astype(float)


def distinct(rows: np.ndarray) -> np.ndarray:
    return np.unique(rows.astype(np.uint8), axis=1)


def test_a_support_with_every_record_type_answers_exactly() -> None:
    game = triples()
    found = best_mixture(game.workload, game.counts(), game.num_rows, distinct(game.rows))
    assert found.error == pytest.approx(0, abs=TOLERANCE)
    assert found.weights.sum() == pytest.approx(game.num_rows)


def test_one_row_answers_as_it_does() -> None:
    game = triples()
    alone = np.array([[0], [0], [1], [3]], dtype=np.uint8)
    found = best_mixture(game.workload, game.counts(), game.num_rows, alone)
    expected = np.abs(game.counts() - game.num_rows * incidence(game.workload, alone)[:, 0]).max()
    assert found.error == pytest.approx(expected, abs=1e-9)
    assert found.bound == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_primal_and_dual_agree(seed: int) -> None:
    # The dual as a program of its own: maximise <y+ - y-, c> - n z with sum(y+ + y-) <= 1, A'(y+ - y-) <= z.
    game = triples(seed, 300)
    rows = np.random.default_rng(seed).permutation(distinct(game.rows).T)[:9].T.copy()
    accepts, counts, n = incidence(game.workload, rows), game.counts().astype(float), game.num_rows
    num_queries, num_rows = accepts.shape
    dual = optimize.linprog(
        np.concatenate([-counts, counts, [n]]),
        A_ub=np.block([[accepts.T, -accepts.T, -np.ones((num_rows, 1))], [np.ones((1, 2 * num_queries)), 0.0]]),
        b_ub=np.concatenate([np.zeros(num_rows), [1.0]]),
        bounds=[(0, None)] * (2 * num_queries) + [(None, None)],
    )
    found = best_mixture(game.workload, game.counts(), n, rows)
    assert found.error > 1
    assert found.error == pytest.approx(-dual.fun, abs=1e-5)
    assert found.bound <= -dual.fun + 1e-6 <= found.error + 2e-6
    assert found.error - found.bound <= TOLERANCE
    # The weights are what they are said to be.
    assert np.abs(accepts @ found.weights - counts).max() == pytest.approx(found.error, abs=1e-6)
    assert found.weights.min() >= 0


def test_no_weights_do_better() -> None:
    game = triples(1, 300)
    rows = distinct(game.rows)[:, ::4].copy()
    found = best_mixture(game.workload, game.counts(), game.num_rows, rows)
    tried = np.random.default_rng(0).dirichlet(np.ones(rows.shape[1]), 200) * game.num_rows
    errors = np.abs(incidence(game.workload, rows) @ tried.T - game.counts()[:, None]).max(axis=0)
    assert errors.min() >= found.bound


def test_queries_added_a_few_at_a_time_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    game = triples(2, 400)
    rows = distinct(game.rows)[:, ::3].copy()
    at_once = best_mixture(game.workload, game.counts(), game.num_rows, rows)
    monkeypatch.setattr(module, "ADDED", 1)
    by_and_by = best_mixture(game.workload, game.counts(), game.num_rows, rows)
    assert by_and_by.error == pytest.approx(at_once.error, abs=TOLERANCE)
    assert by_and_by.bound == pytest.approx(at_once.bound, abs=TOLERANCE)


def test_the_bounds_hold_when_the_solver_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    game = triples(2, 400)
    rows = distinct(game.rows)[:, ::3].copy()
    solved = best_mixture(game.workload, game.counts(), game.num_rows, rows)
    monkeypatch.setattr(module, "_program", lambda *_: None)
    given_up = best_mixture(game.workload, game.counts(), game.num_rows, rows)
    assert given_up.bound <= solved.bound + 1e-9 <= solved.error + 1e-9 <= given_up.error
    assert given_up.error - given_up.bound > TOLERANCE


def test_repeated_rows_share_their_weight() -> None:
    game = pairs()
    rows = distinct(game.rows)
    twice = best_mixture(game.workload, game.counts(), game.num_rows, np.concatenate([rows, rows], axis=1))
    assert twice.error == pytest.approx(0, abs=TOLERANCE)
    np.testing.assert_allclose(*np.split(twice.weights, 2))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_one_record_moves_the_error_by_at_most_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    game = triples(int(rng.integers(100)), 40)
    rows = np.stack([rng.integers(0, size, 6) for size in game.workload.domain.sizes]).astype(np.uint8)
    other = game.neighbour(tuple(rng.integers(0, size) for size in game.workload.domain.sizes), int(rng.integers(40)))
    errors = [
        best_mixture(game.workload, game.counts(table), game.num_rows, rows).error for table in (game.rows, other)
    ]
    assert abs(errors[0] - errors[1]) <= 1 + TOLERANCE


def test_nonsense_is_refused() -> None:
    game = pairs()
    with pytest.raises(QueryError, match="one count"):
        best_mixture(game.workload, game.counts()[1:], game.num_rows, game.rows.astype(np.uint8))
    with pytest.raises(QueryError, match="at least one row"):
        best_mixture(game.workload, game.counts(), game.num_rows, np.zeros((2, 0), dtype=np.uint8))
