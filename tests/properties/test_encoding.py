"""Encode and decode are exact inverses on codes, for every kind of column and through every file format."""

from __future__ import annotations

import datetime
import io

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.data.columns import Column
from equipoise.data.dates import Date
from equipoise.data.encoding import decode, encode
from equipoise.data.listed import Boolean, Categorical, Ordinal
from equipoise.data.real import Real
from equipoise.data.schema import Schema
from equipoise.data.whole import Codes, Integer

POLICIES = st.sampled_from(["refuse", "clip", "bucket"])
# Texts that a CSV file can carry and that mean themselves: no surrounding space, not empty.
TEXTS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]) | st.sampled_from(",\"'; \n"),
    min_size=1,
    max_size=8,
).filter(lambda text: text == text.strip() and text != "(missing)")
VALUES = st.lists(TEXTS, min_size=1, max_size=8, unique=True).map(tuple) | st.lists(
    st.integers(-(10**12), 10**12), min_size=1, max_size=8, unique=True
).map(tuple)


@st.composite
def categorical(draw: st.DrawFn) -> Column:
    other = draw(st.none() | TEXTS)
    return Categorical(name="c", values=draw(VALUES), other=other, nullable=draw(st.booleans()))


@st.composite
def ordinal(draw: st.DrawFn) -> Column:
    return Ordinal(name="c", values=draw(VALUES), nullable=draw(st.booleans()))


@st.composite
def integer(draw: st.DrawFn) -> Column:
    low = draw(st.integers(-(10**15), 10**15))
    common = {"name": "c", "nullable": draw(st.booleans()), "out_of_bounds": draw(POLICIES)}
    if draw(st.booleans()):
        steps = draw(st.lists(st.integers(1, 10**9), min_size=1, max_size=12))
        return Integer(edges=tuple(np.cumsum([low, *steps]).tolist()), **common)
    width = draw(st.integers(1, 200))
    return Integer(min=low, max=low + width - 1, bins=draw(st.none() | st.integers(1, width)), **common)


@st.composite
def real(draw: st.DrawFn) -> Column:
    common = {"name": "c", "nullable": draw(st.booleans()), "out_of_bounds": draw(POLICIES)}
    if draw(st.booleans()):
        number = st.floats(-1e12, 1e12, allow_nan=False)
        edges = tuple(sorted(draw(st.lists(number, min_size=2, max_size=12, unique=True))))
        return Real(edges=edges, **common)
    low, bins, decimals = draw(st.integers(-1000, 1000)), draw(st.integers(1, 50)), draw(st.integers(0, 6))
    step = draw(st.integers(1, 99)) * 10.0**-decimals
    return Real(min=low, max=low + bins * step, bins=bins, decimals=decimals + 1, **common)


@st.composite
def date(draw: st.DrawFn) -> Column:
    low = draw(st.dates(datetime.date(1600, 1, 1), datetime.date(2200, 1, 1)))
    span = draw(st.integers(0, 4000))
    bins = draw(st.none() | st.sampled_from(["day", "month", "year"]) | st.integers(1, span + 1))
    high = low + datetime.timedelta(span)
    nullable, policy = draw(st.booleans()), draw(POLICIES)
    return Date(name="c", min=low, max=high, bins=bins, nullable=nullable, out_of_bounds=policy)


BOOLEANS = st.booleans().map(lambda nullable: Boolean(name="c", nullable=nullable))
CODES = st.integers(1, 500).map(lambda size: Codes(name="c", size=size))
COLUMNS = st.one_of(categorical(), ordinal(), integer(), real(), date(), BOOLEANS, CODES)


@given(column=COLUMNS, seed=st.integers(0, 2**32 - 1))
def test_decode_then_encode_is_the_identity_on_every_code(column: Column, seed: int) -> None:
    codes = np.tile(np.arange(column.size), 3)
    cells = column.decode(codes, np.random.default_rng(seed))
    assert column.encode(cells).tolist() == codes.tolist()
    assert len(column.labels) == column.size == len(set(column.labels))


@given(column=COLUMNS, seed=st.integers(0, 2**32 - 1))
def test_the_identity_holds_through_csv_and_parquet(column: Column, seed: int) -> None:
    codes = np.arange(column.size)
    table = pa.table({"c": column.decode(codes, np.random.default_rng(seed)), "row": codes})
    text, binary = io.BytesIO(), io.BytesIO()
    pa.csv.write_csv(table, text)
    pa.parquet.write_table(table, binary)
    as_text = pa.csv.ConvertOptions(column_types={"c": pa.string()}, null_values=[""], strings_can_be_null=True)
    lines = pa.csv.ParseOptions(newlines_in_values=True)
    back = pa.csv.read_csv(io.BytesIO(text.getvalue()), convert_options=as_text, parse_options=lines)
    assert column.encode(back.column("c")).tolist() == codes.tolist()
    assert column.encode(pa.parquet.read_table(io.BytesIO(binary.getvalue())).column("c")).tolist() == codes.tolist()


@given(columns=st.lists(COLUMNS, min_size=1, max_size=5), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_a_whole_table_comes_back(columns: list[Column], seed: int) -> None:
    named = tuple(column.model_copy(update={"name": f"c{i}"}) for i, column in enumerate(columns))
    schema, rng = Schema("table", named), np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, column.size, 50) for column in named])
    assert np.array_equal(encode(decode(codes, schema, rng), schema), codes)


@given(column=COLUMNS)
def test_the_json_form_gives_the_same_column(column: Column) -> None:
    schema = Schema("table", (column,))
    back = Schema.from_json(schema.to_json())
    assert back == schema
    assert back.fingerprint == schema.fingerprint
    assert back.columns[0].labels == column.labels


@given(column=st.one_of(integer(), real(), date(), ordinal()), data=st.data())
def test_ranges_over_whole_bins_select_exactly_those_codes(column: Column, data: st.DataObject) -> None:
    first = 1 if getattr(column, "out_of_bounds", "") == "bucket" else 0
    last = column.num_values - 1 - first
    low = data.draw(st.integers(first, last))
    high = data.draw(st.integers(low, last))
    ends = [label.split("..") if column.kind != "ordinal" else [label] for label in column.labels]
    mask = column.between(ends[low][0], ends[high][-1])
    assert np.flatnonzero(mask).tolist() == list(range(low, high + 1))


@given(column=st.one_of(integer(), date()), data=st.data())
def test_comparisons_split_the_codes_in_two(column: Column, data: st.DataObject) -> None:
    first = 1 if getattr(column, "out_of_bounds", "") == "bucket" else 0
    start = data.draw(st.sampled_from(column.labels[first : column.num_values - first])).split("..")[0]
    below, above = column.compare("<", start), column.compare(">=", start)
    present = np.arange(column.size) < column.num_values
    assert not np.any(below & above)
    assert np.array_equal(below | above, present)


@pytest.mark.parametrize("decimals", [None, 0, 1])
def test_real_values_are_drawn_inside_their_bin(decimals: int | None) -> None:
    column = Real(name="c", edges=(0, 1, 10, 11.5), decimals=decimals)
    values = column.decode(np.full(2000, 1), np.random.default_rng(5)).to_numpy()
    assert values.min() >= 1
    assert values.max() < 10
    assert len(np.unique(values)) == {None: 2000, 0: 9, 1: 90}[decimals]
