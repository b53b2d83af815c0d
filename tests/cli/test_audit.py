"""`equipoise audit`, as someone who trusts nobody would use it: on methods, and on an algorithm of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Bench
from tests.cli.own_algorithm import Correct, RoundTooMany

from equipoise import algorithms
from equipoise.algorithms import ALGORITHMS
from equipoise.audit import table

OWN = "tests.cli.own_algorithm"


@pytest.fixture
def shell(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_method_is_told_with_its_control_and_its_sampled_bounds(shell: Bench) -> None:
    told = shell.run("audit", "--only", "hdmm", "--runs", 20, "--json", "--quiet")
    assert told.exit_code == 0, told.text
    [found] = told.json["audits"]
    assert (found["method"], found["currency"], found["holds"], found["half_the_noise_found"]) == (
        "hdmm",
        "rho",
        True,
        True,
    )
    assert found["measured"] <= found["claimed"] * (1 + 1e-9) < found["half_the_noise"]
    assert found["sampled"]["num_runs"] == 20
    shown = shell.run("audit", "--only", "hdmm")
    assert "holds" in shown.text


def test_every_method_is_audited_without_being_named(monkeypatch: pytest.MonkeyPatch, shell: Bench) -> None:
    """A method that is added to the list is audited with the others; none can be left out."""
    seen = []
    monkeypatch.setattr(table, "subject_of", lambda algorithm, pure: None)
    monkeypatch.setattr(table, "audit", lambda algorithm, pure, num_runs: seen.append(algorithm.name))
    assert list(table.audits(num_runs=0))
    assert set(seen) == {cls.name for cls in ALGORITHMS}


def test_ones_own_algorithm_is_audited_by_the_same_command(shell: Bench) -> None:
    told = shell.run("audit", "--algorithm", f"{OWN}:Correct", "--json", "--quiet")
    assert told.exit_code == 0, told.text
    [found] = told.json["audits"]
    assert (found["method"], found["moves"], found["holds"]) == ("correct", 2, True)
    assert found["claimed"] == pytest.approx(0.5) == found["measured"]
    assert found["half_the_noise"] == pytest.approx(2.0, rel=1e-3)


@pytest.mark.parametrize(
    ("mistake", "exit_code", "words"),
    [
        ("HalfNoise", 1, "charges that do not hold: half_noise"),
        ("NegativeCharge", 1, "charges that do not hold: negative_charge"),
        ("NegativeEvent", 2, "must be positive"),
        ("UnpaidRound", 6, "more than it reserved"),
        ("RoundTooMany", 6, "plans to spend 0.75, and was given rho 0.5"),
    ],
)
def test_mistakes_of_ones_own_are_found_out(shell: Bench, mistake: str, exit_code: int, words: str) -> None:
    told = shell.run("audit", "--algorithm", f"{OWN}:{mistake}", "--quiet")
    assert told.exit_code == exit_code, told.text
    assert words in told.text


def test_a_control_that_is_not_found_out_fails_the_audit(shell: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """An audit that could not see half of the noise missing shows nothing."""
    monkeypatch.setattr(table, "HALF", 1.0)
    told = shell.run("audit", "--algorithm", f"{OWN}:Correct", "--quiet")
    assert told.exit_code == 1
    assert "half the noise not found out: correct" in told.text


def test_what_cannot_be_audited_is_said(shell: Bench) -> None:
    assert "no such method" in shell.run("audit", "--only", "nothing").text
    assert "leave out --only" in shell.run("audit", "--only", "mwem", "--algorithm", f"{OWN}:Correct").text
    for wrong in ("nothing", "nothing:Nothing", f"{OWN}:Nothing", ":"):
        told = shell.run("audit", "--algorithm", wrong)
        assert told.exit_code == 2, wrong
        assert "write package.module:Class" in told.text


def test_a_release_by_a_method_that_plans_too_much_is_refused(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gate holds a run to its plan, and the planner holds the plan to the budget: nothing is spent."""
    monkeypatch.setattr(algorithms, "ALGORITHMS", (Correct, RoundTooMany))
    given = ("release", bench.table, "--schema", bench.schema, "--columns", "sex,region", "--workload", "1-way")
    told = bench.run(*given, "--epsilon", 1, "--method", "round_too_many", "-o", bench.out)
    assert told.exit_code == 6, told.text
    assert "an error of the method" in told.text
    assert not bench.out.exists()
    assert not bench.ledger.exists()
    plan = bench.run("plan", *given[1:], "--epsilon", 1, "--method", "correct")
    assert plan.exit_code == 0, plan.text


def test_with_runs_there_is_a_table_of_epsilon_and_delta_too(shell: Bench) -> None:
    told = shell.run("audit", "--only", "hdmm", "--runs", "40").stdout
    assert "By 40 runs of the dearest move on each table:" in told
    [line] = [line for line in told.splitlines() if " 0.001 " in line]
    assert line.split()[:2] == ["hdmm", "rho"]
    assert line.split()[4:6] == ["3.537", "0.001"]
    assert "By " not in shell.run("audit", "--only", "hdmm").stdout
