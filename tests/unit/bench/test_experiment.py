"""Declared experiments: files are valid, what is missing is run once, points and claims say what the runs say."""

import json
import re

import pyarrow.parquet as pq
import pytest

from equipoise.algorithms import create
from equipoise.bench import runner
from equipoise.bench.experiment import load, names, parse
from equipoise.bench.experiment_page import build, pictures
from equipoise.bench.public import PUBLIC_TABLES
from equipoise.bench.summary import failures, left_out, own, points, verdicts
from equipoise.errors import DataError, SettingError
from equipoise.report.references import bibliography

TOY = """
name = "toy"
title = "A toy"
paper = "liu2021iterative"
errors = ["max", "mean"]
runs = 2
epsilons = [0.5, 1.0]
quick = { runs = 1, epsilons = [1.0] }

[[panel]]
title = "Toys"
table = "toy"

[[panel.line]]
name = "one"
method = "pep"

[[panel.line]]
name = "best"
method = "mwem"
grid = { num_rounds = [1, 2] }
quick = false

[[claim]]
panel = "Toys"
better = "one"
worse = "best"
says = "one beats the best"
"""


def made(figure, data, *, one_core):
    """A run whose errors are known: mwem is better with one round than with two, pep in between."""
    rounds = dict(figure.options).get("num_rounds")
    largest = {None: 0.2, 1: 0.1, 2: 0.3}[rounds] / figure.epsilon
    run = {"label": figure.label, "wall": 1.0, "cpu": 2.0, "memory": 0.5}
    return run | {"rows max": largest, "rows mean": largest / 10, "one core": one_core}


@pytest.fixture
def data(tmp_path):
    (tmp_path / "data" / "workloads").mkdir(parents=True)
    (tmp_path / "data" / "workloads" / "toy.json").write_text("{}")
    return tmp_path / "data"


@pytest.mark.parametrize("name", names())
def test_every_shipped_experiment_is_valid(name):
    experiment = load(name)
    assert experiment.name == name
    assert experiment.paper is None or experiment.paper in bibliography()
    for panel in experiment.panels:
        assert experiment.epsilons_of(panel)
        for line in panel.lines:
            for options in line.combinations():
                create(line.method, options)  # refuses what it does not know
            assert line.public is None or line.public in PUBLIC_TABLES or re.fullmatch(r"\w+_public", line.public)
    assert experiment.figures(quick=True)


def test_a_grid_has_a_figure_for_each_point_and_the_label_says_so():
    experiment = parse(TOY)
    figures = experiment.figures()
    assert [len(each) for each in figures.values()] == [2, 4]
    one, best = experiment.panels[0].lines
    assert (one.label, best.label) == ("private", "NON-PRIVATE grid search")
    assert list(experiment.figures(quick=True)) == ["Toys / one"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("title =", "titel =", "title"),
        ('worse = "best"', 'worse = "worst"', "does not have"),
        ('name = "best"', 'name = "one"', "same panel and name"),
        ("runs = 2", "runs = [", "not TOML"),
        ("quick = false", "quick_grid = { num_rounds = [3] }", "that its grid lacks"),
        ("quick = false", 'of = "nobody"', "which the experiment does not have"),
        ("quick = false", "quick_epsilons = [0.5]", "not all among those of a quick run"),
    ],
)
def test_a_wrong_file_is_refused_with_what_is_wrong(old, new, told):
    with pytest.raises(SettingError, match=told):
        parse(TOY.replace(old, new))


def test_a_quick_run_tries_less_of_a_grid():
    experiment = parse(TOY.replace("quick = false", "quick_grid = { num_rounds = [2] }"))
    assert [figure.label for figure in experiment.figures(quick=True)["Toys / best"]] == ["toy mwem 1 num_rounds=2"]
    assert len(experiment.figures()["Toys / best"]) == 4


def test_a_quick_run_has_fewer_budgets_of_a_slow_line_and_says_what_it_leaves_out():
    text = TOY.replace("epsilons = [1.0] }", "epsilons = [0.5, 1.0] }")
    slow = parse(text.replace("quick = false", "quick_epsilons = [1.0]\nquick_grid = { num_rounds = [2] }"))
    quick = slow.figures(quick=True)
    assert [len(quick[name]) for name in ("Toys / one", "Toys / best")] == [2, 1]
    assert len(slow.figures()["Toys / best"]) == 4
    assert left_out(slow) == [
        "1 of 2 runs of everything",
        "Toys: best at epsilon 0.5; best: 1 of 2 points of the grid, so that its best may be worse",
    ]
    assert left_out(parse(TOY)) == ["1 of 2 runs of everything", "epsilon 0.5", "Toys: best"]
    whole = parse(TOY.replace('table = "toy"', 'table = "toy"\nquick = false'))
    assert left_out(whole)[-1] == "Toys: all of it"
    nothing = parse(text.replace("quick = false", "").replace("runs = 1,", "runs = 2,"))
    assert left_out(nothing) == []


def test_a_page_of_fewer_runs_says_how_many_there_should_be(data, tmp_path):
    experiment, out = parse(TOY), tmp_path / "out"
    page = build(experiment, runner.run(experiment, data=data, out=out, quick=True, run_one=made))
    assert "1 of 12 runs" in page
    assert "<li>epsilon 0.5</li><li>Toys: best</li>" in page
    whole = build(experiment, runner.run(experiment, data=data, out=out, run_one=made))
    assert "leaves out" not in whole
    assert "12 runs" in whole


def test_only_the_runs_that_are_asked_for_are_made(data, tmp_path):
    runs = runner.run(parse(TOY), data=data, out=tmp_path / "out", only="mwem 0.5", run_one=made)
    assert {run["label"] for run in runs} == {"toy mwem 0.5 num_rounds=1", "toy mwem 0.5 num_rounds=2"}
    assert len(runs) == 4


def test_an_experiment_like_another_shows_some_of_its_runs():
    whole, part = load("s001-fig2"), load("s001-fig5")
    assert (part.kept_as, whole.kept_as) == ("s001-fig2", "s001-fig2")
    assert [panel.title for panel in part.panels] == ["ADULT, good support", "ADULT, 7 of 13 columns"]
    assert {claim.panel for claim in part.claims} == {panel.title for panel in part.panels}
    assert (part.epsilons, part.errors) == (whole.epsilons, ("max", "mean", "rmse"))
    labels = {figure.label for line in part.figures().values() for figure in line}
    assert labels < {figure.label for line in whole.figures().values() for figure in line}
    runs = [{"label": label} for label in sorted(labels)] + [{"label": "another panel's"}]
    assert own(part, runs) == runs[:-1]
    with pytest.raises(SettingError, match="does not have"):
        parse('name = "x"\nlike = "s001-fig2"\nonly = ["no such panel"]')


def test_what_was_run_is_not_run_again_and_all_first_runs_come_first(data, tmp_path):
    experiment, out = parse(TOY), tmp_path / "out"
    runner.run(experiment, data=data, out=out, quick=True, run_one=made)
    assert len((out / "runs.jsonl").read_text().splitlines()) == 1
    todo = runner.missing(experiment, runner.read_runs(out / "runs.jsonl"), quick=False)
    assert len(todo) == 6 * 2 - 1
    assert len({figure.label for figure in todo[:5]}) == 5
    with (out / "runs.jsonl").open("a") as log:
        log.write('{"label": "cut sh')  # a kill in the middle of a line
        log.write("\n")
    runs = runner.run(experiment, data=data, out=out, run_one=made)
    assert len(runs) == 12
    assert all(run["one core"] for run in runs)
    assert pq.read_table(out / "runs.parquet").num_rows == 12
    assert runner.missing(experiment, runs, quick=False) == []


def test_timing_runs_are_alone_on_the_machine(data, tmp_path):
    experiment = parse(TOY.replace('title = "A toy"', 'title = "A toy"\nkind = "timing"'))
    assert not any(run["one core"] for run in runner.run(experiment, data=data, out=tmp_path / "out", run_one=made))


def test_a_folder_without_the_table_is_refused_before_anything_runs(tmp_path):
    with pytest.raises(DataError, match="toy"):
        runner.run(parse(TOY), data=tmp_path, out=tmp_path / "out", run_one=made)
    assert not (tmp_path / "out").exists()


def test_a_grid_shows_its_best_and_claims_are_judged_at_every_epsilon(data, tmp_path):
    experiment = parse(TOY)
    runs = runner.run(experiment, data=data, out=tmp_path / "out", run_one=made)
    panel = experiment.panels[0]
    found = points(experiment, panel, panel.lines[1], runs, "mean")
    assert [(point.epsilon, point.mean, point.chosen) for point in found] == [
        (0.5, pytest.approx(0.02), "num_rounds 1"),
        (1.0, pytest.approx(0.01), "num_rounds 1"),
    ]
    (verdict,) = verdicts(experiment, runs)
    assert len(verdict.broken) == 2
    assert "does NOT hold" in verdict.words
    (turned,) = verdicts(parse(TOY.replace('better = "one"\nworse = "best"', 'better = "best"\nworse = "one"')), runs)
    assert turned.words == "holds at every epsilon run"
    assert verdicts(experiment, [])[0].words == "not run"


def test_the_page_is_one_file_that_says_what_is_not_private_and_what_failed(data, tmp_path):
    experiment = parse(TOY)
    runs = runner.run(experiment, data=data, out=tmp_path / "out", run_one=made)
    runs.append({"label": "toy pep 1", "failed": "MemoryError: <none> left"})
    page = build(experiment, runs)
    assert "NON-PRIVATE grid search" in page
    assert "MemoryError: &lt;none&gt; left" in page
    assert failures(runs) == [("toy pep 1", "MemoryError: <none> left")]
    assert page.count("<polyline") == 4
    assert not re.search(r"(src|href)=|url\(|@import", page)


def test_a_grid_has_the_colour_of_its_method_and_is_dashed(data, tmp_path):
    experiment = parse(TOY.replace("quick = false", 'of = "one"'))
    page = build(experiment, runner.run(experiment, data=data, out=tmp_path / "out", run_one=made))
    assert 'class="l0 dashed"' in page
    assert 'class="l1' not in page


def test_the_legend_has_what_was_run_only_and_so_have_the_pictures(data, tmp_path):
    experiment = parse(TOY)
    runs = runner.run(experiment, data=data, out=tmp_path / "out", quick=True, run_one=made)
    assert "NON-PRIVATE grid search" not in build(experiment, runs)
    files = pictures(experiment, runs)
    assert list(files) == ["toys-largest.svg", "toys-mean.svg"]
    assert all("best" not in text and ">one<" in text for text in files.values())
    whole = pictures(experiment, runner.run(experiment, data=data, out=tmp_path / "out", run_one=made))
    assert "best (NON-PRIVATE grid search)" in whole["toys-largest.svg"]
    assert pictures(experiment, []) == {}


def test_why_a_claim_fails_is_told_only_where_it_does(data, tmp_path):
    text = TOY + 'why = "the grid is finer here"\n'
    runs = runner.run(parse(text), data=data, out=tmp_path / "out", run_one=made)
    assert "the grid is finer here" in build(parse(text), runs)
    turned = text.replace('better = "one"\nworse = "best"', 'better = "best"\nworse = "one"')
    assert "the grid is finer here" not in build(parse(turned), runs)


def test_what_is_not_known_of_a_claim_that_fails_is_said_too(data, tmp_path):
    runs = runner.run(parse(TOY), data=data, out=tmp_path / "out", run_one=made)
    (several,) = verdicts(parse(TOY), runs)
    assert several.num_runs == "2 runs each"
    assert several.why == "Why is not known."
    assert several.why in build(parse(TOY), runs)


def test_an_order_that_few_runs_do_not_settle_is_told(data, tmp_path):
    runs = runner.run(parse(TOY), data=data, out=tmp_path / "out", quick=True, run_one=made)
    for rival, told, why in (
        (0.25, "holds at every epsilon run; closely, and not settled by so few runs, at 1 (0.2 against 0.25)", ""),
        (0.5, "holds at every epsilon run", ""),
        (0.18, "does NOT hold at epsilon 1 (0.2 against 0.18)", "Why is not known. It may be chance"),
        (0.1, "does NOT hold at epsilon 1 (0.2 against 0.1)", "Why is not known."),
    ):
        worse = runs[0] | {"label": "toy mwem 1 num_rounds=1", "rows max": rival}
        (verdict,) = verdicts(parse(TOY), [*runs, worse])
        assert (verdict.words, verdict.num_runs) == (told, "one run each")
        assert verdict.why.startswith(why)
        assert ("chance" in verdict.why) == ("chance" in why)
    (uneven,) = verdicts(parse(TOY), [*runs, *runs, runs[0] | {"label": "toy mwem 1 num_rounds=1"}])
    assert uneven.num_runs == "1 to 2 runs each"


def test_a_page_of_nothing_says_so():
    page = build(parse(TOY), [])
    assert page.count("Not run yet.") == len(parse(TOY).panels)
    assert "<figure>" not in page


def test_a_run_that_crashes_is_a_row(tmp_path):
    from equipoise.bench.figures import Figure
    from equipoise.bench.runs import run_apart

    (tmp_path / "workloads").mkdir()
    (tmp_path / "workloads" / "toy.json").write_text(json.dumps({"table": "absent", "marginals": [["a"]]}))
    found = run_apart(Figure("toy", "pep", 1.0), tmp_path)
    assert found["label"] == "toy pep 1"
    assert "absent" in found["failed"]
