"""Conjunctions counted over a table: from lists, from bits and from codes, the same whole numbers."""

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sparse

from equipoise.data.items import Items
from equipoise.data.schema import Schema
from equipoise.data.table import read
from equipoise.data.whole import Codes
from equipoise.engines import bits
from equipoise.engines.arrow import count
from equipoise.errors import DataError, QueryError
from equipoise.privacy import Private
from equipoise.privacy.private import reveal
from equipoise.queries.build import build

SCHEMA = Schema("baskets", Items(60))
WORKLOAD = build("random 3-way x 300", SCHEMA)


@pytest.fixture
def matrix():
    return (np.random.default_rng(5).random((500, 60)) < 0.4).astype(np.uint8)


def expected(matrix, workload):
    return (matrix[:, workload.columns] == workload.values[None]).all(axis=2).sum(axis=0).tolist()


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("batch_bytes", [1, 2**29])
@pytest.mark.parametrize("kind", ["lists", "sparse", "dense"])
def test_every_kind_of_source_gives_the_same_counts(matrix, monkeypatch, threads, batch_bytes, kind):
    monkeypatch.setattr(bits, "BATCH_BYTES", batch_bytes)
    source = {
        "lists": pa.table({"items": [np.flatnonzero(row).tolist() for row in matrix]}),
        "sparse": sparse.csr_matrix(matrix),
        "dense": matrix,
    }[kind]
    told = []
    table = read(source, schema=SCHEMA)
    truth = count(table, WORKLOAD, threads=threads, progress=lambda done, total: told.append((done, total)))
    assert isinstance(truth, Private)
    assert reveal(truth).tolist() == expected(matrix, WORKLOAD)
    assert told[-1] == (500, 500)
    assert len(told) == (8 if batch_bytes == 1 else 1)


def test_categorical_tables_are_counted_by_the_same_bits():
    sizes, rng = (2, 3, 7, 2, 300), np.random.default_rng(6)
    codes = np.stack([rng.integers(size, size=900) for size in sizes])
    schema = Schema("t", tuple(Codes(name=f"c{i}", size=size) for i, size in enumerate(sizes)))
    table = read(pa.table({f"c{i}": row for i, row in enumerate(codes)}), schema=schema)
    workload = build("random 2-way x 400 seed 3", schema)
    assert reveal(count(table, workload)).tolist() == expected(codes.T, workload)
    assert reveal(count(table, workload.grouped())).tolist() == expected(codes.T, workload)


def test_rows_of_a_unit_beyond_its_share_are_not_counted():
    schema = Schema("baskets", Items(60), unit="who", rows_per_unit=1)
    table = read(pa.table({"who": ["a", "a", "b"], "items": pa.array([[7], [7], [7]])}), schema=schema)
    workload = build("random 1-way x 120", schema)
    counts = reveal(count(table.bounded(3), workload))
    assert counts[(workload.columns[:, 0] == 7) & (workload.values[:, 0] == 1)].tolist() == [2]


def test_ignored_items_count_for_nothing():
    schema = Schema("baskets", Items(60, unknown="ignore"))
    table = read(pa.table({"items": pa.array([[999, 3], [60], [59]])}), schema=schema)
    workload = build("random 1-way x 120", schema)
    ones = workload.values[:, 0] == 1
    found = dict(zip(workload.columns[ones, 0].tolist(), reveal(count(table, workload))[ones].tolist(), strict=True))
    assert {item for item, number in found.items() if number} == {3, 59}


def test_a_workload_over_other_columns_is_refused(matrix):
    with pytest.raises(QueryError, match="other columns"):
        count(read(matrix, schema=SCHEMA), build("random 3-way x 300", Schema("b", Items(61))))


def test_a_table_that_changes_while_it_is_read(tmp_path):
    path = tmp_path / "t.libsvm"
    path.write_text("1 3:1\n" * 10)
    table = read(path, schema=SCHEMA)
    assert table.num_rows == 10
    path.write_text("1 3:1\n" * 9)
    with pytest.raises(DataError, match="changed"):
        count(table, WORKLOAD)
