"""Cells that are not what their column's type says are told, by column and rule, and without a word of the cell."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from equipoise.data.conversion import readable, texts
from equipoise.data.inference import guess
from equipoise.data.items import Items
from equipoise.data.listed import Boolean, Categorical
from equipoise.data.units import hash_units
from equipoise.data.whole import Integer
from equipoise.errors import DataError

PLACES = pa.py_buffer(b"\x00\x00\x00\x00\x01\x00\x00\x00\x07\x00\x00\x00")
BROKEN = pa.Array.from_buffers(pa.string(), 2, [None, PLACES, pa.py_buffer(b"aSECRE\xff")])
"""Two texts, one of them not UTF-8, as a damaged Parquet file gives them: Arrow does not look while it reads."""

READERS: dict[str, Callable[[Any], object]] = {
    "texts": lambda cells: texts(cells, "c"),
    "categorical": Categorical(name="c", values=("a", "b")).encode,
    "missing marks": Categorical(name="c", values=("a", "b"), nullable=True, missing=("?",)).encode,
    "dictionary": lambda cells: Categorical(name="c", values=("a", "b")).encode(cells.dictionary_encode()),
    "boolean": Boolean(name="c").encode,
    "integer": Integer(name="c", min=0, max=9).encode,
    "unit": lambda cells: hash_units(cells, "c", 1),
    "items": Items(3, first=1).encode,
    "guess": lambda cells: guess("c", cells),
}


@pytest.mark.parametrize("reader", READERS)
def test_texts_that_are_not_utf8_are_told_and_not_quoted(reader: str) -> None:
    with pytest.raises(DataError) as caught:
        READERS[reader](BROKEN)
    told = "".join(traceback.format_exception(caught.value))
    assert "SECRE" not in told
    assert "Arrow" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_memory_that_runs_out_is_not_told_as_a_damaged_file() -> None:
    def action() -> None:
        raise pa.ArrowMemoryError("malloc of size 5 failed")

    with pytest.raises(MemoryError):
        readable("column 'c'", action)
