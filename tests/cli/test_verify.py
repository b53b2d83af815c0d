"""`equipoise verify`: every method's folder passes; every kind of tampering is told."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from tests.cli.conftest import Bench

from equipoise.algorithms import ALGORITHMS
from equipoise.verification.folder import verify
from equipoise.verification.form import published
from equipoise.verification.words import words_of

QUICK: dict[str, dict[str, object]] = {
    "auto": {},
    "gem": {"num_rounds": 2},
    "gem_pub": {"num_rounds": 2},
    "dual_query": {},
    "mixture": {},
}
"""Options that keep a method quick here; others need none."""


def changed(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    path = folder / "statement.json"
    body = json.loads(path.read_text())
    change(body)
    path.write_text(json.dumps(body))


@pytest.fixture
def copied(released: Bench, tmp_path: Path) -> Bench:
    shutil.copytree(released.folder, tmp_path / "copy")
    return Bench(tmp_path / "copy")


def test_a_release_verifies(released: Bench) -> None:
    body = released.run("verify", released.out, "--ledger", released.ledger, "--json").json
    assert body["holds"]
    looked_at = {check["what"] for check in body["checks"]}
    assert {"epsilon at delta 1e-06", "rho", "rows a unit", "ledger", "file synthetic.csv"} <= looked_at
    assert body["not_vouched_for"] == []
    alone = released.run("verify", released.out)
    assert "sha256" in alone.text
    assert f"All {len(body['checks']) - 1} checks hold." in alone.text  # this time without the ledger
    assert "compare the statement's hash" in alone.stderr


def test_many_prices_that_hold_are_one_line_and_a_broken_one_has_its_own(bench: Bench) -> None:
    assert bench.release("--method", "dual_query", "--option", "num_rounds=20", "--seed", 3).exit_code == 0
    shown = bench.run("verify", bench.out).text
    assert "prices of single events" in shown
    assert shown.count("rho of: ") == 0

    def cheaper(body: dict[str, Any]) -> None:
        body["events"][3]["rho"] *= 0.9

    changed(bench.out, cheaper)
    told = bench.run("verify", bench.out)
    assert told.exit_code == 9
    assert told.stdout.count("rho of: ") == 1
    assert "BROKEN" in told.stdout
    assert "checks hold" not in told.text


def _epsilon(body: dict[str, Any]) -> None:
    body["guarantee"]["epsilon"] *= 0.999


def _fewer(body: dict[str, Any]) -> None:
    body["events"].append(body["events"][0])


def _curve(body: dict[str, Any]) -> None:
    body["guarantee"]["curve"]["1e-08"] *= 0.999


def _units(body: dict[str, Any]) -> None:
    body["guarantee"]["rows_per_unit"] = 2


def _event(body: dict[str, Any]) -> None:
    body["events"][0]["rho"] *= 0.9


def _condition(body: dict[str, Any]) -> None:
    event = {"kind": "separator_laplace", "num_separators": 1, "grid": 1, "gap": 0, "scale": "1000000"}
    body["events"].append({"event": event, "words": words_of(event), "times": 1, "rho": 1.0, "epsilon": 1.0})


def _words(body: dict[str, Any]) -> None:
    body["events"][0]["words"] = body["events"][0]["words"].replace("epsilon 0.", "epsilon 0.0")


def _definition(body: dict[str, Any]) -> None:
    body["guarantee"]["definition"] = "pure differential privacy"


def _neighbours(body: dict[str, Any]) -> None:
    body["guarantee"]["adjacency"] = "all records of a household replaced; the number of records is public"


def _number(body: dict[str, Any]) -> None:
    body["guarantee"]["rho"] *= 0.99


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_epsilon, "epsilon at delta"),
        (_fewer, "rho"),
        (_curve, "epsilon at delta 1e-08"),
        (_units, "rows a unit"),
        (_event, "rho of"),
        (_condition, "condition"),
        (_words, "words of the events"),
        (_definition, "definition"),
        (_neighbours, "neighbouring tables"),
        (_number, "rho as a number"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_a_statement_that_claims_too_much_is_told(
    copied: Bench, change: Callable[[dict[str, Any]], None], told: str
) -> None:
    changed(copied.out, change)
    result = copied.run("verify", copied.out)
    assert result.exit_code == 9
    assert told in result.stderr
    assert not verify(copied.out).holds


def test_files_that_were_changed_removed_or_added_are_told(copied: Bench) -> None:
    with open(copied.out / "synthetic.csv", "a") as table:
        table.write("Female,3,North\n")
    (copied.out / "report.html").unlink()
    (copied.out / "notes.txt").write_text("mine")
    (copied.out / ".hidden.csv").write_text("Female,3,North\n")
    body = copied.run("verify", copied.out, "--json")
    assert body.exit_code == 9
    assert not body.json["holds"], "one object on stdout, though the command fails"
    found = verify(copied.out)
    assert {check.what for check in found.checks if not check.holds} == {"file synthetic.csv", "file report.html"}
    assert found.strangers == (".hidden.csv", "notes.txt")


def test_an_event_that_is_listed_twice_is_not_counted_once(copied: Bench) -> None:
    changed(copied.out, _fewer)
    told = copied.run("verify", copied.out, "--ledger", copied.ledger, "--json").json["checks"][-1]
    assert told["what"] == "ledger"
    assert not told["holds"]


def test_a_release_has_the_title_of_the_method_that_made_it(released: Bench) -> None:
    method = json.loads((released.out / "statement.json").read_text())["method"]
    [cls] = [cls for cls in ALGORITHMS if cls.name == method["name"]]
    assert method["title"] == cls.title
    assert method["name"] != "auto"


def test_a_file_outside_the_folder_is_never_read(copied: Bench) -> None:
    def elsewhere(body: dict[str, Any]) -> None:
        body["files"]["../people.csv"] = body["files"].pop("report.html")

    changed(copied.out, elsewhere)
    assert "outside the folder" in [check.found for check in verify(copied.out).checks]


def test_a_ledger_that_was_charged_something_else_is_told(copied: Bench) -> None:
    def twice(body: dict[str, Any]) -> None:
        body["events"][0]["times"] -= 1

    changed(copied.out, twice)
    assert "ledger" in copied.run("verify", copied.out, "--ledger", copied.ledger).stderr
    assert copied.run("verify", copied.out, "--ledger", copied.folder / "nosuch.sqlite").exit_code == 8


def test_a_release_is_a_witness_against_a_ledger_and_anchor_that_were_rolled_back_together(copied: Bench) -> None:
    """What no program can see by the ledger alone: both are what they once were. Whoever has the release can."""
    kept = {path: path.read_bytes() for path in copied.folder.glob("people.ledger.sqlite*")}
    later = copied.folder / "later"
    made = copied.release("--seed", 8, epsilon=0.5, out=later)
    assert made.exit_code == 0, made.text
    assert copied.run("verify", later, "--ledger", copied.ledger).exit_code == 0
    for path in copied.folder.glob("people.ledger.sqlite*"):
        path.unlink()
    for path, body in kept.items():
        path.write_bytes(body)
    assert copied.run("ledger", "verify", copied.ledger).exit_code == 0
    assert copied.run("verify", copied.out, "--ledger", copied.ledger).exit_code == 0
    told = copied.run("verify", later, "--ledger", copied.ledger)
    assert told.exit_code == 9
    assert "ledger" in told.stderr


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 100_000, '{"product": "equipoise"}'])
def test_what_is_no_statement_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "statement.json").write_text(text)
    from equipoise.errors import OutputError

    with pytest.raises(OutputError):
        verify(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("method", [cls.name for cls in ALGORITHMS])
def test_every_methods_folder_verifies_and_is_of_the_published_form(bench: Bench, method: str) -> None:
    cls = next(cls for cls in ALGORITHMS if cls.name == method)
    options = [part for name, value in QUICK.get(method, {}).items() for part in ("--option", f"{name}={value}")]
    public = ["--public", bench.table] if getattr(cls, "uses_public", False) else []
    arguments = [bench.table, "--schema", bench.schema, "--columns", "sex,age,region", "--workload", "2-way"]
    made = bench.run("release", *arguments, "--epsilon", 1, "--method", method, "-o", bench.out, *options, *public)
    assert made.exit_code == 0, made.text
    found = verify(bench.out)
    assert found.holds, [check for check in found.checks if not check.holds]
    assert found.strangers == ()
    jsonschema_rs.validator_for(published()).validate(json.loads((bench.out / "statement.json").read_text()))
