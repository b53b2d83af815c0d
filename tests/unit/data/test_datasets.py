"""Tables of many files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from equipoise.data.listed import Categorical
from equipoise.data.schema import Schema
from equipoise.data.sources import Divisible, open_source
from equipoise.data.table import read
from equipoise.data.whole import Codes
from equipoise.errors import DataError, SettingError

SCHEMA = Schema("t", (Codes(name="age", size=100), Categorical(name="land", values=("ch", "c/o"), nullable=True)))


def codes_of(path: str | Path) -> list[list[int]]:
    return np.concatenate(list(read(path, schema=SCHEMA).batches()), axis=1).tolist()


def write(path: Path, ages: list[int], kind: pa.DataType | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table({"age": pa.array(ages, kind or pa.int64())})
    if path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    else:
        pq.write_table(table, path, row_group_size=2)


def test_folders_give_columns_and_files_may_differ_in_type(tmp_path: Path) -> None:
    write(tmp_path / "land=ch" / "a.parquet", [1, 2, 3])
    write(tmp_path / "land=c%2Fo" / "deep" / "b.parquet", [4], pa.uint8())
    write(tmp_path / "land=__HIVE_DEFAULT_PARTITION__" / "c.parquet", [5], pa.float64())
    write(tmp_path / "_temporary" / "d.parquet", [99])
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".marks").touch()
    assert codes_of(tmp_path) == [[5, 4, 1, 2, 3], [2, 1, 0, 0, 0]]
    assert codes_of(f"{tmp_path}/land=c*/**/*.parquet") == [[4, 1, 2, 3], [1, 0, 0, 0]]


def test_a_table_of_folder_columns_only_has_its_rows(tmp_path: Path) -> None:
    write(tmp_path / "land=ch" / "a.csv", [1, 2, 3])
    table = read(tmp_path, schema=SCHEMA.select(["land"]))
    assert [codes.tolist() for codes in table.batches()] == [[[0, 0, 0]]]
    assert table.num_rows == 3


def test_parts_have_every_row_once_in_order(tmp_path: Path) -> None:
    write(tmp_path / "land=ch" / "a.parquet", [1, 2, 3, 4, 5])
    write(tmp_path / "land=ch" / "b.parquet", [])
    write(tmp_path / "land=ch" / "c.parquet", [6])
    source = open_source(tmp_path)
    assert isinstance(source, Divisible)
    parts = source.parts()
    assert [part.num_rows for part in parts] == [2, 2, 1, 0, 1]
    rows = [batch.column(0).to_pylist() for part in parts for batch in part.batches(["age", "land"], 100)]
    assert rows == [[1, 2], [3, 4], [5], [6]]
    assert source.num_bytes == sum(file.stat().st_size for file in tmp_path.rglob("*.parquet"))


def test_what_is_not_a_table_of_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no file"):
        open_source(tmp_path / "absent")
    with pytest.raises(DataError, match="has no files"):
        open_source(tmp_path / "*.csv")
    write(tmp_path / "a.parquet", [1])
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(DataError, match="has files of other kinds"):
        open_source(tmp_path)
    (tmp_path / "notes.txt").unlink()
    write(tmp_path / "b.csv", [1])
    with pytest.raises(DataError, match=r"files that end in \.csv and \.parquet"):
        open_source(tmp_path)


def test_a_file_that_lacks_a_column_is_named(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", [1])
    (tmp_path / "b.csv").write_text("years\n3\n")
    with pytest.raises(DataError, match=r"b\.csv has no column 'age'"):
        list(read(tmp_path, schema=SCHEMA.select(["age"])).batches())


def test_a_query_needs_a_database(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", [1])
    with pytest.raises(DataError, match="goes with the URL of a database"):
        read(tmp_path / "a.csv", schema=SCHEMA, query="select 1")
    with pytest.raises(SettingError, match="the URL of a database begins with"):
        read("mysql://host/name", schema=SCHEMA, table="t")
