from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from equipoise.data.columns import Column
from equipoise.data.listed import Boolean, Categorical, Ordinal
from equipoise.errors import DataError, QueryError

CANARY = "canary-7731"
SIZES = Ordinal(name="size", values=("S", "M", "L"), nullable=True)


@pytest.mark.parametrize("values", [("1", "2"), (1, 2)])
@pytest.mark.parametrize(
    "cells",
    [
        pa.array(["1", "2", "1"]),
        pa.array([1, 2, 1], pa.int8()),
        pa.array([1.0, 2.0, 1.0]),
        pa.array([" 1", "2 ", "1"]),
        pa.array(["1", "2", "1"]).dictionary_encode(),
        pa.array(["1", "2", "1"], pa.large_string()),
        pa.array(["1", "2", "1"], pa.string_view()),
        pa.chunked_array([["1"], ["2", "1"]]),
    ],
    ids=lambda cells: str(cells.type),
)
def test_a_listed_value_is_matched_whatever_the_arrow_type(values: tuple[str | int, ...], cells: pa.Array) -> None:
    assert Categorical(name="c", values=values).encode(cells).tolist() == [0, 1, 0]


def test_values_listed_as_numbers_decode_to_numbers() -> None:
    rng = np.random.default_rng(0)
    codes = np.array([1, 0])
    assert Categorical(name="c", values=(10, 20)).decode(codes, rng).to_pylist() == [20, 10]
    assert Categorical(name="c", values=("10", "20")).decode(codes, rng).to_pylist() == ["20", "10"]
    assert Categorical(name="c", values=(10, 20), other="else").decode(codes, rng).to_pylist() == ["20", "10"]


def test_leading_zeros_are_part_of_a_text() -> None:
    column = Categorical(name="c", values=("01", "1"))
    assert column.encode(pa.array(["01", "1"])).tolist() == [0, 1]
    with pytest.raises(DataError, match="column 'c': a value is not one of those listed"):
        Categorical(name="c", values=("1",)).encode(pa.array(["01"]))


def test_an_unknown_value_is_refused_without_naming_it() -> None:
    with pytest.raises(DataError, match=r"column 'c'.*set `other = ") as caught:
        Categorical(name="c", values=("a", "b")).encode(pa.array(["a", CANARY]))
    assert CANARY not in str(caught.value)
    assert caught.value.__context__ is None


def test_other_takes_what_is_not_listed() -> None:
    assert Categorical(name="c", values=("a", "b"), other="rest").encode(pa.array(["x", "b", "rest"])).tolist() == [
        2,
        1,
        2,
    ]
    assert Categorical(name="c", values=("a", "b"), other="a").encode(pa.array(["x", "b"])).tolist() == [0, 1]


def test_missing_is_the_last_code_when_nullable_and_an_error_otherwise() -> None:
    cells = pa.array(["M", None, "", "L"])
    assert SIZES.encode(cells).tolist() == [1, 3, 3, 2]
    assert SIZES.labels == ("S", "M", "L", "(missing)")
    assert SIZES.decode(np.array([3, 0]), np.random.default_rng(0)).to_pylist() == [None, "S"]
    with pytest.raises(DataError, match="column 'size': a value is missing and the column is not nullable"):
        Ordinal(name="size", values=("S", "M", "L")).encode(cells)


def test_texts_listed_as_missing_are_missing() -> None:
    column = Categorical(name="c", values=("a",), nullable=True, missing=("?", "NA"))
    assert column.encode(pa.array(["a", "?", " NA", None])).tolist() == [0, 1, 1, 1]
    sentinel = Categorical(name="c", values=(1, 2), nullable=True, missing=("-9",))
    assert sentinel.encode(pa.array([1, -9, 2])).tolist() == [0, 2, 1]


def test_dictionary_entries_that_no_row_uses_need_not_fit() -> None:
    cells = pa.DictionaryArray.from_arrays(pa.array([2, 0, None]), pa.array(["a", CANARY, "b"]))
    column = Categorical(name="c", values=("a", "b"), nullable=True)
    assert column.encode(cells).tolist() == [1, 0, 2]


@pytest.mark.parametrize(
    "cells",
    [pa.array([True, False]), pa.array(["yes", "No"]), pa.array(["TRUE", "f"]), pa.array([1, 0]), pa.array([1.0, 0.0])],
    ids=str,
)
def test_booleans_are_read_from_many_spellings(cells: pa.Array) -> None:
    assert Boolean(name="b").encode(cells).tolist() == [1, 0]


def test_boolean_refuses_other_words_and_keeps_missing_apart() -> None:
    assert Boolean(name="b", nullable=True).encode(pa.array([None, True])).tolist() == [2, 1]
    with pytest.raises(DataError, match="column 'b': a value is not a boolean") as caught:
        Boolean(name="b").encode(pa.array(["yes", CANARY]))
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    ("column", "text", "code"),
    [
        (Categorical(name="c", values=("a", "b"), other="rest"), "rest", 2),
        (SIZES, "M", 1),
        (SIZES, "(missing)", 3),
        (Boolean(name="b"), "Yes", 1),
        (Boolean(name="b"), "false", 0),
    ],
)
def test_equals_selects_one_code(column: Column, text: str, code: int) -> None:
    assert np.flatnonzero(column.equals(text)).tolist() == [code]


def test_equals_names_the_legal_values() -> None:
    with pytest.raises(QueryError, match=r"column 'size': 'XL' is not one of its values: S, M, L, \(missing\)"):
        SIZES.equals("XL")


@pytest.mark.parametrize(
    ("mask", "codes"),
    [
        (SIZES.between("S", "M"), [0, 1]),
        (SIZES.between("M", None), [1, 2]),
        (SIZES.compare("<", "M"), [0]),
        (SIZES.compare("<=", "M"), [0, 1]),
        (SIZES.compare(">", "M"), [2]),
        (SIZES.compare(">=", "S"), [0, 1, 2]),
    ],
)
def test_ordinal_ranges_never_hold_the_missing_code(mask: np.ndarray, codes: list[int]) -> None:
    assert np.flatnonzero(mask).tolist() == codes


def test_ranges_that_make_no_sense_are_refused() -> None:
    with pytest.raises(QueryError, match="ends before it starts"):
        SIZES.between("L", "S")
    with pytest.raises(QueryError, match="column 'c': a categorical column has no order"):
        Categorical(name="c", values=("a", "b")).between("a", "b")
    with pytest.raises(QueryError, match="column 'b': a boolean column has no order"):
        Boolean(name="b").compare("<", "true")
