"""`equipoise sample`, and rules from the schema file to the last row."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import equipoise as eq

Bench = Any  # the fixtures' class: conftest.py is not importable under import-mode=importlib

RULES = """
[rules]
impossible = ["age >= 60 and region = South"]
implies = ["region = East -> sex = Male"]
"""


def breaks(table: pa.Table) -> int:
    return sum(
        (row["age"] >= 60 and row["region"] == "South") or (row["region"] == "East" and row["sex"] != "Male")
        for row in table.to_pylist()
    )


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_rows_that_fulfil_a_condition_go_to_a_file(released: Bench, ending: str) -> None:
    target = released.folder / f"females.{ending}"
    result = released.run("sample", released.out, "--where", "sex = Female and age < 40", "--rows", 150, "-o", target)
    assert result.exit_code == 0, result.text
    assert "150 synthetic rows" in result.text
    reader = {"csv": pa.csv.read_csv, "parquet": pq.read_table, "arrow": pa.feather.read_table}[ending]
    table = reader(target)
    assert table.num_rows == 150
    assert set(table["sex"].to_pylist()) == {"Female"}
    assert max(table["age"].to_pylist()) < 40


def test_without_a_file_the_rows_are_printed_and_a_seed_gives_the_same_rows(released: Bench) -> None:
    first, second, other = (
        released.run("sample", released.out, "--rows", 20, "--seed", seed).stdout for seed in (1, 1, 2)
    )
    assert first == second != other
    assert first.splitlines()[0] == '"sex","age","region"'
    assert len(first.splitlines()) == 21


def test_by_default_there_are_as_many_rows_as_the_model_says(released: Bench) -> None:
    model = eq.load(released.out)
    count = model.answer("sex = Female").count
    body = released.run(
        "sample", released.out, "--where", "sex = Female", "-o", released.folder / "all.csv", "--json"
    ).json
    assert body["num_rows"] == round(count)


def test_what_sample_refuses(released: Bench) -> None:
    target = released.folder / "taken.csv"
    target.write_text("mine")
    cases: list[tuple[tuple[object, ...], int, str]] = [
        (("--where", "sex = Other"), 5, "Female"),
        (("--where", "age < 20 and age >= 40"), 5, "by the schema, no record can"),
        (("--rows", 0), 2, "at least 1"),
        (("--seed", -1), 2, "negative"),
        (("--json",), 2, "-o"),
        (("-o", target), 9, "--overwrite"),
        (("-o", released.folder / "rows.xlsx"), 9, ".parquet"),
    ]
    for arguments, exit_code, said in cases:
        result = released.run("sample", released.out, *arguments)
        assert result.exit_code == exit_code, (arguments, result.text)
        assert said in result.text
    assert target.read_text() == "mine"


def test_rules_hold_in_every_file_and_are_listed(bench: Bench) -> None:
    """The table has records that break the rules: the release goes on as if they were any others, and says nothing."""
    bench.schema.write_text(bench.schema.read_text() + RULES)
    result = bench.release("--seed", 3)
    assert result.exit_code == 0, result.text
    assert breaks(pa.csv.read_csv(bench.table)) > 0
    assert breaks(pq.read_table(bench.out / "synthetic.parquet")) == 0
    assert breaks(pa.csv.read_csv(bench.out / "synthetic.csv")) == 0
    statement = json.loads((bench.out / "statement.json").read_text())
    assert statement["rules"]["impossible"] == ["age >= 60 and region = South"]
    assert statement["rules"]["implies"] == ["region = East -> sex = Male"]
    report = (bench.out / "report.html").read_text()
    assert "region = East -&gt; sex = Male" in report
    assert "no synthetic record breaks a rule" in report.lower()
    release = eq.load(bench.out)
    assert breaks(release.sample(500, seed=9)) == 0
    assert breaks(release.sample(300, where="region = East")) == 0
    impossible = release.answer("region = South and age in 60..79")
    assert (impossible.share, impossible.half_width) == (0.0, 0.0)
    assert release.answer("region = South").share > 0
    refused = bench.run("sample", bench.out, "--where", "region = East and sex = Female")
    assert refused.exit_code == 5
    assert "by the schema, no record can" in refused.text


def test_a_rule_that_cannot_be_is_refused_before_anything_is_spent(bench: Bench) -> None:
    bench.schema.write_text(bench.schema.read_text() + '[rules]\nimpossible = ["age >= 60 and region = West"]\n')
    result = bench.release()
    assert result.exit_code == 3
    assert "North, South, East" in result.text
    assert not bench.ledger.exists()
