"""Tables of items: one declaration for all columns, lists from every kind of source, refusals without a value."""

import gzip
import json
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sparse

from equipoise.data.draft import draft
from equipoise.data.encoding import decode, encode
from equipoise.data.items import Items
from equipoise.data.schema import Schema, load
from equipoise.data.table import read
from equipoise.errors import DataError, SchemaError, SettingError

GOODS = Schema("goods", Items(3, ("milk", "bread", "beer")))
NUMBERS = Schema("numbers", Items(5))
ROWS = np.array([[1, 0, 1, 0, 0], [0, 0, 0, 0, 0], [0, 1, 0, 0, 1]], dtype=np.uint8)


def lists_of(table):
    rows = []
    for starts, items in table.baskets():
        rows += [sorted(items[a:b].tolist()) for a, b in pairwise(starts)]
    return rows


@pytest.fixture
def matrix():
    return ROWS.copy()


def as_file(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


LISTS = [[0, 2], [], [1, 4]]


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.int64(), pa.string()])
@pytest.mark.parametrize("wrap", [pa.list_, pa.large_list])
def test_a_list_column_of_any_type(kind, wrap):
    texts = [[str(i) for i in row] if kind == pa.string() else row for row in LISTS]
    assert lists_of(read(pa.table({"items": pa.array(texts, wrap(kind))}), schema=NUMBERS)) == LISTS


def test_a_missing_list_is_an_empty_one():
    table = pa.table({"items": pa.array([[0, 2], None, [1, 4]])})
    assert lists_of(read(table, schema=NUMBERS)) == LISTS
    assert lists_of(read(table.slice(1), schema=NUMBERS)) == LISTS[1:]


@pytest.mark.parametrize("ending", ["libsvm", "svm", "svmlight", "libsvm.gz"])
def test_a_libsvm_file(tmp_path, ending):
    text = "+1 0:1 2:0.5 3:0 # a comment: 4:1\n-1\n\n# nothing but this\n0.5 1:1e-3  4:-7\t2:0.0e5"
    content = gzip.compress(text.encode()) if ending.endswith("gz") else text
    table = read(as_file(tmp_path / f"t.{ending}", content), schema=NUMBERS)
    assert (table.num_rows, lists_of(table)) == (3, LISTS)


def test_the_first_item_of_a_libsvm_file_may_be_number_one(tmp_path):
    path = as_file(tmp_path / "t.libsvm", "1 1:1 3:1\n1\n1 2:1 5:1\n")
    schema = Schema("numbers", Items(5, first=1))
    assert lists_of(read(path, schema=schema)) == LISTS
    assert schema.domain.columns == ("1", "2", "3", "4", "5")


@pytest.mark.parametrize("line", ["1 x:1", "1 2:", "1 2", "1 2:a", "3:1 4:1", "1 qid:3", "1 2:1:1", "1 -3:1"])
def test_what_is_not_libsvm_is_refused_without_quoting_it(tmp_path, line):
    table = read(as_file(tmp_path / "t.libsvm", "1 0:1\n"), schema=NUMBERS)
    as_file(tmp_path / "t.libsvm", f"1 0:1\n{line}\n")
    with pytest.raises(DataError, match="as libsvm") as refusal:
        lists_of(table)
    assert line not in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "separator", "text"),
    [
        ("t.csv", ",", "milk, beer\n\nbread\n"),
        ("t.txt", " ", "milk beer\r\n\r\n bread "),
        ("t.dat", "; ", "beer; milk; milk\n\nbread; "),
    ],
)
def test_a_file_with_one_list_a_line(tmp_path, name, separator, text):
    schema = Schema("goods", Items(3, ("milk", "bread", "beer"), separator=separator))
    table = read(as_file(tmp_path / name, text), schema=schema)
    assert table.num_rows == 3
    assert encode(
        decode(np.array([[1, 0, 0], [0, 0, 1], [1, 0, 0]], dtype=np.uint8), schema, None), schema
    ).tolist() == [
        [1, 0, 0],
        [0, 0, 1],
        [1, 0, 0],
    ]
    assert [sorted(set(row)) for row in lists_of(table)] == [[0, 2], [], [1]]


def test_a_csv_column_of_separated_items(tmp_path):
    path = as_file(tmp_path / "t.csv", 'who,basket\n7,"milk;beer"\n8,\n9,bread\n')
    schema = Schema("goods", Items(3, ("milk", "bread", "beer"), column="basket", separator=";"))
    assert lists_of(read(path, schema=schema)) == [[0, 2], [], [1]]


def test_rows_of_a_unit_are_bounded():
    schema = Schema("numbers", Items(5), unit="who", rows_per_unit=1)
    table = read(pa.table({"who": [1, 1, 2], "items": pa.array(LISTS)}), schema=schema)
    kept = lists_of(table.bounded(seed=1))
    assert len(kept) == 2
    assert kept[1] == LISTS[2]


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_array, sparse.csr_array])
def test_a_sparse_matrix(matrix, make):
    entries = make(matrix.astype(np.float32) * 2.5)
    assert lists_of(read(entries, schema=NUMBERS)) == LISTS
    stored_zero = sparse.csr_matrix((np.array([0.0, 3.0]), np.array([1, 2]), np.array([0, 2])), shape=(1, 5))
    assert lists_of(read(stored_zero, schema=NUMBERS)) == [[2]]
    assert stored_zero.nnz == 2


def test_a_saved_sparse_matrix(tmp_path, matrix):
    sparse.save_npz(tmp_path / "t.npz", sparse.csr_matrix(matrix))
    table = read(tmp_path / "t.npz", schema=NUMBERS)
    assert (table.num_rows, lists_of(table)) == (3, LISTS)
    assert "count = 5" in draft(tmp_path / "t.npz")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"nothing of the kind"])
def test_what_is_no_saved_sparse_matrix(tmp_path, content):
    with pytest.raises(DataError, match="save_npz"):
        read(as_file(tmp_path / "t.npz", content), schema=NUMBERS)
    np.savez(tmp_path / "dense.npz", rows=ROWS)
    np.savez(tmp_path / "pickled.npz", rows=np.array([{}], dtype=object))
    outside = {"format": b"csr", "shape": (3, 5), "data": np.ones(2), "indptr": np.array([0, 1, 2, 2])}
    np.savez(tmp_path / "outside.npz", **outside, indices=np.array([0, 999]))
    for name in ("dense.npz", "pickled.npz", "outside.npz"):
        with pytest.raises(DataError, match="save_npz"):
            read(tmp_path / name, schema=NUMBERS)


@pytest.mark.parametrize("make", [sparse.csr_matrix, np.asarray])
def test_the_columns_of_a_matrix_are_the_items_in_their_order(matrix, make):
    """Whatever the items are called, and whatever column the schema says their lists are in."""
    schema = Schema("named", Items(5, tuple("edcba"), column="basket"))
    table = read(make(matrix), schema=schema)
    assert lists_of(table) == LISTS
    assert [codes.tolist() for codes in table.batches()] == [matrix.T.tolist()]


def test_a_sparse_matrix_with_more_columns_than_items(matrix):
    with pytest.raises(DataError, match="no more columns"):
        read(sparse.csr_matrix(matrix), schema=Schema("few", Items(3)))
    ignoring = read(sparse.csr_matrix(matrix), schema=Schema("few", Items(3, tuple("abc"), unknown="ignore")))
    assert lists_of(ignoring) == [[0, 2], [], [1]]


def test_lists_in_a_column_of_another_name():
    with pytest.raises(DataError, match=r"no column 'items'.*`column` in \[items\]") as refusal:
        read(pa.table({"films": pa.array(LISTS)}), schema=NUMBERS)
    assert "films" not in str(refusal.value)
    with pytest.raises(DataError, match="'basket'"):
        read(pa.table({"films": pa.array(LISTS)}), schema=Schema("numbers", Items(5, column="basket")))


def test_a_dense_matrix(matrix):
    table = read(matrix, schema=NUMBERS)
    assert table.num_rows == 3
    assert table.source.bits(np.array([4, 0]), 0, 3).tolist() == [[4], [1]]
    for wrong, rule in ((matrix[:, :3], "one column for each"), (2 * matrix, "0 and 1")):
        with pytest.raises(DataError, match=rule):
            read(wrong, schema=NUMBERS)


@pytest.mark.parametrize(
    ("rows", "schema"),
    [([["milk", "secret"]], GOODS), ([[0, 5]], NUMBERS), ([[-1]], NUMBERS), ([["1", "1.5"]], NUMBERS)],
)
def test_an_item_that_is_not_declared(rows, schema):
    table = read(pa.table({"items": pa.array(rows)}), schema=schema)
    with pytest.raises(DataError, match=r"not one of those declared.*unknown = \"ignore\"") as refusal:
        lists_of(table)
    assert "secret" not in str(refusal.value)
    ignoring = Schema("t", Items(schema.items.number, schema.items.listed, unknown="ignore"))
    codes = encode(pa.table({"items": pa.array(rows)}), ignoring)
    assert codes.sum() == sum(str(item) in schema.domain.columns for item in rows[0])


@pytest.mark.parametrize(
    ("column", "rule"),
    [
        (pa.array([[1, None]]), "missing"),
        (pa.array([[1.0]]), "neither whole numbers"),
        (pa.array([1]), "neither lists nor texts"),
    ],
)
def test_what_is_no_list_of_items(column, rule):
    with pytest.raises(DataError, match=rule):
        lists_of(read(pa.table({"items": column}), schema=NUMBERS))


def test_a_file_of_another_kind(tmp_path):
    with pytest.raises(DataError, match="libsvm"):
        read(as_file(tmp_path / "t.xls", "x"), schema=NUMBERS)
    with pytest.raises(DataError, match="no file"):
        read(tmp_path / "none.libsvm", schema=NUMBERS)
    with pytest.raises(DataError, match="UTF-8"):
        read(as_file(tmp_path / "t.txt", b"\xff\xfe\n"), schema=NUMBERS)


def test_the_schema_file(tmp_path):
    as_file(tmp_path / "items.txt", "milk\nbread \n\nbeer\n")
    path = as_file(tmp_path / "goods.toml", '[items]\nnames = "items.txt"\ncolumn = "basket"\n')
    schema = load(path)
    assert schema.items == Items(3, ("milk", "bread", "beer"), column="basket")
    assert Schema.from_json(schema.to_json()).items == schema.items
    assert Schema.from_json(schema.to_json()).fingerprint == schema.fingerprint
    assert schema.unconfirmed == ()
    listed = as_file(tmp_path / "listed.toml", '[items]\nnames = ["milk", "bread", "beer"]\nconfirmed = false\n')
    assert load(listed).unconfirmed == ("the items",)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("[items]\n", "`names`"),
        ('[items]\ncount = 3\nnames = ["a"]\n', "`names`"),
        ("[items]\ncount = 0\n", "1 to"),
        ('[items]\nnames = ["a", "a"]\n', "twice"),
        ('[items]\nnames = ["a", " b"]\n', "spaces"),
        ('[items]\nnames = ["a"]\nfirst = 1\n', "`first`"),
        ('[items]\nnames = "nowhere.txt"\n', "cannot read"),
        ('[items]\ncount = 3\nunknown = "maybe"\n', "unknown"),
        ("[items]\ncount = 3\ncolour = 1\n", "unknown key 'colour'"),
        ('[items]\ncount = 3\n[columns.a]\ntype = "boolean"\n', "not both"),
        ('[items]\ncount = 3\n[rules]\nimpossible = ["7 = true"]\n', "a column"),
    ],
)
def test_a_wrong_declaration(tmp_path, text, rule):
    with pytest.raises(SchemaError, match=rule):
        load(as_file(tmp_path / "t.toml", text))


def test_no_object_is_made_for_each_item():
    schema = Schema("wide", Items(512_000))
    assert len(schema.columns) == len(schema.domain.columns) == 512_000
    assert schema.domain.sizes[-1] == 2
    assert schema.columns[511_999].name == "511999"
    assert [column.name for column in schema.columns[2:4]] == ["2", "3"]
    assert schema.column("77").size == 2
    assert len(schema.to_json()) < 1000
    assert json.loads(schema.to_json())["items"]["count"] == 512_000
    assert schema.select(schema.domain.columns) is schema
    with pytest.raises(SettingError, match="all of its items"):
        schema.select(["1", "2"])
    with pytest.raises(SettingError, match="more") as refusal:
        schema.column("nothing")
    assert len(str(refusal.value)) < 2000


def test_only_a_table_of_few_items_has_codes(matrix):
    lists = pa.table({"items": pa.array(LISTS)})
    for source in (lists, matrix):
        assert [codes.tolist() for codes in read(source, schema=NUMBERS).batches()] == [matrix.T.tolist()]
    with pytest.raises(SettingError, match="dual_query"):
        next(read(lists, schema=Schema("numbers", Items(1025))).batches())


@pytest.mark.parametrize("schema", [NUMBERS, Schema("n", Items(5, tuple("abcde"))), Schema("n", Items(5, first=3))])
def test_rows_go_to_a_file_and_back(tmp_path, matrix, schema):
    table = decode(matrix.T, schema, np.random.default_rng(0))
    pq.write_table(table, tmp_path / "t.parquet")
    assert encode(pq.read_table(tmp_path / "t.parquet"), schema).tolist() == matrix.T.tolist()
