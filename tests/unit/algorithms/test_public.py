"""The methods that use public tables, as whole games."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.games import TinyGame, triples
from tests.noise import NoNoise, SeededNoise
from tests.public_tables import reduced, rows_of, sister, without_zeros

from equipoise.algorithms import Setting, create
from equipoise.audit.book import MemoryBook
from equipoise.data.public import PublicRows
from equipoise.errors import CapacityError, SettingError
from equipoise.game.loop import Outcome, play
from equipoise.privacy import Private
from equipoise.privacy.gate import Gate
from equipoise.queries.best_mixture import best_mixture

METHODS = ("pmw_pub", "pep_pub")
FREE = {"gem_pub": {"num_products": 100, "public_rounds": 5}, "mixture_pub": {"num_components": 100}}
"""Methods that the public support does not limit, with options for tiny games."""


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
        truth=Private(plan.asked.count_rows(game.rows.astype(np.uint8)), plan.asked),
        workload=plan.asked,
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
    with pytest.raises(SettingError, match=r"lacks c, d\..*mixture_pub"):
        create(method).plan(setting(game, reduced()))
    small = replace(setting(game, rows_of(game.rows)), memory_limit=1000)
    with pytest.raises(CapacityError, match="distinct public rows"):
        create(method).plan(small)


@pytest.mark.parametrize("method", FREE)
def test_bad_support_does_not_stop_what_can_leave_it(method: str) -> None:
    """Figure 2a of liu2021iterative in miniature: PMW-Pub stalls at the best-mixture-error, GEM-Pub does not."""
    game = triples()
    bad = without_zeros(game)
    limit = best_mixture(game.workload, game.counts(), game.num_rows, bad.codes).bound / game.num_rows
    stuck, _, _ = run(game, setting(game, bad), "pmw_pub", SeededNoise(2))
    free, _, _ = run(game, setting(game, bad), method, SeededNoise(2), **FREE[method])
    assert error(game, stuck) >= limit - 1e-12
    assert error(game, free) < limit / 4


@pytest.mark.parametrize("method", [pytest.param("gem_pub", marks=pytest.mark.slow), "mixture_pub"])
@pytest.mark.parametrize("kind", ["good", "reduced"])
def test_good_or_reduced_public_rows_help(method: str, kind: str) -> None:
    """Figures 2b and 5 in miniature, at a budget that says little by itself. Means of four runs."""
    game = triples()
    public = sister(2000) if kind == "good" else reduced((0, 1, 2), 2000)
    where = replace(setting(game, public), rho=Fraction(1, 4000))
    plain = method.removesuffix("_pub")
    options = {name: value for name, value in FREE[method].items() if name != "public_rounds"}
    with_rows = [error(game, run(game, where, method, SeededNoise(s), **FREE[method])[0]) for s in range(4)]
    without = [
        error(game, run(game, replace(where, public=None), plain, SeededNoise(s), **options)[0]) for s in range(4)
    ]
    assert np.mean(with_rows) < (0.7 if kind == "good" else 0.9) * np.mean(without)


@pytest.mark.parametrize("method", FREE)
def test_any_columns_do_and_none_are_refused(method: str) -> None:
    game = triples()
    with pytest.raises(SettingError, match="--public"):
        create(method).plan(setting(game, None))
    plan = create(method, FREE[method]).plan(setting(game, reduced((3,))))
    assert plan.method == method
    assert plan.options["num_products" if method == "gem_pub" else "num_components"] == 100
    assert plan.cost.rho == create(method.removesuffix("_pub")).plan(setting(game, None)).cost.rho


def test_auto_uses_public_tables_where_a_method_can() -> None:
    game = triples()
    chosen = create("auto").plan(setting(game, reduced()))
    assert (chosen.method, "public tables" in chosen.options["chosen_because"]) == ("mixture_pub", True)
    assert create("auto").plan(setting(game, None)).method == "mixture"
    pure = create("auto").plan(setting(game, sister(), pure=True))
    assert (pure.method, "all columns" in pure.options["chosen_because"]) == ("pep_pub", True)
    lacking = create("auto").plan(setting(game, reduced(), pure=True))
    assert (lacking.method, "lacks columns" in lacking.options["chosen_because"]) == ("pep", True)
    two = replace(setting(game, sister(), pure=True), other_publics=(without_zeros(game),))
    both = create("auto").plan(two)
    assert "chosen privately" in both.options["chosen_because"]
