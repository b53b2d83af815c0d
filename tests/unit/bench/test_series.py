"""Benchmarks in series: what was measured is not measured again, a failed run is told, tables and plots are written."""

import json
import subprocess
import threading
from dataclasses import dataclass, replace
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest

from equipoise.bench import dual_query, dual_query_cases, fem, fem_cases
from equipoise.bench.runs import ALONE, read_runs
from equipoise.bench.series import Series, spread
from equipoise.bench.series_page import Line, Plot, build, pictures

FIGURE_3 = dual_query_cases.FIGURES[3]["kdd99"][dual_query_cases.DEFAULT]


@dataclass(frozen=True)
class Toy:
    label: str
    table: str = "made up"
    quick: bool = False


@dataclass(frozen=True)
class Told:
    runs: list

    @property
    def markdown(self):
        return f"{len(self.runs)} runs\n"

    @property
    def html(self):
        return "<p></p>"

    @property
    def met(self):
        return all("failed" not in run for run in self.runs)


def toy(measured, monkeypatch):
    cases = (Toy("a"), Toy("b", quick=True), Toy("c", table="yardstick"))
    series = Series("toy", "A toy.", cases, lambda *_: {}, Told, own_tables=("made up",))

    def apart(self, case, seed, out, data):
        measured.append((case.label, seed))
        return {"label": case.label, "failed": "no memory"} if case.label == "b" else {"label": case.label, "max": 1.0}

    monkeypatch.setattr(Series, "_apart", apart)
    return series


def test_only_what_is_missing_is_measured(tmp_path, monkeypatch, capsys):
    measured = []
    series = toy(measured, monkeypatch)
    (tmp_path / "toy.jsonl").write_text(json.dumps({"label": "a", "max": 1.0}) + "\n")
    assert series.main(["--out", str(tmp_path), "--data", str(tmp_path), "--runs", "2"]) == 1, "a run of b failed"
    assert measured == [("b", 0), ("a", 1), ("b", 1)], "the first run of everything comes before a second"
    assert "c: the yardstick tables are not at" in capsys.readouterr().err
    assert len(read_runs(tmp_path / "toy.jsonl")) == 4
    assert (tmp_path / "toy.md").read_text() == "4 runs\n"
    assert pq.read_table(tmp_path / "toy.parquet")["failed"].to_pylist().count("no memory") == 2
    series.main(["--out", str(tmp_path), "--data", str(tmp_path), "--runs", "2"])
    assert len(measured) == 3


@pytest.mark.parametrize(("kind", "beside"), [("accuracy", 2), ("timing", 1)])
def test_accuracy_runs_go_beside_each_other_and_times_are_taken_alone(tmp_path, monkeypatch, kind, beside):
    cases = tuple(Toy(name) for name in "abcdef")
    series = Series("toy", "A toy.", cases, lambda *_: {}, Told, own_tables=("made up",), kind=kind)
    lock, under_way, most, told = threading.Lock(), [], [], []

    def run(command, *, env, **_):
        with lock:
            under_way.append(command)
            most.append(len(under_way))
            told.append({name: env.get(name) for name in ALONE})
        threading.Event().wait(0.05)
        with lock:
            under_way.remove(command)
        return subprocess.CompletedProcess(command, 0, '{"label": "a", "max": 1.0}\n', "")

    monkeypatch.setattr(subprocess, "run", run)
    for name in ALONE:
        monkeypatch.delenv(name, raising=False)
    series.main(["--out", str(tmp_path), "--runs", "1", "--jobs", "2"])
    assert max(most) == beside
    assert all((each == ALONE) == (kind == "accuracy") for each in told), "one core each, or all of them"


def test_error_bars_are_standard_errors_of_the_mean():
    case = FIGURE_3[0]
    runs = [{"label": case.label, "mean": value, "max": value} for value in (1.0, 2.0, 6.0)]
    assert spread(runs, case.label, "mean") == pytest.approx(7**0.5 / 3**0.5)
    assert 'class="l0 bar"' in dual_query.Findings(runs).html
    assert 'class="l0 bar"' not in dual_query.Findings(runs[:1]).html


def test_plots_are_files_too_each_with_its_legend(tmp_path, monkeypatch):
    plots = [
        Plot("Figure 1, a < b", "epsilon", "largest", (Line("ours", ((0.1, 0.2), (1.0, 0.1))), Line("none", ()))),
        Plot("Empty", "epsilon", "largest", (Line("none", ()),)),
    ]
    series = replace(toy([], monkeypatch), pictures=lambda runs: pictures(plots))
    series.main(["--out", str(tmp_path), "--quick"])
    (path,) = (tmp_path / "toy-figures").iterdir()
    assert path.name == "figure-1-a-b.svg"
    drawn = ElementTree.fromstring(path.read_text())
    assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
    assert [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")][-1] == "ours"
    assert "a &lt; b" in path.read_text()


def test_a_long_legend_of_short_names_has_two_columns():
    def places(names):
        lines = tuple(Line(name, ((1.0, 0.1), (10.0, 0.2))) for name in names)
        (drawn,) = pictures([Plot("t", "rows", "max", lines)]).values()
        texts = ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")
        return [(float(text.get("x")), float(text.get("y"))) for text in texts if text.text in names]

    short = places([f"method {k}" for k in range(7)])
    assert len(short) == len(set(short)) == 7, "none on top of another"
    assert len({x for x, _ in short}) == 2
    assert len({y for _, y in short}) == 4
    for names in ([f"method {k}" for k in range(6)], [f"a method with a long name {k}" for k in range(7)]):
        assert len({x for x, _ in places(names)}) == 1


def test_quick_and_only_choose(tmp_path, monkeypatch):
    measured = []
    series = toy(measured, monkeypatch)
    series.main(["--out", str(tmp_path), "--data", str(tmp_path), "--quick"])
    series.main(["--out", str(tmp_path), "--data", str(tmp_path), "--runs", "1", "--only", "a"])
    assert measured == [("b", 0), ("a", 0)]


def test_dual_query_judges_figures_2_and_4_too():
    figures, default = dual_query_cases.FIGURES, dual_query_cases.DEFAULT
    budgets, widths = figures[2]["adult_star"][default], figures[4]["biased"][default]
    runs = [{"label": case.label, "max": 0.1 / case.epsilon, "mean": 0.01} for case in budgets]
    runs += [{"label": c.label, "max": 0.01 * c.num_attributes**0.3, "mean": 0.01, "cpu": 1.0} for c in widths]
    assert [holds for *_, holds in dual_query.Findings(runs).claims()] == ["yes", "yes"]
    runs[1]["max"], runs[-1]["cpu"] = 9.0, 1e5
    assert [holds for *_, holds in dual_query.Findings(runs).claims()] == ["NO", "NO"]


@pytest.mark.parametrize("series", [dual_query.SERIES, fem.SERIES])
def test_labels_tell_the_cases_apart_and_some_are_quick(series):
    labels = [case.label for case in series.cases]
    assert len(set(labels)) == len(labels)
    assert 0 < sum(case.quick for case in series.cases) < len(labels)


def test_dual_query_says_what_was_not_reached():
    case = next(case for case in dual_query_cases.CASES if "max" in case.limits)
    run = {"label": case.label, "wall": 1.0, "cpu": 1.0, "GiB": 1.0, "mean": 0.01, "max": 0.1, "rounds": 5}
    assert "| yes |" in dual_query.Findings([run]).markdown
    assert not dual_query.Findings([run | {"max": 0.9}]).met
    failed = dual_query.Findings([{"label": case.label, "failed": "no memory"}])
    assert "0, 1 failed" in failed.markdown
    assert not failed.met


def test_dual_query_judges_flatness_and_draws_what_is_there():
    runs = [
        {
            "label": case.label,
            "wall": 1.0,
            "cpu": 2.0,
            "GiB": 1.0,
            "mean": 0.01 * (1 + 0.03 * i),
            "max": 0.1,
            "rounds": 5,
        }
        for i, case in enumerate(FIGURE_3)
    ]
    found = dual_query.Findings(runs)
    assert found.met
    assert "Figure 3: KDD99, epsilon 1" in found.html
    assert "Figure 4" not in found.html
    assert len(found.claims()) == 1, "figures 2 and 4 have too few points to be judged by"
    runs[0]["mean"] = 0.02
    assert "| NO |" in dual_query.Findings(runs).markdown


def test_errors_of_the_same_queries_are_told_from_those_of_all():
    sizes = zip(FIGURE_3, (4e-5, 2e-5), (4e-5, 3.9e-5), (1e-3, 5e-4), strict=False)
    runs = [
        {"label": case.label, "mean": mean, dual_query.SHARED: shared, "all zero": zero}
        for case, mean, shared, zero in sizes
    ]
    assert [holds for *_, holds in dual_query.Findings(runs).claims()] == ["NO", "yes", "yes"]


def fem_runs(growth):
    """FEM's and hdmm's largest errors, when epsilon falls from 1 to 0.1, grow by the given factors."""
    lines = fem_cases.FIGURES[1]["adult_star", 3]
    ends = {method: (lines[method][0], lines[method][-1]) for method in (fem_cases.DEFAULT, fem_cases.BASELINE)}
    return [
        {"label": case.label, "max": value, "mean": 1e-4, "wall": 1.0}
        for (method, (hard, easy)), factor in zip(ends.items(), growth, strict=True)
        for case, value in ((hard, 0.01 * factor), (easy, 0.01))
    ]


def test_fem_judges_the_growth_of_the_largest_error():
    found = fem.Findings(fem_runs((3.0, 10.0)))
    assert "| 3 times | 10 times | yes |" in found.markdown
    assert found.met
    assert not fem.Findings(fem_runs((11.0, 10.0))).met


def test_the_grid_is_labelled_where_it_is_shown():
    case = fem_cases.FIGURES[1]["adult_star", 3][fem_cases.GRID][0]
    found = fem.Findings([{"label": case.label, "max": 0.1, "mean": 1e-4}])
    assert "NON-PRIVATE" in found.markdown
    assert found.html.count("NON-PRIVATE") >= 3
    assert "stroke-dasharray" in found.html


def test_every_figure_has_its_line_of_defaults_and_its_grid():
    """As declared: S000's figures 1 and 2 with four panels each, S002's figures 2 to 4 with three, one and one."""
    for cases, panels in ((fem_cases, {1: 4, 2: 4}), (dual_query_cases, {2: 3, 3: 1, 4: 1})):
        assert {figure: len(lines) for figure, lines in cases.FIGURES.items()} == panels
        for lines in (each for figure in cases.FIGURES.values() for each in figure.values()):
            assert len(lines[cases.DEFAULT]) == len(lines[cases.GRID]) > 1
            assert not any(case.quick for case in lines[cases.GRID]), "a search is hours"


def test_dual_query_keeps_the_best_of_its_grid_and_says_that_it_is_not_private(tmp_path, monkeypatch):
    grid, default = (
        dual_query_cases.FIGURES[4]["biased"][name][0] for name in ("dual_query, grid: NON-PRIVATE", "dual_query")
    )
    tried = []

    def released(case, request, folder):
        tried.append(dict(request.options))
        largest = {0: 0.3, 1: 0.1}.get(len(tried), 0.2)
        return {"label": case.label, "max": largest, "mean": largest / 2, "wall": 1.0, "cpu": 2.0}

    monkeypatch.setattr(dual_query, "_released", released)
    alone = dual_query.measure(default, 0, tmp_path, tmp_path)
    assert (tried.pop(), alone["releases"]) == ({}, 1)
    found = dual_query.measure(grid, 0, tmp_path, tmp_path)
    assert (found["max"], found["releases"], found["cpu"]) == (0.1, 9, 18.0)
    assert len({tuple(options.items()) for options in tried}) == 9
    assert all(set(options) == {"num_rounds", "num_draws"} for options in tried)
    shown = dual_query.Findings([alone, found])
    assert shown.html.count("NON-PRIVATE") >= 3
    assert "stroke-dasharray" in shown.html


def test_marginals_are_those_that_fit_and_the_same_for_a_seed():
    sizes = (2, 3, 1000, 400, 5)
    chosen = fem.marginals(sizes, 2, 100, seed=1)
    assert (2, 3) not in chosen
    assert len(chosen) == 9
    assert fem.marginals(sizes, 2, 4, seed=1) == fem.marginals(sizes, 2, 4, seed=1)


def test_a_page_needs_nothing_from_elsewhere_and_leaves_empty_plots_out():
    plot = Plot("Errors", "queries", "largest", (Line("ours", ((40_000.0, 0.2), (2e6, 0.02))), Line("not run", ())))
    table = "# A & B\n\nOf two.\n\n| a | b |\n|---|---|\n| x < y | 2 |\n| z | 3 |\n\n| holds |\n|---|\n| yes |\n"
    text = build("A & B", "Means.", [plot, Plot("Nothing", "queries", "seconds", ())], table)
    assert "<p>Of two.</p>" in text
    assert "x &lt; y</td><td>2</td>" in text
    assert "---" not in text
    assert text.index('<td class="text">yes</td>') < text.index("<figure>") < text.index("Of two."), "first what counts"
    assert "A &amp; B" in text
    assert "http" not in text
    assert "queries (logarithmic)" in text
    assert ">40k<" in text
    assert ">2M<" in text
    assert "Nothing" not in text
