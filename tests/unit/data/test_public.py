from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from equipoise.data.listed import Categorical
from equipoise.data.public import PublicRows, encode_public, read_public
from equipoise.data.schema import Schema
from equipoise.data.whole import Integer
from equipoise.errors import DataError

SCHEMA = Schema(
    "people",
    (Categorical(name="sex", values=("F", "M")), Integer(name="age", min=0, max=99, bins=10)),
    unit="person",
    rows_per_unit=2,
)
ROWS = pa.table({"note": ["x", "y", "z", "w"], "age": [31, 5, 39, 31], "sex": ["M", "F", "M", "F"]})


def test_rows_are_coded_by_the_private_schema_without_its_unit() -> None:
    found = encode_public(read_public(ROWS, SCHEMA), SCHEMA)
    assert found.codes.tolist() == [[0, 0, 1], [0, 3, 3]]
    assert found.counts.tolist() == [1, 1, 2]
    assert (found.columns, found.num_rows, found.num_distinct) == ((0, 1), 4, 3)


def test_a_selection_of_the_private_columns_is_followed() -> None:
    private = SCHEMA.select(["age"])
    assert encode_public(read_public(ROWS, SCHEMA), private).codes.tolist() == [[0, 3]]


def test_missing_columns_are_known_as_missing() -> None:
    found = encode_public(read_public(ROWS.drop_columns(["sex"]), SCHEMA), SCHEMA)
    assert (found.columns, found.codes.tolist()) == ((1,), [[0, 3]])


def test_the_fingerprint_depends_on_the_rows_and_not_on_their_order() -> None:
    found = encode_public(read_public(ROWS, SCHEMA), SCHEMA)
    turned = encode_public(read_public(ROWS.take([3, 1, 0, 2]), SCHEMA), SCHEMA)
    fewer = encode_public(read_public(ROWS.slice(0, 3), SCHEMA), SCHEMA)
    assert found.fingerprint == turned.fingerprint != fewer.fingerprint
    assert found.flattened().fingerprint != found.fingerprint


def test_a_file_gives_its_name(tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "census.parquet")
    assert encode_public(read_public(tmp_path / "census.parquet", SCHEMA), SCHEMA).name == "census.parquet"


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(DataError, match="none of the private table's columns"):
        read_public(pa.table({"note": ["x"]}), SCHEMA)
    with pytest.raises(DataError, match=r"'sex'.*more than one"):
        read_public(pa.table([["F"], ["M"]], names=["sex", "sex"]), SCHEMA)
    with pytest.raises(DataError, match=r"public table does not fit.*'sex'"):
        encode_public(read_public(pa.table({"sex": ["other"], "age": [3]}), SCHEMA), SCHEMA)
    with pytest.raises(DataError, match="no rows"):
        encode_public(read_public(ROWS.slice(0, 0), SCHEMA), SCHEMA)
    with pytest.raises(ValueError, match="at least once"):
        PublicRows(np.zeros((1, 1), dtype=np.uint8), np.array([0]), (0,), "none")
    with pytest.raises(ValueError, match="a count each"):
        PublicRows(np.zeros((1, 2), dtype=np.uint8), np.array([1]), (0,), "none")
