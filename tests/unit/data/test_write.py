from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from equipoise.data.write import replace_file, write_bytes, write_csv, write_parquet
from equipoise.errors import OutputError

TABLE = pa.table({"a": [1, None], "b": ['x, "y"', None]})


def test_tables_come_back_as_written_and_nothing_else_is_left(tmp_path: Path) -> None:
    write_parquet(TABLE, tmp_path / "t.parquet")
    write_csv(TABLE, tmp_path / "t.csv")
    write_bytes(b"abc", tmp_path / "t.bin")
    assert pa.parquet.read_table(tmp_path / "t.parquet").equals(TABLE)
    as_text = pa.csv.ConvertOptions(strings_can_be_null=True)
    assert pa.csv.read_csv(tmp_path / "t.csv", convert_options=as_text).equals(TABLE)
    assert (tmp_path / "t.bin").read_bytes() == b"abc"
    assert sorted(os.listdir(tmp_path)) == ["t.bin", "t.csv", "t.parquet"]


def test_a_failure_leaves_the_old_file_and_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("old")

    def fail() -> None:
        with replace_file(path) as temporary:
            temporary.write_text("half of the n")
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        fail()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["t.csv"]


def test_the_new_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    write_bytes(b"", tmp_path / "written")
    assert (tmp_path / "written").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_what_cannot_be_written_is_an_output_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"cannot write .*t\.csv: "):
        write_csv(TABLE, tmp_path / "absent" / "t.csv")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").touch()
    with pytest.raises(OutputError, match=r"cannot write .*folder"):
        write_parquet(TABLE, tmp_path / "folder")
    assert os.listdir(tmp_path) == ["folder"]
