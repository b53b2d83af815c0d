"""The accuracy benchmark: a run measures what it says, rows average and compare, an interrupted table goes on."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from equipoise.bench import accuracy, runs
from equipoise.bench.figures import FIGURES, ORDERINGS, Figure


@pytest.fixture
def data(tmp_path):
    """A yardstick folder with one table of 500 rows in the form of the real ones."""
    rng = np.random.default_rng(0)
    sizes = {"a": 3, "b": 2, "c": 4}
    pq.write_table(pa.table({n: rng.integers(0, size, 500) for n, size in sizes.items()}), tmp_path / "toy.parquet")
    (tmp_path / "toy.domain.json").write_text(json.dumps(sizes))
    (tmp_path / "workloads").mkdir()
    marginals = {"table": "toy", "marginals": [["a", "b"], ["b", "c"]]}
    (tmp_path / "workloads" / "toy.json").write_text(json.dumps(marginals))
    return tmp_path


def test_a_run_has_errors_of_rows_and_model_and_hdmm_its_prediction(data):
    run = runs.measure(Figure("toy", "hdmm", 5.0), data)
    assert 0 < run["model mean"] <= run["model max"] < 0.5
    assert run["predicted rmse"] <= run["separate rmse"] * (1 + 1e-9)
    # 14 answers, each normal: the root mean square is within a factor 4 of its prediction but for 1e-9 of the runs.
    assert run["predicted rmse"] / 40 < run["rmse"] < run["predicted rmse"] * 4
    assert run["wall"] > 0
    assert run["memory"] > 0


def test_a_row_is_the_mean_of_its_runs_and_fails_when_it_misses():
    figure = Figure("toy", "pep", 1.0, largest=0.2, mean=0.01)
    run = {"label": figure.label, "wall": 1.0, "cpu": 2.0, "memory": 0.5}
    run |= {f"{of} {what}": 0.1 for of in ("model", "rows") for what in ("max", "tv")}
    run |= {"model mean": 0.004, "rows mean": 0.005}
    worse = run | {"rows max": 0.4, "wall": 3.0}
    row = accuracy.averaged(figure, [run, worse])
    assert row["max"] == pytest.approx(0.25)
    assert row["mean / model's"] == pytest.approx(1.25)
    assert (row["first s"], row["median s"], row["met"]) == (1.0, 2.0, "NO")
    assert accuracy.averaged(figure, [run])["met"] == "yes"
    assert accuracy.averaged(figure, [{"label": figure.label, "failed": "MemoryError"}])["met"] == "NO"


def test_orderings_are_judged_on_the_largest_error():
    better, worse = ORDERINGS[0].better, ORDERINGS[0].worse
    rows = [{"figure": better.label, "max": 0.1, "met": ""}, {"figure": worse.label, "max": 0.2, "met": ""}]
    assert "| 0.1 | 0.2 | yes |" in accuracy.markdown(rows)
    rows[0]["max"] = 0.3
    assert "| 0.3 | 0.2 | NO |" in accuracy.markdown(rows)


def test_every_row_has_a_label_of_its_own():
    labels = [figure.label for figure in FIGURES]
    assert len(set(labels)) == len(labels)
    assert all(figure in FIGURES for ordering in ORDERINGS for figure in (ordering.better, ordering.worse))


def test_what_was_measured_is_not_measured_again(data, tmp_path, monkeypatch, capsys):
    figure = Figure("toy", "pep", 1.0)
    monkeypatch.setattr(accuracy, "FIGURES", (figure,))
    done = {"label": figure.label, "failed": "interrupted"}
    (tmp_path / "accuracy.jsonl").write_text(json.dumps(done) + "\n")
    asked = []
    monkeypatch.setattr(accuracy, "run_apart", lambda figure, data, *, compiled: asked.append(compiled) or done)
    assert accuracy.main(["--data", str(data), "--out", str(tmp_path), "--runs", "3"]) == 1
    assert asked == [True, True]
    assert "toy pep 1" in capsys.readouterr().out
