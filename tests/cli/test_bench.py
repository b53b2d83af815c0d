"""`equipoise bench`: what there is, and what is refused before anything runs."""

import json

import pyarrow.parquet as pq
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.errors import DataError, OutputError, SettingError


def bench(*words):
    return CliRunner().invoke(app, ["bench", *map(str, words)])


def test_the_list_has_every_experiment_and_how_much_work_it_is():
    listed = json.loads(bench("list", "--json").output)["experiments"]
    assert {"s000", "s001-fig1", "s002", "s003", "s004"} <= {each["name"] for each in listed}
    assert "s001-fig1" in bench("list").output


def test_an_unknown_experiment_is_refused_with_the_known_ones(tmp_path):
    found = bench("run", "s009", "--data", tmp_path, "-o", tmp_path / "out")
    assert found.exit_code == SettingError.exit_code
    assert "s001-fig1" in found.output


def test_a_folder_without_tables_is_refused(tmp_path):
    assert bench("run", "s001-fig1", "--data", tmp_path, "-o", tmp_path / "out").exit_code == DataError.exit_code


def test_what_gives_a_table_and_no_figure_is_run_by_name_too(tmp_path, monkeypatch):
    told = []
    out = tmp_path / "out" / "s003"
    rules = [{"query_class": "conjunctions", "loss": 0.2, "met": True}, {"query_class": "parities", "loss": 0.3}]

    def main(arguments):
        told.append(arguments)
        out.mkdir(parents=True, exist_ok=True)
        (out / "learning.md").write_text("# Rules\n\n| class | rule |\n|---|---|\n| all | `a < b` |\n\nBest: all.\n")
        (out / "learning.json").write_text(json.dumps({"optima": [], "trials": rules}))

    monkeypatch.setattr("equipoise.bench.learning.main", main)
    assert bench("run", "s003", "--data", tmp_path, "-o", tmp_path / "out").exit_code == DataError.exit_code
    assert not told
    (tmp_path / "adult.parquet").touch()
    where = ["--data", str(tmp_path), "--out", str(tmp_path / "out" / "s003")]
    for options, more in (((), []), (("--quick",), ["--quick"])):
        assert bench("run", "s003", "--data", tmp_path, "-o", tmp_path / "out", *options).exit_code == 0
        assert told.pop() == where + more
    assert bench("run", "s003", "--data", tmp_path, "--only", "parities").exit_code == SettingError.exit_code
    assert not told
    assert pq.read_table(out / "learning.parquet").to_pylist()[1] == {**rules[1], "met": None}
    page = (out / "index.html").read_text()
    assert "<h1>Rules</h1>" in page
    assert "<td>a &lt; b</td>" in page
    assert "<p>Best: all.</p>" in page
    assert "error bars" not in page
    assert bench("show", "s003", "-o", tmp_path).exit_code == SettingError.exit_code


def test_a_series_is_told_which_of_its_cases_to_run(tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr("equipoise.bench.series.Series.main", lambda series, arguments: told.append(arguments))
    assert bench("run", "growth", "--quick", "--only", "rap", "-o", tmp_path).exit_code == 0
    (arguments,) = told
    assert arguments[arguments.index("--only") + 1] == "rap"
    assert arguments[arguments.index("--out") + 1] == str(tmp_path / "growth")


def test_there_is_nothing_to_show_before_a_run(tmp_path):
    assert bench("show", "s001-fig1", "-o", tmp_path).exit_code == OutputError.exit_code
    assert bench("show", "s000", "-o", tmp_path).exit_code == SettingError.exit_code


def test_kept_runs_become_a_page(tmp_path):
    folder = tmp_path / "s001-fig1"
    folder.mkdir()
    runs = [
        {"label": f"adult_reduced {method} 1 moves=cell {how}", "rows max": error, "cpu": 1.0}
        | {"rows mean": error / 10, "rows rmse": error / 5}
        for method, how, error in (("pep", "solver=projection", 0.1), ("mwem", "replay=none", 0.2))
    ]
    (folder / "runs.jsonl").write_text("".join(json.dumps(run) + "\n" for run in runs))
    body = json.loads(bench("show", "s001-fig1", "-o", tmp_path, "--json").output)
    assert body["runs"] == 2
    assert body["claims"][0] | {"panel": "", "says": ""} == {
        "why": "",
        "panel": "",
        "says": "",
        "here": "holds at every epsilon run",
        "holds": True,
    }
    assert "<polyline" in (folder / "index.html").read_text()


def test_an_unknown_peer_or_table_is_refused_before_anything_runs(tmp_path):
    found = bench("peers", "--peer", "nobody", "--data", tmp_path, "-o", tmp_path / "out")
    assert found.exit_code == SettingError.exit_code
    assert "dpmm AIM" in found.output
    found = bench("peers", "--peer", "noise on every cell", "--data", tmp_path, "-o", tmp_path / "out")
    assert found.exit_code == DataError.exit_code


def test_peers_that_were_run_become_a_page(tmp_path):
    cells = tmp_path / "peers" / "cells"
    cells.mkdir(parents=True)
    for name, largest in (("equipoise", 0.2), ("noise on every cell", 0.1)):
        kept = {"table": "adult", "epsilon": 1.0, "peer": name, "run": 0, "wall": 1.0, "cpu": 1.0, "GiB": 0.1}
        kept |= {"max": largest, "mean": 0.1, "rmse": 0.1, "tv": 0.1}
        (cells / f"adult-1-{name.replace(' ', '_')}-0.json").write_text(json.dumps(kept))
    words = ("--table", "adult", "--epsilon", "1", "--peer", "equipoise", "--peer", "noise on every cell")
    body = json.loads(bench("peers", *words, "--data", tmp_path, "-o", tmp_path, "--json").output)
    assert body["results"] == 2
    assert len(body["exceptions"]) == 1
    assert "2.00 times" in body["exceptions"][0]
    assert "<polyline" in (tmp_path / "peers" / "index.html").read_text()
    assert "### adult, epsilon 1" in (tmp_path / "peers" / "peers.md").read_text()
