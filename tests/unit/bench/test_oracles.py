"""The oracle benchmark: it compares what it says, and a missed requirement shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from equipoise.bench.oracle_findings import (
    Finding,
    follow_leader,
    measure_binary,
    measure_dense,
    measure_game,
    measure_search,
    measure_unperturbed,
)
from equipoise.bench.oracle_instances import Race, make_instance
from equipoise.bench.oracles import RACES, Duel, markdown, race
from equipoise.data.domain import Domain

GOOD = Duel("easy", 100.0, 5.0, "4/4", "2/2", True, 10.0)


def test_a_race_solves_the_same_instances_with_both() -> None:
    duel = race(Race("small", (4, 5, 6, 3), 20, 3, 1.0, 0.0), peer_copies=2, num_copies=3)
    assert (duel.proved, duel.peer_proved, duel.agree, duel.met) == ("3/3", "2/2", True, True)
    assert duel.ours > 0 < duel.theirs


def test_a_requirement_is_missed_by_slowness_by_a_missing_proof_and_by_disagreement() -> None:
    assert GOOD.met
    assert GOOD.ratio == 20.0
    spoilt = [replace(GOOD, ours=49.0), replace(GOOD, proved="3/4"), replace(GOOD, agree=False)]
    assert not any(duel.met for duel in spoilt)
    text = markdown([GOOD, *spoilt], [Finding("other", "something", None), Finding("worse", "late", False)])
    assert text.count("NO |") == 5  # a miss each, and "values agree" once more
    assert "| other | something |  |" in text


def test_instances_are_as_the_class_says() -> None:
    for entry in RACES:
        instance = make_instance(np.random.default_rng(0), entry, 2)
        assert instance.literals.shape == (entry.num_queries, entry.width)
        assert instance.tilts is not None
        assert instance.tilts.max() < 0.0
        columns = np.sort(instance.literal_columns, axis=1)
        assert (columns[:, 1:] > columns[:, :-1]).all()
    assert len(RACES[-1].sizes) == 48
    assert sum(RACES[-1].sizes) == 470


SMALL = Race("small", (4, 5, 6, 3), 20, 3, 1.0, 0.0)


def test_local_search_is_held_against_the_best_records() -> None:
    """Without a kick it misses some; with a thousand, on a small problem, none, and then every share is 1."""
    poor, good = (measure_search(SMALL, kicks, 30, "all").said for kicks in (0, 1000))
    assert "excess 1.000, ratio 1.0000, hit rate 1.00 (aim: all)" in good
    assert "hit rate 1.00" not in poor


def test_dense_bits_are_held_against_a_longer_search() -> None:
    said = measure_dense(30, 90, 3, "most", num_runs=3).said
    assert 0.8 < float(said.split()[0]) <= 1.0


def test_problems_without_noise_are_proved_one_by_one() -> None:
    finding = measure_unperturbed(SMALL, "soon", num_runs=5)
    assert finding.met
    assert finding.said.startswith("5 of 5 proved")


def test_sparse_bits_are_measured() -> None:
    finding = measure_binary(2000, 200, 1e9, num_runs=2)
    assert finding.met
    assert "all proved: True" in finding.said


def test_a_game_counts_its_problems_and_a_missing_table_is_said(tmp_path: Path) -> None:
    codes = np.random.default_rng(0).integers(3, size=(4, 200)).astype(np.uint8)
    domain = Domain(("a", "b", "c", "d"), (3, 3, 3, 3))
    total, proved, seconds = follow_leader(codes, domain, workload="2-way", num_rounds=3, num_records=4, mean_noise=1.0)
    assert (total, proved) == (12, 12)
    assert seconds > 0
    finding = measure_game(tmp_path, 1.0)
    assert finding.met is None
    assert "not run" in finding.said
