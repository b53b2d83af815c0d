from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from equipoise.data.dates import Date
from equipoise.data.encoding import decode
from equipoise.data.listed import Boolean, Categorical, Ordinal
from equipoise.data.real import Real
from equipoise.data.schema import Schema
from equipoise.data.table import Table, read
from equipoise.data.whole import Codes, Integer
from equipoise.errors import DataError, SchemaError, SettingError

CANARY = "canary-7731"
SCHEMA = Schema(
    "people",
    (
        Categorical(name="region", values=("North", "South, or so", 'the "East"'), other="else", nullable=True),
        Ordinal(name="size", values=("S", "M", "L")),
        Boolean(name="member", nullable=True),
        Integer(name="age", min=0, max=99, bins=10, nullable=True),
        Real(name="score", min=-1, max=1, bins=7, nullable=True, out_of_bounds="bucket"),
        Date(name="joined", min="2020-01-01", max="2023-12-31", nullable=True),
        Codes(name="wide", size=300),
    ),
)
NUM_ROWS = 1000
CODES = np.stack([np.random.default_rng(7).integers(0, size, NUM_ROWS) for size in SCHEMA.domain.sizes])
PEOPLE = decode(CODES, SCHEMA, np.random.default_rng(8)).append_column("notes", pa.array([CANARY] * NUM_ROWS))


def as_csv(folder: Path) -> Path:
    pa.csv.write_csv(PEOPLE, folder / "people.csv")
    return folder / "people.csv"


def as_gzip(folder: Path) -> Path:
    (folder / "people.csv.gz").write_bytes(gzip.compress(as_csv(folder).read_bytes()))
    return folder / "people.csv.gz"


def as_parquet(folder: Path) -> Path:
    pa.parquet.write_table(PEOPLE, folder / "people.parquet", row_group_size=300)
    return folder / "people.parquet"


def as_feather(folder: Path) -> Path:
    pa.feather.write_feather(PEOPLE, folder / "people.feather", compression="lz4", chunksize=300)
    return folder / "people.feather"


def as_arrow(folder: Path) -> Path:
    with pa.ipc.new_file(folder / "people.arrow", PEOPLE.schema) as writer:
        writer.write_table(PEOPLE, max_chunksize=170)
    return folder / "people.arrow"


def as_pandas_csv(folder: Path) -> Path:
    """pandas writes whole numbers with holes as 31.0."""
    PEOPLE.to_pandas().to_csv(folder / "people.csv", index=False)
    return folder / "people.csv"


SOURCES: dict[str, Callable[[Path], Any]] = {
    "csv": as_csv,
    "csv.gz": as_gzip,
    "csv by pandas": as_pandas_csv,
    "parquet": as_parquet,
    "feather": as_feather,
    "arrow": as_arrow,
    "arrow table": lambda folder: PEOPLE,
    "pandas": lambda folder: PEOPLE.to_pandas(),
    "polars": lambda folder: pl.from_arrow(PEOPLE),
    "stream": lambda folder: PEOPLE.to_reader(),
    "path as text": lambda folder: str(as_csv(folder)),
}


def rows(table: Table, **settings: Any) -> np.ndarray:
    return np.concatenate(list(table.batches(**settings)), axis=1)


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_every_source_gives_the_same_codes(source: Callable[[Path], Any], tmp_path: Path) -> None:
    table = read(source(tmp_path), schema=SCHEMA)
    assert table.num_rows == NUM_ROWS
    assert np.array_equal(rows(table), CODES)
    assert np.array_equal(rows(table.select(["wide", "region"])), CODES[[6, 0]])
    assert np.array_equal(rows(table, batch_rows=64), CODES)


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_batches_are_no_larger_than_asked_and_of_the_smallest_type(
    source: Callable[[Path], Any], tmp_path: Path
) -> None:
    table = read(source(tmp_path), schema=SCHEMA)
    batches = list(table.batches(batch_rows=128))
    assert max(codes.shape[1] for codes in batches) <= 128
    assert len(batches) >= NUM_ROWS / 128
    assert {codes.dtype for codes in batches} == {np.dtype(np.uint16)}
    assert next(table.select(["age"]).batches()).dtype == np.uint8


def test_columns_that_are_not_selected_are_not_looked_at() -> None:
    broken = PEOPLE.set_column(1, "size", pa.array([CANARY] * NUM_ROWS))
    table = read(broken, schema=SCHEMA)
    assert np.array_equal(rows(table.select(["age"])), CODES[[3]])
    with pytest.raises(DataError, match="column 'size'"):
        rows(table)
    with pytest.raises(SettingError, match="there is no column 'height'"):
        table.select(["height"])


def test_progress_counts_rows(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    rows(read(as_csv(tmp_path), schema=SCHEMA), batch_rows=400, progress=lambda done, total: told.append((done, total)))
    assert told == [(400, NUM_ROWS), (800, NUM_ROWS), (NUM_ROWS, NUM_ROWS)]


def test_memory_is_bounded_by_the_batch_not_by_the_table(tmp_path: Path) -> None:
    schema = Schema("wide", tuple(Codes(name=f"c{i}", size=200) for i in range(8)))
    num_rows = 2_000_000
    column = np.random.default_rng(0).integers(0, 200, num_rows).astype(np.uint8)
    path = tmp_path / "wide.parquet"
    pa.parquet.write_table(pa.table({f"c{i}": column for i in range(8)}), path, row_group_size=100_000)
    table = read(path, schema=schema)
    before, peak = pa.total_allocated_bytes(), 0
    for codes in table.batches(batch_rows=2**14):
        peak = max(peak, pa.total_allocated_bytes() - before)
        assert codes.shape[1] <= 2**14
    assert peak < num_rows * 8 / 4  # the table is 16 MB decoded


def test_a_domain_file_reads_a_table_of_codes(tmp_path: Path) -> None:
    (tmp_path / "x.domain.json").write_text('{"a": 3, "b": 2}')
    table = read(pa.table({"b": [1, 0], "a": [2, 2]}), schema=tmp_path / "x.domain.json")
    assert rows(table).tolist() == [[2, 2], [1, 0]]
    (tmp_path / "x.toml").write_text('[columns.a]\ntype = "integer"\nmin = 0\nmax = 2\n')
    assert rows(read(pa.table({"a": [2, 0]}), schema=str(tmp_path / "x.toml"))).tolist() == [[2, 0]]
    with pytest.raises(SchemaError, match=r"a schema file ends in \.toml"):
        read(pa.table({"a": [0]}), schema=tmp_path / "x.yaml")


SHARED = Path(__file__).parents[3].parent / "shared" / "data"


@pytest.mark.skipif(not SHARED.is_dir(), reason="the papers' tables are not beside the repository")
def test_the_papers_tables_read_with_their_domain_files() -> None:
    domains = sorted(SHARED.glob("*.domain.json"))
    assert domains
    for domain in domains:
        path = domain.with_name(domain.name.replace(".domain.json", ".parquet"))
        table = read(path, schema=domain)
        highest = np.max([codes.max(axis=1) for codes in table.batches()], axis=0)
        assert np.all(highest < table.schema.domain.sizes)
        assert sum(codes.shape[1] for codes in table.batches()) == table.num_rows


ONE = Schema("one", (Integer(name="a", min=0, max=9, nullable=True),))


def test_an_empty_line_is_a_missing_value_only_in_a_table_of_one_column(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("a\n1\n\n2\n")
    (tmp_path / "two.csv").write_text("a,b\n1,x\n\n2,y\n")
    assert rows(read(tmp_path / "one.csv", schema=ONE)).tolist() == [[1, 10, 2]]
    assert rows(read(tmp_path / "two.csv", schema=ONE)).tolist() == [[1, 2]]


def test_csv_with_byte_order_mark_quotes_and_line_breaks(tmp_path: Path) -> None:
    schema = Schema("t", (Categorical(name="a", values=("x\ny", "z")), ONE.columns[0].model_copy(update={"name": "b"})))
    (tmp_path / "t.csv").write_bytes(b'\xef\xbb\xbfa,b\r\n"x\ny","3"\r\nz,4\r\n')
    assert rows(read(tmp_path / "t.csv", schema=schema)).tolist() == [[0, 1], [3, 4]]


def cut_short(path: Path, keep: float) -> Path:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep)])
    return path


def store(folder: Path, name: str, content: bytes) -> Path:
    (folder / name).write_bytes(content)
    return folder / name


def damaged_parquet(folder: Path) -> Path:
    """The footer is whole, the pages are not."""
    path = as_parquet(folder)
    content = bytearray(path.read_bytes())
    content[4:4000] = bytes(3996)
    path.write_bytes(content)
    return path


def empty_parquet(folder: Path) -> Path:
    pa.parquet.write_table(PEOPLE[:0], folder / "people.parquet")
    return folder / "people.parquet"


BAD_SOURCES: dict[str, tuple[Callable[[Path], Any], Schema, str]] = {
    "absent": (lambda folder: folder / "absent.csv", ONE, "there is no file"),
    "folder": (lambda folder: folder, ONE, "has no files"),
    "ending": (lambda folder: store(folder, "t.xlsx", b""), ONE, r"t\.xlsx: the file's ending must be one of"),
    "object": (lambda folder: [1, 2], ONE, "cannot read a table from a list"),
    "missing column": (lambda folder: PEOPLE.drop_columns(["age"]), SCHEMA, "column 'age': the schema names it but"),
    "duplicate": (
        lambda folder: PEOPLE.append_column("age", PEOPLE["age"]),
        SCHEMA,
        "column 'age': the table has more than one column of that name",
    ),
    "duplicate csv": (lambda folder: store(folder, "t.csv", b"a,a\n1,2\n"), ONE, "column 'a': the table has more"),
    "duplicate pandas": (
        lambda folder: pd.DataFrame([[1, 2]], columns=["a", "a"]),
        ONE,
        "column 'a': the table has more than one column of that name",
    ),
    "mixed pandas": (lambda folder: pd.DataFrame({"a": [1, CANARY]}, dtype=object), ONE, "column 'a': it mixes types"),
    "empty file": (lambda folder: store(folder, "t.csv", b""), ONE, r"t\.csv is empty"),
    "header only": (lambda folder: store(folder, "t.csv", b"a,b\n"), ONE, "the table has no rows"),
    "no rows": (lambda folder: pa.table({"a": pa.array([], pa.int64())}), ONE, "the table has no rows"),
    "no rows parquet": (empty_parquet, SCHEMA, "the table has no rows"),
    "latin-1": (lambda folder: store(folder, "t.csv", f"a\n{CANARY}é\n".encode("latin-1")), ONE, "must be UTF-8"),
    "latin-1 header": (lambda folder: store(folder, "t.csv", "é,a\n1,2\n".encode("latin-1")), ONE, "must be UTF-8"),
    "utf-16": (lambda folder: store(folder, "t.csv", "a,b\n1,2\n".encode("utf-16")), ONE, "must be UTF-8"),
    "ragged": (lambda folder: store(folder, "t.csv", f"a,b\n1,2\n1,2,{CANARY}\n".encode()), ONE, "as many fields"),
    "gzip cut": (lambda folder: cut_short(as_gzip(folder), 0.5), SCHEMA, "cannot be read as CSV"),
    "not gzip": (lambda folder: store(folder, "t.csv.gz", b"a\n1\n"), ONE, "cannot be read as CSV"),
    "parquet cut": (lambda folder: cut_short(as_parquet(folder), 0.7), SCHEMA, r"people\.parquet cannot be read: dam"),
    "parquet pages": (damaged_parquet, SCHEMA, r"people\.parquet cannot be read to its end"),
    "not parquet": (lambda folder: store(folder, "t.parquet", CANARY.encode()), ONE, "cannot be read: damaged"),
    "feather cut": (lambda folder: cut_short(as_feather(folder), 0.5), SCHEMA, "cannot be read: damaged"),
    "not arrow": (lambda folder: store(folder, "t.arrow", CANARY.encode()), ONE, "cannot be read: damaged"),
}


@pytest.mark.parametrize(("make", "schema", "rule"), BAD_SOURCES.values(), ids=BAD_SOURCES)
def test_a_table_that_cannot_be_read_says_why_and_shows_no_cell(
    make: Callable[[Path], Any], schema: Schema, rule: str, tmp_path: Path
) -> None:
    source = make(tmp_path)
    with pytest.raises(DataError, match=rule) as caught:
        rows(read(source, schema=schema))
    assert CANARY not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("size", CANARY, "a value is not one of those listed"),
        ("age", "7731", r"outside the declared bounds 0\.\.99"),
        ("age", CANARY, "is not a whole number"),
        ("score", "inf", "is not a finite number"),
        ("size", "", "missing and the column is not nullable"),
        ("joined", CANARY, "is not an ISO date"),
        ("member", CANARY, "is not a boolean"),
        ("wide", "7731", "outside the declared bounds"),
    ],
)
def test_a_csv_cell_that_breaks_the_schema_names_column_and_rule_only(
    name: str, text: str, rule: str, tmp_path: Path
) -> None:
    place = PEOPLE.column_names.index(name)
    cells = PEOPLE[name].cast(pa.string()).to_pylist()
    cells[777] = text
    written = io.BytesIO()
    pa.csv.write_csv(PEOPLE.set_column(place, name, pa.array(cells)), written)
    path = store(tmp_path, "people.csv", written.getvalue())
    with pytest.raises(DataError, match=f"column '{name}': .*{rule}") as caught:
        rows(read(path, schema=SCHEMA))
    assert "7731" not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_table_prints_its_columns_in_a_line_and_no_rows() -> None:
    shown = repr(read(PEOPLE, schema=SCHEMA))
    assert SCHEMA.name in shown
    assert SCHEMA.columns[0].name in shown
    assert len(shown) < 300
    assert CANARY not in shown
    assert "North" not in shown


def test_a_file_that_may_not_be_read_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store(tmp_path, "t.csv", b"a\n1\n")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("equipoise.data.files.open_stream", refuse)
    with pytest.raises(DataError, match=r"t\.csv may not be read by this user"):
        read(path, schema=ONE)
