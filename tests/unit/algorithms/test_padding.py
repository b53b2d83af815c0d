"""Small workloads played with more queries: which, how many, at what price; and what a release then speaks of."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.games import triples
from tests.noise import SeededNoise

import equipoise as eq
from equipoise import pipeline
from equipoise.algorithms import Plan, Setting, create, padding
from equipoise.audit.book import MemoryBook
from equipoise.data.domain import Domain
from equipoise.data.rules import Rules
from equipoise.data.schema import Schema
from equipoise.data.table import Table, read
from equipoise.data.whole import Codes
from equipoise.data_players.best_records import BestRecords
from equipoise.data_players.ruled import obeying
from equipoise.errors import OutputError, SettingError
from equipoise.game.loop import play
from equipoise.privacy import Private
from equipoise.privacy.gate import Gate
from equipoise.queries import conjunctions
from equipoise.queries.build import build
from equipoise.releases import load
from equipoise.verification.folder import verify

NAMES, SIZE = "abcdef", 6
NUM_CELLS = 20 * SIZE**3
DOMAIN = Domain(tuple(NAMES), (SIZE,) * len(NAMES))
ASKED = build("random 3-way x 200 seed 1", DOMAIN)
SETTING = Setting(ASKED, 5000, Fraction(1, 50), None, 1, 2**32)
QUICK = {"num_rounds": 6, "num_draws": 20, "num_records": 2}


def plan(setting: Setting = SETTING, **options: Any) -> Plan:
    return create("dual_query", options).plan(setting)


def table() -> Table:
    rows = pa.table({name: np.random.default_rng(i).integers(0, SIZE, 900) for i, name in enumerate(NAMES)})
    return read(rows, schema=Schema("toy", tuple(Codes(name=name, size=SIZE) for name in NAMES)))


def request(**options: Any) -> pipeline.Request:
    return pipeline.Request(
        table(), epsilon=1.0, workload="random 3-way x 200 seed 1", method="dual_query", options=QUICK | options, seed=5
    )


def test_a_small_workload_of_rare_combinations_is_filled_up() -> None:
    made = plan()
    assert made.options["num_extra_queries"] == NUM_CELLS - ASKED.num_queries
    assert made.asked.num_queries == NUM_CELLS
    assert all(made.asked.query(i) == ASKED.query(i) for i in range(ASKED.num_queries)), "those asked for come first"
    assert plan().asked.fingerprint == made.asked.fingerprint, "the same for the same workload"
    some = plan(num_extra_queries=300).asked
    assert some.num_queries == 500
    other = replace(SETTING, workload=build("random 3-way x 200 seed 2", DOMAIN))
    assert some.fingerprint != plan(other, num_extra_queries=300).asked.fingerprint


def test_the_price_and_the_knobs_are_those_of_the_asked_queries_alone() -> None:
    alone, filled = plan(num_extra_queries=0), plan()
    assert alone.asked is ASKED
    assert alone.events == filled.events
    assert alone.cost == filled.cost
    differing = {name for name in alone.options if alone.options[name] != filled.options[name]}
    assert differing == {"num_extra_queries"}
    assert filled.memory_bytes > alone.memory_bytes
    assert filled.forecast.selection_resolution > alone.forecast.selection_resolution


def test_the_theorem_is_about_the_asked_queries() -> None:
    made = plan(replace(SETTING, num_rows=10**7), mode="theory")
    assert made.asked is ASKED
    assert made.options["num_extra_queries"] == 0


def test_the_published_game_is_played_as_published_unless_asked_otherwise() -> None:
    assert plan(num_records=1, memory=1).asked is ASKED
    assert plan(num_records=1, memory=1, num_extra_queries=3).asked.num_queries == 203


def test_workloads_that_would_gain_nothing_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    bits = build("random 3-way x 200", Domain(tuple(map(str, range(30))), (2,) * 30))
    assert plan(replace(SETTING, workload=bits)).asked is bits, "no combination of three bits is rare"
    whole = triples().workload
    assert plan(replace(SETTING, workload=whole)).asked is whole
    assert plan(replace(SETTING, memory_limit=2**28)).asked is ASKED, "no room"
    monkeypatch.setattr(padding, "ENOUGH", 200)
    assert plan().asked is ASKED


@pytest.mark.parametrize(("workload", "number"), [(ASKED, -1), (ASKED, 4_000_000), (triples().workload, 10)])
def test_numbers_that_make_no_sense_are_refused(workload: Any, number: int) -> None:
    with pytest.raises(SettingError, match="num_extra_queries"):
        plan(replace(SETTING, workload=workload), num_extra_queries=number)


def test_rare_combinations_that_nobody_has_are_learnt() -> None:
    """Six columns that are always equal: of 4,320 cells all but 120 are empty. Asked 50, all are answered better."""
    asked = build("random 3-way x 50 seed 3", DOMAIN)
    rows = np.tile(np.random.default_rng(0).integers(0, SIZE, 4000), (len(NAMES), 1)).astype(np.uint8)
    setting = Setting(asked, 4000, Fraction(1, 10), None, 1, 2**32)
    truth = asked.count_rows(rows) / 4000

    def mean_error(num_extra: int | None) -> float:
        algorithm = create("dual_query", {"num_extra_queries": num_extra})
        made = algorithm.plan(setting)
        players = algorithm.players(setting, made)
        outcome = play(
            gate=Gate(MemoryBook(made.reserve), noise=SeededNoise(1)),
            truth=Private(made.asked.count_rows(rows), made.asked),
            workload=made.asked,
            query_player=players.query_player,
            data_player=players.data_player,
            num_rounds=made.num_rounds,
            seed=0,
        )
        return float(np.abs(asked.on(outcome.distribution) - truth).mean())

    assert mean_error(None) < mean_error(0) / 2


def test_a_release_speaks_of_what_was_asked(tmp_path: Path) -> None:
    made = pipeline.run(request(), tmp_path / "out")
    assert made.workload == ASKED
    assert made.asked.num_queries == NUM_CELLS
    assert made.statement["workload"]["num_queries"] == 200
    assert made.statement["workload"]["fingerprint"] == ASKED.fingerprint
    assert made.error_bars is None
    found = eq.evaluate(made, table())
    assert len(found.truth) == 200
    assert max(int(move.ids.max()) for move in made.moves) >= 200, "the game was about all of them"
    again = load(tmp_path / "out")
    assert again.workload == ASKED
    assert again.asked == made.asked
    assert verify(tmp_path / "out").holds


def test_a_killed_release_goes_on_with_the_same_queries(tmp_path: Path) -> None:
    out = tmp_path / "out"
    script = f"""
import os, signal
from tests.unit.algorithms import test_padding as own
step = own.BestRecords.step
def dying(self, rng, state, moves):
    if len(moves) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return step(self, rng, state, moves)
own.BestRecords.step = dying
own.pipeline.run(own.request(), {str(out)!r})
"""
    root = Path(__file__).resolve().parents[3]
    died = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, timeout=300)
    assert died.returncode == -signal.SIGKILL, died.stderr
    account = pipeline.open_account(request(), out)
    before = account.run(json.loads((out / ".run.json").read_text())["run"])
    assert before is not None
    assert len(before.moves()) == 4
    assert before.plan["extra_queries"] == plan(replace(SETTING, num_rows=900)).asked.fingerprint
    with pytest.raises(OutputError, match="another plan, extra_queries"):
        pipeline.run(request(num_extra_queries=7), out)
    made = pipeline.run(request(), out)
    after = account.run(made.statement["ledger_run"])
    assert after is not None
    assert after.spent().rho == pipeline.prepare(request()).plan.cost.rho
    for paid, kept in zip(before.moves(), made.moves, strict=False):
        assert np.array_equal(paid.ids, kept.ids)
    assert pq.read_table(out / "moves.parquet").num_rows > 0


def test_other_queries_than_those_of_the_ledger_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if another version drew others from the same seed: the moves would be taken for what they are not."""

    def dying(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(BestRecords, "step", dying)
        with pytest.raises(KeyboardInterrupt):
            pipeline.run(request(num_extra_queries=300), tmp_path / "out")
    further = padding.further_conjunctions
    monkeypatch.setattr(padding, "further_conjunctions", lambda rng, *more: further(np.random.default_rng(1), *more))
    with pytest.raises(OutputError, match="another extra_queries"):
        pipeline.run(request(num_extra_queries=300), tmp_path / "out")


def test_rules_are_obeyed_though_the_queries_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all records of a round break a rule, independent columns are played, on which many are answered too."""
    monkeypatch.setattr(conjunctions, "MAX_GROUPED", 250)
    made = plan(num_extra_queries=300, **QUICK)
    players = create("dual_query", QUICK).players(SETTING, made)
    allowed = np.zeros(SIZE, dtype=np.bool_)
    allowed[1:] = True
    ruled = obeying(players.data_player, Rules(DOMAIN.sizes, ({0: allowed, 1: allowed},)))
    rows = np.zeros((len(NAMES), 5000), dtype=np.uint8)
    outcome = play(
        gate=Gate(MemoryBook(made.reserve), noise=SeededNoise(1)),
        truth=Private(made.asked.count_rows(rows), made.asked),
        workload=made.asked,
        query_player=players.query_player,
        data_player=ruled,
        num_rounds=made.num_rounds,
        seed=0,
    )
    assert len(outcome.moves) == made.num_rounds
