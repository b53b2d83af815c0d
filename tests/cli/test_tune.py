from __future__ import annotations

import json

import pytest
from tests.cli.conftest import Bench

from equipoise.cli.tune import parse_grid
from equipoise.errors import SettingError


def tune(bench: Bench, *more: object) -> tuple[object, ...]:
    common = ("--schema", bench.schema, "--columns", "sex,region", "--workload", "2-way", "--method", "mwem")
    return ("tune", bench.table, *common, "--option", "moves=cell", "--epsilon", 1, "-o", bench.out, *more)


def test_tune_releases_the_best_candidate_and_says_which(bench: Bench) -> None:
    done = bench.run(*tune(bench, "--grid", "num_rounds=1,2", "--json"))
    assert done.exit_code == 0, done.text
    assert done.json["tuning"]["chosen"]["num_rounds"] in ("1", "2")
    assert json.loads((bench.out / "statement.json").read_text())["tuning"] == done.json["tuning"]
    assert "best of a random number of runs" in (bench.out / "report.html").read_text()
    listed = bench.run("ledger", bench.schema, "--verify", "--json")
    assert listed.exit_code == 0, listed.text
    assert len(listed.json["runs"]) == 1
    assert "trial" not in json.dumps(listed.json)
    told = bench.run("answer", bench.out, "sex = Female")
    assert told.exit_code == 0, told.text


def test_a_budget_that_does_not_cover_it_is_refused(bench: Bench) -> None:
    refused = bench.run(*tune(bench, "--grid", "num_rounds=1,2", "--epsilon", 5))
    assert refused.exit_code == 6
    assert "Nothing was spent" in refused.text


@pytest.mark.parametrize("text", ["", "a", "a=", "=1,2", "a=1;a=2", "a=1,1", "a=1,2;"])
def test_a_grid_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(SettingError, match="write each option once"):
        parse_grid(text)
