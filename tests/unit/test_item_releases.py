"""Releases of wide tables: planned, made, written, read, asked and evaluated without an object for each column."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import equipoise as eq
from equipoise import evaluation, releases
from equipoise.data.distributions import WeightedRows, from_arrays
from equipoise.data.encoding import encode
from equipoise.data.items import Items
from equipoise.data.schema import Schema
from equipoise.data.table import read
from equipoise.errors import CapacityError, DataError, EquipoiseError, QueryError
from equipoise.privacy.ledger import Ledger
from equipoise.queries.build import build
from equipoise.queries.conjunctions import Conjunctions
from equipoise.releases import Release, load

NAMED = Schema("goods", Items(40, tuple(f"good {i}" for i in range(40)), column="basket"))
OPTIONS = {"num_rounds": 8, "num_draws": 200, "num_records": 2}


def baskets(schema, num_rows=400, share=0.3, seed=1):
    matrix = (np.random.default_rng(seed).random((num_rows, len(schema.columns))) < share).astype(np.uint8)
    return read(pa.table({schema.source_columns[0]: schema.items.decode(matrix.T)}), schema=schema)


@pytest.fixture(scope="module")
def made():
    return eq.release(
        baskets(NAMED), epsilon=1.0, workload="random 3-way x 300 seed 4", method="dual_query", options=OPTIONS, seed=3
    )


@pytest.fixture(scope="module")
def folder(made, tmp_path_factory):
    return made.write(tmp_path_factory.mktemp("release"))


def test_the_folder_can_be_read_back(made, folder):
    again = load(folder)
    assert again.workload == made.workload == build("random 3-way x 300 seed 4", NAMED)
    assert again.schema == made.schema
    assert np.array_equal(again.distribution.codes, made.distribution.codes)
    assert np.array_equal(again.codes(), made.codes())
    assert made.statement["workload"]["text"] == "random 3-way x 300 seed 4"


def test_synthetic_rows_are_lists_and_libsvm(made, folder):
    rows = made.codes()
    assert rows.shape == (40, len(made.distribution.weights))
    stored = pq.read_table(folder / "synthetic.parquet")
    assert stored.column_names == ["basket"]
    assert np.array_equal(encode(stored, NAMED), rows)
    assert np.array_equal(evaluation.stored_rows(folder, made.schema), rows)
    lines = (folder / "synthetic.libsvm").read_text().splitlines()
    numbered = Schema("goods", Items(40, first=1))
    (folder.parent / "again.libsvm").write_text("\n".join(lines))
    assert np.array_equal(encode_file(folder.parent / "again.libsvm", numbered), rows)
    assert not (folder / "synthetic.csv").exists()


def encode_file(path, schema):
    return np.concatenate([schema.items.dense(*lists) for lists in read(path, schema=schema).baskets()], axis=1)


def test_any_number_of_rows(made):
    rows = made.codes(1000)
    assert rows.shape == (40, 1000)
    assert np.abs(made.workload.on_rows(rows) - made.workload.on(made.distribution)).max() < 40 / 1000


def test_libsvm_is_left_out_when_it_would_be_huge(made, tmp_path, monkeypatch):
    monkeypatch.setattr(releases, "MOST_LIBSVM", 3)
    made.write(tmp_path)
    assert not (tmp_path / "synthetic.libsvm").exists()
    assert (tmp_path / "statement.json").exists()


def test_answers_and_evaluation(made):
    answer = made.answer("`good 3` = true and `good 7` = no")
    assert answer.text == "`good 3` = true and `good 7` = false"
    codes = made.distribution.codes
    assert answer.share == pytest.approx(((codes[3] == 1) & (codes[7] == 0)).mean())
    assert answer.half_width is None
    with pytest.raises(QueryError, match="a column") as refusal:
        made.answer("gin = true")
    assert len(str(refusal.value)) < 3000
    found = eq.evaluate(made, baskets(NAMED))
    assert 0 < found.model.mean < found.model.max <= 1
    assert found.model.total_variation is None
    assert found.model.max == pytest.approx(np.abs(made.workload.on(made.distribution) - found.truth).max())


def test_reports(made, folder):
    text = (folder / "report.html").read_text()
    assert "noise of a measurement" not in text  # nothing was measured
    assert "40 items" in text
    found = eq.evaluate(made, baskets(NAMED))
    internal = evaluation.internal_report(made, made.codes(), found)
    worst = int(np.abs(made.workload.on(made.distribution) - found.truth).argmax())
    assert made.workload.describe(worst, NAMED).replace("'", "&#39;").split(" and ")[0] in internal


@pytest.mark.parametrize("method", ["mwem", "pep", "mixture", "gem", "rap", "hdmm"])
def test_methods_that_model_columns_name_the_one_that_does_not(method):
    schema = Schema("wide", Items(5000))
    with pytest.raises(CapacityError, match="dual_query"):
        eq.plan(baskets(schema, 10), epsilon=1.0, workload="random 3-way x 100", method=method)


@pytest.mark.parametrize("workload", ["3-way", [("1", "2")], "random 3-way x 5, 1-way", "prefixes"])
def test_workloads_that_a_wide_table_does_not_take(workload):
    with pytest.raises(EquipoiseError, match="random 3-way"):
        eq.plan(baskets(Schema("wide", Items(5000)), 10), epsilon=1.0, workload=workload, method="dual_query")


def test_few_items_take_any_method():
    made = eq.release(
        baskets(Schema("few", Items(6))), epsilon=10.0, workload="random 2-way x 20", method="pep", seed=1
    )
    assert isinstance(made.workload, Conjunctions)
    assert made.error_bars.shape == (20,)
    assert eq.evaluate(made, baskets(Schema("few", Items(6)))).model.max < 0.1
    assert made.answer("2 = true").half_width is None


def test_auto_takes_the_method_that_can():
    plan = eq.plan(baskets(Schema("wide", Items(5000)), 200), epsilon=1.0, workload="random 3-way x 100")
    assert plan.method == "dual_query"
    assert eq.plan(baskets(Schema("few", Items(6))), epsilon=1.0, workload="random 3-way x 10").method == "pep"


def test_a_cell_workload_of_a_categorical_table(tmp_path):
    made = eq.release(
        read(pa.table({"c": [0, 1, 2] * 50, "d": [0, 1] * 75}), schema=_categorical()),
        epsilon=1.0,
        workload="random 2-way x 4",
        method="dual_query",
        options=OPTIONS,
    )
    assert load(made.write(tmp_path)).codes().shape == (2, 150)
    assert (tmp_path / "synthetic.csv").exists()


def _categorical():
    from equipoise.data.whole import Codes

    return Schema("t", (Codes(name="c", size=3), Codes(name="d", size=2)))


def test_an_unknown_item_costs_nothing(tmp_path):
    schema = Schema("numbers", Items(30), ledger=str(tmp_path / "l.sqlite"))
    table = read(pa.table({"items": pa.array([[1, 77]] * 100)}), schema=schema)
    with pytest.raises(DataError, match="not one of those declared"):
        eq.release(table, epsilon=1.0, workload="random 2-way x 20", method="dual_query", options=OPTIONS)
    assert Ledger(tmp_path / "l.sqlite").account("numbers", epsilon=None, delta=None).runs() == []


def test_half_a_million_items(tmp_path):
    schema = Schema("wide", Items(512_000))
    rng = np.random.default_rng(2)
    workload = build("random 3-way x 2000", schema)
    codes = rng.integers(2, size=(512_000, 3)).astype(np.uint8)
    model = WeightedRows(codes, np.full(3, 1 / 3), schema.domain.sizes)
    statement = {"num_rows": 9, "seed": 0, "citations": []}
    release = Release(schema, workload, 9, model, (), None, statement, 0, workload)
    rows = release.codes()
    assert rows.shape == (512_000, 3)
    assert np.allclose(workload.on_rows(rows), workload.on(model))
    assert len(json.dumps(workload.to_json())) < 100_000
    stored = from_arrays(model.to_arrays())
    assert isinstance(stored, WeightedRows)
    assert np.array_equal(stored.codes, codes)
    release._write_rows(rows, tmp_path)
    assert np.array_equal(evaluation.stored_rows(tmp_path, schema), rows)
    assert (tmp_path / "synthetic.parquet").stat().st_size < 512_000  # less than three bits an item
    assert release.answer("511999 = true").share == pytest.approx(codes[-1].mean())
