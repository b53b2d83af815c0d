from __future__ import annotations

import json
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest
from tests.cli.conftest import Bench

from equipoise.cli.evaluate import LABEL
from equipoise.privacy.ledger import Ledger

# Replaces the writing of the folder by waiting for a kill, so that one arrives after the debit and before the folder.
STALLED = """
import sys, time
from equipoise.learning.rule import Rule
reached = sys.argv.pop()
Rule.write = lambda *_: (open(reached, "w").close(), time.sleep(600))
from equipoise.cli import main
sys.argv[0] = "equipoise"
main()
"""


def learn(bench: Bench, *more: object, out: Path | None = None) -> tuple[object, ...]:
    common = ("--schema", bench.schema, "--target", "region = North", "--epsilon", 0.5)
    return ("learn", bench.table, *common, "-o", out or bench.out, *more)


def test_learn_writes_a_rule_and_a_statement_and_debits_the_ledger(bench: Bench) -> None:
    done = bench.run(*learn(bench, "--json"))
    assert done.exit_code == 0, done.text
    statement = json.loads((bench.out / "statement.json").read_text())
    assert done.json["learning"] == statement["learning"]
    assert statement["guarantee"]["pure_epsilon"] == "1/2"
    assert (bench.out / "rule.txt").read_text().startswith("Predict region = North exactly where: ")
    assert "accuracy" not in done.stdout
    listed = bench.run("ledger", bench.schema, "--verify", "--json")
    assert [run["method"] for run in listed.json["runs"]] == ["learn (exponential)"]
    assert done.json["budget"]["spent"]["pure_epsilon"] == 0.5


def test_rspm_says_what_is_not_proven_everywhere(bench: Bench) -> None:
    done = bench.run(*learn(bench, "--mechanism", "rspm"))
    assert done.exit_code == 0, done.text
    assert "NOT PROVEN" in done.text
    assert "certified" in done.text
    assert "conditional" in json.loads((bench.out / "statement.json").read_text())["guarantee"]
    assert "(conditional)" in bench.run("ledger", bench.schema).text


def test_accuracy_is_told_on_request_only_and_never_written(bench: Bench) -> None:
    done = bench.run(*learn(bench, "--evaluate"))
    assert done.exit_code == 0, done.text
    assert done.text.count(LABEL) == 2
    assert "Accuracy on the table itself" in done.text
    assert not any(b"accuracy" in file.read_bytes().lower() for file in bench.out.iterdir())
    as_json = bench.run(*learn(bench, "--evaluate", "--json", "--overwrite"))
    assert as_json.json["evaluation"]["private"] is False


def test_a_rule_predicts_and_is_judged_on_other_tables(bench: Bench) -> None:
    others, predicted = bench.folder / "others.csv", bench.folder / "predicted.csv"
    others.write_bytes(bench.table.read_bytes())
    done = bench.run(*learn(bench, "--test", others, "--json"))
    assert done.exit_code == 0, done.text
    judged = bench.run("evaluate", bench.out, others, "--json")
    assert judged.json["private"] is False
    assert judged.json["accuracy"] == done.json["evaluation"]["test_accuracy"]
    assert bench.run("evaluate", bench.out, others).text.count(LABEL) == 2
    spent = bench.run("ledger", bench.schema, "--json").json["runs"]
    made = bench.run("predict", bench.out, others, "-o", predicted)
    assert made.exit_code == 0, made.text
    header, *lines = predicted.read_text().splitlines()
    assert header.replace('"', "") == others.read_text().splitlines()[0] + ",predicted"
    assert {line.rpartition(",")[2] for line in lines} <= {"true", "false"}
    assert len(lines) == len(others.read_text().splitlines()) - 1
    assert bench.run("ledger", bench.schema, "--json").json["runs"] == spent
    for refused, code in (
        (("predict", bench.out, others, "-o", predicted), 9),
        (("predict", bench.out, predicted, "-o", bench.folder / "again.csv"), 2),
        (("predict", bench.folder, others, "-o", bench.folder / "again.csv"), 9),
        (("evaluate", bench.out, others, "-o", bench.folder / "report.html"), 2),
        (learn(bench, "--test", bench.folder / "none.csv", out=bench.folder / "other"), 4),
    ):
        assert bench.run(*refused).exit_code == code
    assert not (bench.folder / "other").exists()


def test_gaussian_noise_has_a_delta_and_prsma_is_refused(bench: Bench) -> None:
    done = bench.run(*learn(bench, "--mechanism", "gaussian_rspm", "--delta", 1e-9, "--epsilon", 0.4))
    assert done.exit_code == 0, done.text
    assert "delta 1e-09" in done.text
    assert "NOT PROVEN" in done.text
    refused = bench.run(*learn(bench, "--mechanism", "prsma", out=bench.folder / "other"))
    assert refused.exit_code == 2
    assert "PRSMA divides the table" in refused.text


def test_a_finished_rule_is_kept_unless_told_otherwise(bench: Bench) -> None:
    assert bench.run(*learn(bench)).exit_code == 0
    refused = bench.run(*learn(bench))
    assert refused.exit_code == 9
    assert "--overwrite" in refused.text
    assert bench.run(*learn(bench, "--overwrite")).exit_code == 0
    account = Ledger(bench.ledger).existing("people")
    assert account is not None
    assert account.held().epsilon == 1


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        (("--target", "regoin = North"), 5, "expected a column"),
        (("--target", "region = Nowhere"), 5, "region"),
        (("--epsilon", 0), 2, "epsilon must be a positive number"),
        (("--epsilon", 5), 6, "Nothing was spent"),
        (("--class", "trees"), 2, "conjunctions"),
        (("--class", "parities", "--max-literals", 2), 2, "for conjunctions and disjunctions"),
        (("--columns", "region"), 2, "nothing to learn from"),
        (("--memory", "1KB"), 7, "--columns"),
        (("--domain", "people.json"), 2, "either --schema"),
    ],
)
def test_what_cannot_be_done_is_refused_and_costs_nothing(
    bench: Bench, more: tuple[object, ...], code: int, words: str
) -> None:
    refused = bench.run(*learn(bench, *more))
    assert refused.exit_code == code, refused.text
    assert words in refused.text
    assert not (bench.out / "statement.json").exists()
    if bench.ledger.exists():
        account = Ledger(bench.ledger).existing("people")
        assert account is None or account.held().rho == 0


def test_help_has_examples(bench: Bench) -> None:
    told = bench.run("learn", "--help").text
    assert "equipoise learn people.csv" in told
    assert "not private" in told


def test_a_killed_command_goes_on_and_pays_once(bench: Bench) -> None:
    arguments = [str(part) for part in learn(bench)]
    reached = bench.folder / "reached"
    process = subprocess.Popen([sys.executable, "-c", STALLED, *arguments, str(reached)])
    try:
        while not reached.exists():
            assert process.poll() is None
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
    assert not (bench.out / "statement.json").exists()
    done = bench.run(*arguments)
    assert done.exit_code == 0, done.text
    assert "going on with it" in done.text
    listed = bench.run("ledger", bench.schema, "--verify", "--json").json
    assert len(listed["runs"]) == 1
    account = Ledger(bench.ledger).existing("people")
    assert account is not None
    assert account.held().epsilon == Fraction(1, 2)
