"""PMW-Pub and PEP-Pub as whole games."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.book import MemoryBook
from tests.games import TinyGame, triples
from tests.noise import NoNoise, SeededNoise

from equipoise.algorithms import Setting, create
from equipoise.data.public import PublicRows
from equipoise.errors import CapacityError, SettingError
from equipoise.game.loop import Outcome, play
from equipoise.privacy import Private
from equipoise.privacy.gate import Gate
from equipoise.queries.best_mixture import best_mixture

METHODS = ("pmw_pub", "pep_pub")


def rows_of(codes: np.ndarray) -> PublicRows:
    distinct, counts = np.unique(codes.astype(np.uint8), axis=1, return_counts=True)
    return PublicRows(np.ascontiguousarray(distinct), counts.astype(np.int64), tuple(range(len(codes))), "public")


def setting(game: TinyGame, public: PublicRows | None, *, pure: bool = False) -> Setting:
    budget = (None, Fraction(1)) if pure else (Fraction(1, 20), None)
    return Setting(game.workload, game.num_rows, *budget, 1, 2**30, public)


def run(game: TinyGame, where: Setting, method: str, noise: Any, **options: Any) -> tuple[Outcome, MemoryBook, Any]:
    algorithm = create(method, options)
    plan = algorithm.plan(where)
    players = algorithm.players(where, plan)
    book = MemoryBook(plan.reserve)
    outcome = play(
        gate=Gate(book, noise=noise),
        truth=game.truth(),
        workload=game.workload,
        query_player=players.query_player,
        data_player=players.data_player,
        num_rounds=plan.num_rounds,
        seed=1,
    )
    return outcome, book, plan


def error(game: TinyGame, outcome: Outcome) -> float:
    answers = game.workload.on(outcome.distribution)
    return float(np.abs(answers - game.counts() / game.num_rows).max())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("options", [{}, {"num_rounds": 2}, {"moves": "cell", "num_rounds": 12}, {"mode": "paper"}])
@pytest.mark.parametrize("pure", [False, True])
def test_the_ledger_ends_where_the_plan_said(method: str, options: dict[str, Any], pure: bool) -> None:
    game = triples()
    _, book, plan = run(game, setting(game, rows_of(game.rows[:, :200]), pure=pure), method, SeededNoise(0), **options)
    assert (book.spent.epsilon == plan.cost.epsilon) if pure else (book.spent.rho == plan.cost.rho)
    assert sum(times for _, times in plan.events) == len(book.charged)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("options", [{}, {"num_rounds": 3}, {"mode": "paper", "num_rounds": 20}])
def test_the_private_histogram_as_public_data_never_moves(method: str, options: dict[str, Any]) -> None:
    game = triples()
    public = rows_of(game.rows)
    outcome, _, _ = run(game, setting(game, public), method, NoNoise(), **options)
    assert error(game, outcome) <= 1e-12
    np.testing.assert_allclose(outcome.distribution.weights, public.counts / public.num_rows, atol=1e-12)  # type: ignore[attr-defined]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("options", [{}, {"num_rounds": 3}, {"mode": "paper", "num_rounds": 40}])
def test_a_bad_support_stops_at_the_best_mixture_error(method: str, options: dict[str, Any]) -> None:
    game = triples()
    bad = rows_of(game.rows[:, game.rows[0] > 0])
    best = best_mixture(game.workload, game.counts(), game.num_rows, bad.codes)
    outcome, _, _ = run(game, setting(game, bad), method, NoNoise(), **options)
    assert best.bound / game.num_rows > 0.2
    assert error(game, outcome) >= best.bound / game.num_rows - 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_good_support_with_wrong_weights_is_repaired_and_bad_support_is_not(method: str) -> None:
    game = triples()
    skewed = rows_of(np.concatenate([game.rows, *[game.rows[:, game.rows[3] == 0]] * 3], axis=1))
    start = float(np.abs(game.workload.on_rows(skewed.codes, skewed.counts.astype(float)) * game.num_rows
                         - game.counts()).max() / game.num_rows)  # fmt: skip
    repaired, _, _ = run(game, setting(game, skewed), method, SeededNoise(1))
    stuck, _, _ = run(game, setting(game, rows_of(game.rows[:, game.rows[0] > 0])), method, SeededNoise(1))
    assert error(game, repaired) < start / 3
    assert error(game, stuck) > 3 * error(game, repaired)


@pytest.mark.parametrize("method", METHODS)
def test_the_outcome_depends_on_the_moves_alone(method: str) -> None:
    game = triples()
    where = setting(game, rows_of(game.rows[:, :200]))
    first, book, plan = run(game, where, method, SeededNoise(0), num_rounds=3)
    players = create(method, {"num_rounds": 3}).players(where, plan)
    second = play(
        gate=Gate(MemoryBook(plan.reserve, stored=list(book.stored)), noise=NoNoise()),
        truth=Private(np.full(game.workload.num_queries, 10**6), game.workload),
        workload=game.workload,
        query_player=players.query_player,
        data_player=players.data_player,
        num_rounds=plan.num_rounds,
        seed=1,
    )
    np.testing.assert_array_equal(first.distribution.weights, second.distribution.weights)  # type: ignore[attr-defined]


@pytest.mark.parametrize("method", METHODS)
def test_options(method: str) -> None:
    game = triples()
    where = setting(game, rows_of(game.rows[:, :100]))
    paper = create(method, {"mode": "paper"}).plan(where).options
    assert paper["moves"] == "cell"
    assert paper.get("replay", "threshold") == "threshold"
    assert paper.get("solver", "projection") == "projection"
    flat = create(method, {"start": "uniform"})
    player = flat.players(where, flat.plan(where)).data_player
    weights = player.play(player.init(np.random.default_rng(0))).weights  # type: ignore[attr-defined]
    np.testing.assert_allclose(weights, 1 / len(weights))


@pytest.mark.parametrize("method", METHODS)
def test_what_cannot_work_is_refused(method: str) -> None:
    game = triples()
    with pytest.raises(SettingError, match="--public"):
        create(method).plan(setting(game, None))
    reduced = PublicRows(np.zeros((2, 1), dtype=np.uint8), np.array([5]), (0, 2), "reduced")
    with pytest.raises(SettingError, match="lacks b, d"):
        create(method).plan(setting(game, reduced))
    small = replace(setting(game, rows_of(game.rows)), memory_limit=1000)
    with pytest.raises(CapacityError, match="distinct public rows"):
        create(method).plan(small)
