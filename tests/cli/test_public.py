"""Public tables on the command line and in Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import HEADER, rows

import equipoise as eq

Bench = Any


@pytest.fixture
def census(bench: Bench) -> Path:
    """A public table with the private one's columns, and one more."""
    path = Path(bench.folder) / "census.csv"
    path.write_text("\n".join([HEADER + ",note", *(f"{line},x" for line in rows(80)[20:])]) + "\n")
    return path


@pytest.fixture
def poor(bench: Bench) -> Path:
    """A public table of one kind of people."""
    path = Path(bench.folder) / "poor.csv"
    path.write_text("\n".join([HEADER, *["Male,3,1.0,East"] * 40]) + "\n")
    return path


@pytest.mark.parametrize("method", ["pmw_pub", "pep_pub", "mixture_pub"])
def test_release_records_the_public_table(bench: Bench, census: Path, method: str) -> None:
    option = "num_components=50" if method == "mixture_pub" else "num_rounds=3"
    result = bench.release("--method", method, "--option", option, "--public", census, "--seed", 3)
    assert result.exit_code == 0, result.text
    said = json.loads((bench.out / "statement.json").read_text())
    assert said["public_data"]["name"] == "census.csv"
    assert said["public_data"]["num_rows"] == 60
    assert said["public_data"]["columns"] == ["sex", "age", "region"]
    assert len(said["public_data"]["fingerprint"]) == 64
    assert "disjoint" in said["public_data"]["assumption"]
    assert said["public_data"]["assumption"] in said["outside_the_guarantee"]
    assert eq.load(bench.out).sample(10, seed=1).num_rows == 10
    assert bench.run("evaluate", bench.out, bench.table).exit_code == 0


def test_a_release_without_public_data_says_so(released: Bench) -> None:
    said = json.loads((released.out / "statement.json").read_text())
    assert said["public_data"] is None


def test_one_of_several_public_tables_is_chosen_privately_and_the_statement_says_so(
    bench: Bench, census: Path, poor: Path
) -> None:
    result = bench.release("--method", "pep_pub", "--public", poor, "--public", census, "--seed", 3)
    assert result.exit_code == 0, result.text
    said = json.loads((bench.out / "statement.json").read_text())
    known = {said["public_data"]["name"], *(other["name"] for other in said["public_data"]["others"])}
    assert known == {"poor.csv", "census.csv"}
    assert "chosen privately" in said["public_data"]["use"]
    assert any("selection" in event["words"] for event in said["events"])
    assert said["method"]["name"] == "pep_pub"
    assert "poor.csv, census.csv" in said["method"]["options"]["public_choice"]
    assert eq.load(bench.out).sample(10, seed=1).num_rows == 10


def test_auto_uses_all_public_tables_also_such_that_lack_columns(bench: Bench, census: Path) -> None:
    lacking = Path(bench.folder) / "lacking.csv"
    lacking.write_text("\n".join(["sex,age", *(",".join(line.split(",")[:2]) for line in rows(80)[20:])]) + "\n")
    given = ("--method", "auto", "--option", "objective=both", "--public", lacking, "--public", census)
    result = bench.release(*given, "--seed", 3)
    assert result.exit_code == 0, result.text
    said = json.loads((bench.out / "statement.json").read_text())
    assert said["method"]["name"] == "mixture_pub"
    assert "public tables" in said["method"]["options"]["chosen_because"]
    assert said["public_data"]["use"] == "all tables were used"
    assert [note.split()[0] for note in said["method"]["notes"]] == ["lacking.csv", "census.csv"]
    assert said["public_data"]["assumption"] in said["outside_the_guarantee"]


def test_plan_takes_the_same_option(bench: Bench, census: Path) -> None:
    plan = ("plan", bench.table, "--schema", bench.schema, "--epsilon", 1, "--workload", "2-way", "--method", "pep_pub")
    planned = bench.run(*plan, "--public", census, "--json")
    assert planned.exit_code == 0, planned.text
    assert planned.json["method"]["name"] == "pep_pub"
    refused = bench.run(*plan, "--json")
    assert refused.exit_code == 2
    assert "--public" in refused.text


def test_what_does_not_fit_is_refused_before_anything_is_spent(bench: Bench, census: Path) -> None:
    lacking = Path(bench.folder) / "lacking.csv"
    lacking.write_text("sex,age\nFemale,30\n")
    foreign = Path(bench.folder) / "foreign.csv"
    foreign.write_text("colour\nred\n")
    strange = Path(bench.folder) / "strange.csv"
    strange.write_text("sex,age,region\nFemale,30,Atlantis\n")
    for method, file, code, words in (
        ("mwem", census, 2, "mwem uses no public table"),
        ("pep_pub", lacking, 2, "lacks region"),
        ("pmw_pub", lacking, 2, "mixture_pub"),
        ("pep_pub", foreign, 4, "none of the private table's columns"),
        ("pep_pub", strange, 4, "public table does not fit"),
        ("pep_pub", Path(bench.folder) / "nowhere.csv", 4, "no file"),
    ):
        result = bench.release("--method", method, "--public", file)
        assert (result.exit_code, words in result.text) == (code, True), result.text
        assert "Atlantis" not in result.text
    assert not bench.ledger.exists()


def test_an_unfinished_release_goes_on_with_the_same_public_table_only(bench: Bench, census: Path) -> None:
    from equipoise import folder, pipeline

    table = eq.read(bench.table, schema=bench.schema).select(["sex", "age", "region"])
    public = eq.read(census, schema=bench.schema)
    request = pipeline.Request(table, epsilon=0.5, workload="2-way", method="pmw_pub", public=public, seed=1)
    prepared = pipeline.prepare(request)
    with folder.hold(bench.out, overwrite=False) as target:
        run = folder.run_of(target)
    account = pipeline.open_account(request)
    account.start(run=run, plan=pipeline._recorded(prepared), reserve=prepared.plan.reserve, unit_seed=0)
    census.write_text(f"{HEADER}\n{rows(1)[0]}\n")
    with pytest.raises(eq.OutputError, match="another public"):
        pipeline.run(request, bench.out)


def test_python_release_and_choice_between_public_tables(bench: Bench, census: Path, poor: Path) -> None:
    table = eq.read(bench.table, schema=bench.schema).select(["sex", "age", "region"])
    public = eq.read(census, schema=bench.schema)
    made = eq.release(table, epsilon=0.5, workload="2-way", method="pep_pub", public=public)
    assert made.statement["public_data"]["name"] == "census.csv"
    settings: dict[str, Any] = {"epsilon": 0.7, "workload": "1-way"}
    good = eq.public_error(table, public, **settings)
    bad = eq.public_error(table, eq.read(poor, schema=bench.schema), **settings)
    # One row misses some answer by more than half; eight standard deviations fail with probability below 1e-14.
    assert good.share <= 0.05 + 8 * good.stddev
    assert bad.share >= 0.5 - 8 * bad.stddev
    runs = bench.run("ledger", bench.schema, "--json").json["runs"]
    assert [run["epsilon"] for run in runs] == [0.5, 0.7, 0.7]
    with pytest.raises(eq.SettingError, match="pure"):
        eq.public_error(table, public, pure=True, **settings)
    with pytest.raises(eq.BudgetError):
        eq.public_error(table, public, epsilon=1.9, workload="1-way")
