from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.games import TinyGame, triples
from tests.noise import NoNoise, SeededNoise

from equipoise.algorithms import Setting, create
from equipoise.audit.book import MemoryBook
from equipoise.data.relaxed import RelaxedRows
from equipoise.data.table import read
from equipoise.errors import SettingError
from equipoise.game.loop import Outcome, play
from equipoise.pipeline import Request, release
from equipoise.privacy import Private
from equipoise.privacy.gate import Gate
from equipoise.query_players.best_marginal import MeasureAll
from equipoise.query_players.best_response import BestResponse
from equipoise.releases import load

RHO = Fraction(1, 2)
SMALL = {"num_relaxed": 60, "max_steps": 150}
METHODS = ["rap", "rap_softmax"]


def setting(rho: Fraction | None = RHO, epsilon: Fraction | None = None) -> Setting:
    game = triples()
    return Setting(game.workload, game.num_rows, rho, epsilon, 1, 2**30)


def play_it(
    method: str, options: dict[str, Any], noise: Any, book: MemoryBook | None = None, truth: Private | None = None
) -> tuple[Outcome, MemoryBook, Any, TinyGame]:
    game, where = triples(), setting()
    algorithm = create(method, SMALL | options)
    plan = algorithm.plan(where)
    players = algorithm.players(where, plan)
    kept = book or MemoryBook(plan.reserve)
    outcome = play(
        gate=Gate(kept, noise=noise),
        truth=game.truth() if truth is None else truth,
        workload=plan.asked,
        query_player=players.query_player,
        data_player=players.data_player,
        num_rounds=plan.num_rounds,
        seed=5,
    )
    return outcome, kept, plan, game


@pytest.mark.parametrize("method", METHODS)
def test_the_budget_is_divided_by_rounds_and_queries(method: str) -> None:
    algorithm = create(method, {"num_rounds": 4, "num_selected": 5})
    player = algorithm.players(setting(), algorithm.plan(setting())).query_player
    # MECHANISMS 4.4: selection_epsilon = sqrt(4 rho/(TK)), stddev = sqrt(TK/rho).
    assert isinstance(player, BestResponse)
    assert float(player.selection_epsilon) == pytest.approx(math.sqrt(4 * RHO / 20), rel=1e-6)
    assert player.measurement_stddev == pytest.approx(math.sqrt(20 / RHO), rel=1e-6)
    # Gumbel noise of scale K^(1/2)/(2 rho_round)^(1/2) counts, as the authors' own code has it.
    rho_round = RHO / 8
    assert 2 / float(player.selection_epsilon) == pytest.approx(math.sqrt(5 / (2 * rho_round)), rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("options", [{"num_rounds": 3, "num_selected": 4}, {"num_rounds": 1}])
def test_the_ledger_ends_where_the_plan_said(method: str, options: dict[str, Any]) -> None:
    outcome, book, plan, _ = play_it(method, options | {"max_steps": 3}, SeededNoise(0))
    assert len(outcome.moves) == plan.num_rounds == options["num_rounds"]
    assert book.spent.rho == plan.cost.rho
    assert 0.99 * RHO <= plan.cost.rho <= RHO


@pytest.mark.parametrize("method", METHODS)
def test_one_round_measures_everything(method: str) -> None:
    algorithm = create(method, SMALL | {"num_rounds": 1})
    plan = algorithm.plan(setting())
    assert isinstance(algorithm.players(setting(), plan).query_player, MeasureAll)
    outcome, _, _, game = play_it(method, {"num_rounds": 1}, NoNoise())
    assert len(outcome.moves[0].ids) == game.workload.num_queries


@pytest.mark.parametrize("method", METHODS)
def test_rounds_never_select_a_query_twice(method: str) -> None:
    outcome, _, _, _ = play_it(method, {"num_rounds": 4, "num_selected": 6, "max_steps": 5}, SeededNoise(2))
    ids = np.concatenate([move.ids for move in outcome.moves])
    assert len(ids) == len(set(ids.tolist())) == 24


def test_defaults_come_from_public_quantities() -> None:
    for rho in (Fraction(1, 10**6), RHO, Fraction(10)):
        options = create("rap_softmax").plan(setting(rho)).options
        assert options["num_rounds"] >= 2
        assert 1 <= options["num_selected"] <= triples().workload.num_queries


@pytest.mark.parametrize("method", METHODS)
def test_a_pure_budget_is_refused(method: str) -> None:
    with pytest.raises(SettingError, match="no pure variant"):
        create(method).plan(setting(None, Fraction(1)))


@pytest.mark.parametrize("method", METHODS)
def test_corrupting_what_was_not_selected_changes_nothing(method: str) -> None:
    options = {"num_rounds": 3, "num_selected": 4, "max_steps": 20}
    first, book, plan, game = play_it(method, options, SeededNoise(1))
    counts = game.counts()
    kept = np.concatenate([move.ids for move in first.moves])
    corrupted = np.full_like(counts, 10**6)
    corrupted[kept] = counts[kept]
    replayed = MemoryBook(plan.reserve, stored=list(book.stored))
    second, _, _, _ = play_it(method, options, NoNoise(), replayed, Private(corrupted, game.workload))
    for name, array in first.distribution.to_arrays().items():
        assert np.array_equal(array, second.distribution.to_arrays()[name])


def test_softmax_beats_clipping_with_the_papers_parameters() -> None:
    # liu2021iterative, appendix F.3: consistent answers learn more from each measurement. Noise off.
    errors = {}
    for method, relaxation in (("rap", {"relaxation": "clip"}), ("rap_softmax", {})):
        options = {"num_rounds": 3, "num_selected": 4, "max_steps": 1000}
        outcome, _, _, game = play_it(method, options | relaxation, NoNoise())
        truth = game.counts() / game.num_rows
        errors[method] = float(np.abs(game.workload.on(outcome.distribution) - truth).max())
    assert errors["rap_softmax"] < errors["rap"]


def test_a_folder_of_relaxed_rows_can_be_loaded(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    first = rng.integers(0, 3, 500)
    codes = pa.table({"a": first.astype(np.uint8), "b": ((first + rng.integers(0, 2, 500)) % 3).astype(np.uint8)})
    (tmp_path / "toy.domain.json").write_text('{"a": 3, "b": 3}')
    pq.write_table(codes, tmp_path / "toy.parquet")
    table = read(tmp_path / "toy.parquet", schema=tmp_path / "toy.domain.json")
    options = SMALL | {"num_rounds": 2, "num_selected": 2, "relaxation": "clip", "output": "relaxed"}
    made = release(Request(table, epsilon=1.0, workload="2-way", method="rap", options=options))
    again = load(made.write(tmp_path / "out"))
    assert isinstance(again.distribution, RelaxedRows)
    assert np.array_equal(again.distribution.marginal((0, 1)), made.distribution.marginal((0, 1)))
