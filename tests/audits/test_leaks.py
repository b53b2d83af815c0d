"""Nothing but what was paid for tells two neighbouring tables apart: not a message, a progress bar, a size or a code.

Each method releases a table, by the command line, and then the same table with one record replaced: once with the very
same outcomes of its mechanisms (then every byte that is written or said must be the same), once with the same noise
(then outcomes may differ, and what does not follow from them may not).
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.leaks import Recording, Replay, lines, neighbour, require_equal_but_for_outcomes, run
from tests.noise import SeededNoise

from equipoise import pipeline
from equipoise.algorithms import ALGORITHMS
from equipoise.audit.subject import quick_options
from equipoise.privacy.private import reveal

METHODS = {cls.name: cls for cls in ALGORITHMS}
OPTIONS: dict[str, dict[str, Any]] = {"dqrs": {"num_rounds": 20}}


def arguments_of(method: str) -> list[str]:
    arguments = ["release", "people.csv", "--schema", "people.toml", "-o", "out", "--method", method, "--seed", "3"]
    arguments += ["--epsilon", "1", "--workload", "2-way"]
    for name, value in (quick_options(METHODS[method]) | OPTIONS.get(method, {})).items():
        arguments += ["--option", f"{name}={value}"]
    return [*arguments, "--public", "public.csv"] if method.endswith("_pub") else arguments


@pytest.mark.parametrize(
    "method", [pytest.param(name, marks=[pytest.mark.slow] if name == "dqrs" else []) for name in sorted(METHODS)]
)
def test_neighbouring_tables_differ_in_nothing_but_what_was_paid_for(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Recording(1)
    here = run(arguments_of(method), tmp_path / "here", lines(), recording, monkeypatch)
    assert here.exit_code == 0, here.noted
    assert recording.calls, "the noise was not ours: nothing would have been shown"
    assert here.files
    assert here.shown

    replayed = run(arguments_of(method), tmp_path / "there", neighbour(), Replay(recording.calls), monkeypatch)
    assert replayed == here, "with the same outcomes everything is the same, to the byte"

    there = run(arguments_of(method), tmp_path / "else", neighbour(), SeededNoise(1), monkeypatch)
    require_equal_but_for_outcomes(here, there)


def test_queries_that_a_method_adds_tell_nothing_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two cells asked for and three more counted: which ones, and what is said of them, is not from the records."""
    arguments = ["random 2-way x 2" if each == "2-way" else each for each in arguments_of("dual_query")]
    arguments += ["--option", "num_extra_queries=3"]
    recording = Recording(1)
    here = run(arguments, tmp_path / "here", lines(), recording, monkeypatch)
    assert here.exit_code == 0, here.noted
    assert recording.calls[0][0][:2] == ("draws", 10), "five queries and their negations"
    replayed = run(arguments, tmp_path / "there", neighbour(), Replay(recording.calls), monkeypatch)
    assert replayed == here, "with the same outcomes everything is the same, to the byte"
    there = run(arguments, tmp_path / "else", neighbour(), SeededNoise(1), monkeypatch)
    require_equal_but_for_outcomes(here, there)


def test_values_that_are_merged_tell_nothing_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which values are counted together follows from the first outcomes, and so does what is asked after them."""
    arguments = [*arguments_of("mixture"), "--option", "merges=true", "--option", "num_top_ups=1"]
    recording = Recording(1)
    here = run(arguments, tmp_path / "here", lines(), recording, monkeypatch)
    assert here.exit_code == 0, here.noted
    assert b'"merged"' in here.files["asked.json"]
    replayed = run(arguments, tmp_path / "there", neighbour(), Replay(recording.calls), monkeypatch)
    assert replayed == here, "with the same outcomes everything is the same, to the byte"
    there = run(arguments, tmp_path / "else", neighbour(), SeededNoise(1), monkeypatch)
    require_equal_but_for_outcomes(here, there)


@pytest.mark.parametrize("channel", ["log", "note", "progress", "file", "code"])
def test_a_leak_is_found_out(channel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: something of the counts is told, in one of five ways, without being paid for."""
    count = pipeline.count

    def telling(table: Any, workload: Any, *, progress: Any, **more: Any) -> Any:
        truth = count(table, workload, progress=progress, **more)
        told = int(reveal(truth) @ np.arange(truth.num_values))
        match channel:
            case "log":
                logging.getLogger("equipoise").warning("the counts: %d", told)
            case "note":
                sys.stderr.write(f"{told}\n")
            case "progress":
                progress(told, 10**6)
            case "file":
                Path("out", "counts.tmp").write_text("x" * told)
            case _:
                raise SystemExit(told)
        return truth

    monkeypatch.setattr(pipeline, "count", telling)
    here = run(arguments_of("hdmm"), tmp_path / "here", lines(), SeededNoise(1), monkeypatch)
    there = run(arguments_of("hdmm"), tmp_path / "there", neighbour(), SeededNoise(1), monkeypatch)
    with pytest.raises(AssertionError):
        require_equal_but_for_outcomes(here, there)
