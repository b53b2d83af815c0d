"""Every command, end to end on a small table, as people and as scripts see it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from equipoise.budget import look
from equipoise.data.schema import load

Bench = Any  # the fixtures' class: conftest.py is not importable under import-mode=importlib


def test_schema_drafts_a_file_that_loads_and_is_not_confirmed(bench: Bench) -> None:
    target = bench.folder / "draft.toml"
    result = bench.run("schema", bench.table, "-o", target)
    assert result.exit_code == 0
    assert {"sex", "age", "region"} <= set(load(target).unconfirmed)
    assert "check it" in result.text


def test_schema_without_output_prints_the_draft_itself(bench: Bench) -> None:
    result = bench.run("schema", bench.table)
    target = bench.folder / "piped.toml"
    target.write_text(result.stdout)
    assert load(target).domain.columns == ("sex", "age", "score", "region")


def test_schema_json_and_refusal_to_overwrite(bench: Bench) -> None:
    target = bench.folder / "draft.toml"
    body = bench.run("schema", bench.table, "-o", target, "--json").json
    assert body["columns"]["sex"] == {"type": "categorical", "confirmed": False}
    again = bench.run("schema", bench.table, "-o", target)
    assert again.exit_code == 9
    assert "--overwrite" in again.text
    assert bench.run("schema", bench.table, "-o", target, "--overwrite", "--quiet").stdout == ""


def test_plan_says_what_it_costs_and_touches_nothing(bench: Bench) -> None:
    before = sorted(bench.folder.iterdir())
    result = bench.run("plan", bench.table, "--schema", bench.schema, "--epsilon", 1, "--workload", "2-way")
    assert result.exit_code == 0
    assert sorted(bench.folder.iterdir()) == before
    for word in ("Fits the budget", "iB", "mixture", "rho", "nothing recorded yet", "200 rows", "120 cells"):
        assert word in result.text


def test_plan_says_what_would_lessen_much_noise(bench: Bench) -> None:
    coarse = bench.run("plan", bench.table, "--schema", bench.schema, "--epsilon", 0.1)
    assert "Most answers would be lost in noise" in coarse.text
    assert "--columns" in coarse.text
    arguments = ("--columns", "sex,region", "--workload", "1-way", "--epsilon", 2, "--ledger", bench.folder / "other")
    fine = bench.run("plan", bench.table, "--schema", bench.schema, *arguments)
    assert "lost in noise" not in fine.text
    assert "None" not in fine.text
    assert "because a workload of marginals" in fine.text


def test_plan_json_adds_up(bench: Bench) -> None:
    arguments = ("--schema", bench.schema, "--epsilon", 1, "--columns", "sex,age", "--method", "mwem", "--json")
    body = bench.run("plan", bench.table, *arguments).json
    assert body["fits"] is True
    assert body["workload"]["text"] == "2-way"  # the default is 3-way, or all columns if fewer
    assert body["domain_cells"] == 10
    assert body["guarantee"]["delta"] == pytest.approx(1 / 200**2)
    assert sum(event["rho"] for event in body["events"]) == pytest.approx(body["guarantee"]["rho"])
    error = body["expected_error"]["measurement_stddev"]
    assert error["count"] == pytest.approx(200 * error["share"])
    assert body["budget"]["exists"] is False


def test_plan_sums_noise_levels_of_one_kind(bench: Bench) -> None:
    arguments = ("--schema", bench.schema, "--epsilon", 1, "--method", "dual_query", "--option", "num_rounds=30")
    result = bench.run("plan", bench.table, *arguments)
    assert "of several noise levels" in result.text
    assert "plan --json" in result.text
    assert result.text.count("draw") < 5, "not a line a round"
    events = bench.run("plan", bench.table, *arguments, "--json").json["events"]
    assert len(events) == 29, "the first round is free"


def test_plan_that_does_not_fit_says_so(bench: Bench) -> None:
    result = bench.run("plan", bench.table, "--schema", bench.schema, "--epsilon", 3, "--json")
    assert result.exit_code == 6
    assert result.json["fits"] is False
    assert not bench.ledger.exists()


def test_plan_takes_a_draft_and_names_what_is_unconfirmed(bench: Bench) -> None:
    target = bench.folder / "draft.toml"
    bench.run("schema", bench.table, "-o", target)
    result = bench.run("plan", bench.table, "--schema", target, "--epsilon", 1, "--columns", "sex,region")
    assert result.exit_code == 0
    assert "release would refuse: sex, region" in result.text


def test_release_makes_the_folder_and_says_where(released: Bench) -> None:
    names = {path.name for path in released.out.iterdir()}
    assert names >= {"synthetic.parquet", "synthetic.csv", "statement.json", "report.html", "moves.parquet"}
    assert pq.read_table(released.out / "synthetic.parquet").num_rows == 200
    assert pyarrow.csv.read_csv(released.out / "synthetic.csv").column_names == ["sex", "age", "region"]
    assert json.loads((released.out / "statement.json").read_text())["seed"] == 7


def test_release_summary_has_report_guarantee_budget_and_error_bars(bench: Bench) -> None:
    result = bench.release("--rows", 50)
    assert result.exit_code == 0
    for word in ("report.html", "factor of at most e^1", "budget left", "error bars", "equipoise answer"):
        assert word in result.text
    assert pq.read_table(bench.out / "synthetic.parquet").num_rows == 50
    schema = load(bench.schema)
    assert look(bench.ledger, schema).held.rho > 0
    assert bench.release("--quiet", "--overwrite").stdout == ""


def test_release_says_when_no_error_bar_holds_for_all(bench: Bench) -> None:
    result = bench.release(epsilon=0.01)
    assert result.exit_code == 0, result.text
    assert "none for all queries at once" in result.text
    assert "100.00%" not in result.text
    assert "no error bar holds for all queries at once" in (bench.out / "report.html").read_text()


def test_release_json_is_one_object(bench: Bench) -> None:
    body = bench.release("--json").json
    assert body["guarantee"]["epsilon"] == 1
    assert body["budget"]["left"]["epsilon"] < 2
    assert 0 < body["error_bars"]["median"] <= body["error_bars"]["largest"] <= 1


def test_release_pure_has_delta_zero(bench: Bench) -> None:
    body = bench.release("--pure", "--json").json
    assert body["guarantee"]["delta"] == 0
    assert body["guarantee"]["definition"] == "pure differential privacy"


def test_release_of_codes_with_a_domain_keeps_its_ledger_in_the_folder(bench: Bench) -> None:
    domain = bench.folder / "small.domain.json"
    domain.write_text('{"a": 2, "b": 3}')
    bench.write_rows([f"{i % 2},{i % 3}" for i in range(60)], header="a,b")
    result = bench.release("--domain", domain, "--columns", "a,b", "--json")
    assert result.exit_code == 0
    beside = bench.out.with_name(bench.out.name + ".ledger.sqlite")
    assert beside.is_file()
    refused = bench.run("ledger", domain)
    assert refused.exit_code == 2
    assert "--ledger" in refused.text
    assert len(bench.run("ledger", domain, "--ledger", beside, "--json").json["runs"]) == 1


def test_release_takes_the_columns_of_a_workload_file(bench: Bench) -> None:
    workload = bench.folder / "workload.json"
    workload.write_text(json.dumps({"columns": ["region", "sex"], "marginals": [["sex", "region"]]}))
    schema, rest = bench.schema, ("--method", "mwem", "--option", "num_rounds=2", "--epsilon", 1, "-o", bench.out)
    body = bench.run("release", bench.table, "--schema", schema, "--workload", workload, *rest, "--json").json
    assert body["workload"]["num_queries"] == 6
    assert pq.read_table(bench.out / "synthetic.parquet").column_names == ["region", "sex"]


def test_accepting_what_was_inferred_is_recorded(bench: Bench) -> None:
    draft = bench.folder / "draft.toml"
    bench.run("schema", bench.table, "-o", draft)
    arguments = ("--schema", draft, "--columns", "sex,region", "--accept-inferred")
    body = bench.release(*arguments, "--json").json
    assert body["accepted_inferred"] == ["sex", "region"]
    assert bench.run("ledger", draft, "--json").json["runs"][0]["accepted_inferred"] == ["sex", "region"]
    again = bench.release(*arguments, out=bench.folder / "again")
    assert "read from the data and accepted: sex, region" in again.text


def test_answers_several_queries(released: Bench) -> None:
    result = released.run("answer", released.out, "sex = Female and age in 20..39", "region in {North, East}")
    assert result.exit_code == 0
    assert "sex = Female and age in 20..39" in result.text
    body = released.run("answer", released.out, "sex = Female", "sex = Male", "--json").json
    assert [a["query"] for a in body["answers"]] == ["sex = Female", "sex = Male"]
    assert sum(a["share"] for a in body["answers"]) == pytest.approx(1)
    assert sum(a["count"] for a in body["answers"]) == pytest.approx(200)


def test_a_query_that_does_not_fit_names_the_columns(released: Bench) -> None:
    result = released.run("answer", released.out, "height > 3")
    assert result.exit_code == 5
    assert "sex, age, region" in result.text


def test_of_several_queries_the_one_that_does_not_fit_is_named(released: Bench) -> None:
    result = released.run("answer", released.out, "sex = Female", "sex = female")
    assert result.exit_code == 5
    assert "'sex = female': " in result.text
    assert result.stdout == ""


def test_a_file_is_no_release_folder(released: Bench) -> None:
    result = released.run("answer", released.table, "sex = Female")
    assert result.exit_code == 9
    assert "is a file" in result.text


def test_evaluate_is_labelled_and_writes_beside_the_folder(released: Bench, tmp_path: Path) -> None:
    before = {path.name for path in released.out.iterdir()}
    result = released.run("evaluate", released.out, released.table)
    assert result.exit_code == 0
    assert "NOT PRIVATE" in result.text
    assert (released.folder / "out-internal.html").is_file()
    assert {path.name for path in released.out.iterdir()} == before
    target = tmp_path / "internal.html"
    body = released.run("evaluate", released.out, released.table, "-o", target, "--json").json
    assert body["private"] is False
    assert 0 < body["model"]["mean"] <= body["model"]["rmse"] <= body["model"]["max"]
    assert target.is_file()


def test_evaluate_refuses_to_write_into_the_release(released: Bench) -> None:
    result = released.run("evaluate", released.out, released.table, "-o", released.out / "internal.html")
    assert result.exit_code == 9
    assert not (released.out / "internal.html").exists()


def test_ledger_before_any_release_makes_none(bench: Bench) -> None:
    result = bench.run("ledger", bench.schema)
    assert result.exit_code == 0
    assert "nothing was released" in result.text
    assert not bench.ledger.exists()
    assert bench.run("ledger", bench.schema, "--verify").exit_code == 8


def test_ledger_lists_and_verifies(released: Bench) -> None:
    body = released.run("ledger", released.schema, "--verify", "--json").json
    [run] = body["runs"]
    assert run["status"] == "done"
    assert run["spent"] == run["reserved"]
    assert body["budget"]["spent"]["rho_exact"] == run["spent"]["rho_exact"]
    assert body["verified_entries"] == 1 + 1 + 2 * 3 + 1  # account, reservation, two events a round, done
    assert "the chain is whole" in released.run("ledger", released.schema, "--verify").text


def test_a_changed_total_is_refused_until_recorded(bench: Bench) -> None:
    bench.release()
    bench.schema.write_text(bench.schema.read_text().replace("epsilon = 2.0", "epsilon = 5.0"))
    refused = bench.release(out=bench.folder / "more")
    assert refused.exit_code == 8
    assert "--change-total" in refused.text
    assert bench.run("ledger", bench.schema, "--change-total", "--json").json["budget"]["total"]["epsilon"] == 5
    assert bench.release(out=bench.folder / "more").exit_code == 0


def test_close_gives_the_reservation_back(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    _interrupt_after_first_move(bench, monkeypatch)
    [run] = bench.run("ledger", bench.schema, "--json").json["runs"]
    assert run["status"] == "open"
    assert bench.run("ledger", bench.schema, "--close", "not-a-run").exit_code == 2
    body = bench.run("ledger", bench.schema, "--close", run["run"][:8], "--json").json
    assert body["runs"][0]["status"] == "closed"
    assert body["budget"]["spent"]["rho"] == pytest.approx(run["spent"]["rho"])
    assert 0 < run["spent"]["rho"] < run["reserved"]["rho"]


def test_an_interrupted_release_goes_on_at_no_further_cost(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    result = _interrupt_after_first_move(bench, monkeypatch)
    assert result.exit_code == 130
    assert "repeat the command" in result.text
    again = bench.release()
    assert again.exit_code == 0
    assert "going on with it" in again.text
    [run] = bench.run("ledger", bench.schema, "--verify", "--json").json["runs"]
    assert run["status"] == "done"
    assert run["spent"] == run["reserved"]


def test_a_refused_release_is_not_told_as_unfinished(bench: Bench) -> None:
    refused = bench.release(epsilon=50)
    assert refused.exit_code == 6
    assert "Nothing was spent" in refused.text
    again = bench.release(epsilon=50)
    assert again.exit_code == 6
    assert "going on with it" not in again.text
    done = bench.release()
    assert done.exit_code == 0
    assert "going on with it" not in done.text
    assert len(bench.run("ledger", bench.schema, "--verify", "--json").json["runs"]) == 1


def _interrupt_after_first_move(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Any:
    from equipoise.data_players.multiplicative_weights import MultiplicativeWeights

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(MultiplicativeWeights, "step", interrupted)
        return bench.release()


def test_methods_lists_every_algorithm_and_shows_one(bench: Bench) -> None:
    from equipoise.algorithms import ALGORITHMS

    body = bench.run("methods", "--json").json
    assert [m["name"] for m in body["methods"]] == [cls.name for cls in ALGORITHMS]
    assert all(m["guarantee"] and m["when"] and m["citations"] for m in body["methods"])
    assert "mwem" in bench.run("methods").text
    one = bench.run("methods", "mwem")
    assert "Pseudo-code" in one.stdout
    assert "--option num_rounds=" in one.stdout
    assert bench.run("methods", "nosuch").exit_code == 2
