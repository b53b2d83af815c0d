import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.data.dates import Date
from equipoise.data.listed import Boolean, Categorical, Ordinal
from equipoise.data.real import Real
from equipoise.data.schema import Schema
from equipoise.data.whole import Codes, Integer
from equipoise.errors import QueryError
from equipoise.queries.query import Query
from equipoise.queries.text import describe, parse

COLUMNS = (
    Categorical(name="sex", values=("Female", "Male")),
    Integer(name="age", min=0, max=99, bins=10, nullable=True),
    Categorical(name="region", values=("North", "South", "and", "a and 'b'", "x..y", "=", "a, b", "`"), nullable=True),
    Codes(name="income>50K", size=2),
    Real(name="score", min=-1, max=1, bins=4, out_of_bounds="bucket"),
    Ordinal(name="not", values=("low", "mid", "high")),
    Boolean(name="some member", nullable=True),
    Date(name="seen", min=datetime.date(2020, 1, 1), max=datetime.date(2021, 12, 31), bins="month"),
    Integer(name="change", min=-3, max=3),
    Codes(name="one`", size=1),
)
SCHEMA = Schema("people", COLUMNS)


def selected(text, name):
    """Labels that the mask of one column selects."""
    query = parse(text, SCHEMA)
    index = SCHEMA.domain.columns.index(name)
    mask = query.masks[query.columns.index(index)]
    return [label for label, chosen in zip(COLUMNS[index].labels, mask, strict=True) if chosen]


@pytest.mark.parametrize(
    ("text", "name", "labels"),
    [
        ("sex = Female", "sex", ["Female"]),
        ("sex != Female", "sex", ["Male"]),
        ("SEX = Female", None, None),
        ("age in 30..39", "age", ["30..39"]),
        ("age = 30..39", "age", ["30..39"]),
        ("age  in  30 .. 49", "age", ["30..39", "40..49"]),
        ("age in 80..", "age", ["80..89", "90..99"]),
        ("age in ..19", "age", ["0..9", "10..19"]),
        ("age >= 80", "age", ["80..89", "90..99"]),
        ("age > 79", "age", ["80..89", "90..99"]),
        ("age<20", "age", ["0..9", "10..19"]),
        ("age <= 9", "age", ["0..9"]),
        ("age is missing", "age", ["(missing)"]),
        ("age = (missing)", "age", ["(missing)"]),
        ("age not in 0..89", "age", ["90..99", "(missing)"]),
        ("age in {0..9, 80..99, '(missing)'}", "age", ["0..9", "80..89", "90..99", "(missing)"]),
        ("region in {North,South}", "region", ["North", "South"]),
        ("region = 'a and ''b'''", "region", ["a and 'b'"]),
        ("region = 'and'", "region", ["and"]),
        ("region = x..y", "region", ["x..y"]),
        ("region in {'a, b', '='}", "region", ["=", "a, b"]),
        ("`income>50K` = 1", "income>50K", ["1"]),
        ("score < 0", "score", ["(below -1)", "-1..-0.5", "-0.5..0"]),
        ("score in -0.5..0.5", "score", ["-0.5..0", "0..0.5"]),
        ("`not` >= mid", "not", ["mid", "high"]),
        ("`some member` = YES", "some member", ["true"]),
        ("seen in 2020-02-01..2020-03-31", "seen", ["2020-02-01..2020-02-29", "2020-03-01..2020-03-31"]),
        ("change in -3..-1", "change", ["-3", "-2", "-1"]),
        ("age >= 20 and sex = Male AND age < 40", "age", ["20..29", "30..39"]),
        ("age in {}", "age", []),
    ],
)
def test_parse(text, name, labels):
    if name is None:
        with pytest.raises(QueryError, match="expected a column"):
            parse(text, SCHEMA)
    else:
        assert selected(text, name) == labels


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "character 1 .*expected a column.*sex, age"),
        ("   ", "expected a column.*the end"),
        ("height = 3", "character 1 .*expected a column.*'height'"),
        ("'sex' = Female", "expected a column"),
        ("sex", "character 4 .*expected one of = !="),
        ("sex ~ Female", "expected one of = !="),
        ("sex = ", "character 6 .*expected a value"),
        ("sex = Bob", "character 1 .*'sex'.*Female, Male"),
        ("age < 30 and sex = Bob", "character 14 .*'sex'"),
        ("sex < Male", "no order"),
        ("sex is missing", "not nullable"),
        ("sex is Female", "expected `missing`"),
        ("sex not = Female", "expected `in`"),
        ("age in 35..39", "cuts through a bin.*30..39"),
        ("age in ..", "expected a value"),
        ("age = 30 or sex = Male", "whole bin"),
        ("sex = Male or age < 30", "character 12 .*expected `and`.*'or'"),
        ("region = North East", "character 16 .*quote a value"),
        ("region = and", "character 10 .*quote it"),
        ("region in {North South}", "expected `,` or `}`"),
        ("region in {North", "expected `,` or `}`.*the end"),
        ("region in {,}", "expected a value"),
        ("region = 'North", "character 10 .*not closed"),
        ("`income>50K = 1", "character 1 .*not closed"),
        ("sex ! Male", "character 5 .*no meaning"),
        ("sex = Male and", "expected a column.*the end"),
    ],
)
def test_errors_say_where_and_what_is_legal(text, message):
    with pytest.raises(QueryError, match=message):
        parse(text, SCHEMA)


@st.composite
def queries(draw):
    columns = tuple(draw(st.sets(st.integers(0, len(COLUMNS) - 1), min_size=1, max_size=4)))
    sizes = [COLUMNS[c].size for c in columns]
    masks = tuple(np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size))) for size in sizes)
    return Query(columns, masks)


@given(queries())
def test_parse_inverts_describe(query):
    assert parse(describe(query, SCHEMA), SCHEMA) == query


@given(
    st.integers(0, len(COLUMNS) - 1).flatmap(
        lambda c: st.tuples(st.just(c), *[st.integers(0, COLUMNS[c].size - 1)] * 2)
    )
)
def test_parse_inverts_describe_on_ranges(place):
    column, *ends = place
    codes = np.arange(COLUMNS[column].size)
    query = Query((column,), ((min(ends) <= codes) & (codes <= max(ends)),))
    assert parse(describe(query, SCHEMA), SCHEMA) == query


@given(st.text(max_size=40))
def test_any_text_parses_or_is_refused(text):
    try:
        query = parse(text, SCHEMA)
    except QueryError:
        return
    assert isinstance(query, Query)


@given(
    st.lists(
        st.sampled_from(
            ["sex", "age", "=", "in", "{", "}", ",", "..", "30", "39", "Male", "and", "not", "is", "missing", "'"]
        )
    )
)
def test_any_tokens_parse_or_are_refused(tokens):
    try:
        query = parse(" ".join(tokens), SCHEMA)
    except QueryError:
        return
    assert parse(describe(query, SCHEMA), SCHEMA) == query


@pytest.mark.parametrize(
    ("text", "described"),
    [
        ("age < 30", "age <= 29"),
        ("score < 0.5", "score < 0.5"),
        ("sex != Male", "sex = Female"),
        ("`not` >= mid", "`not` >= mid"),
        ("region != North", "region != North"),
        ("age is not missing", "age is not missing"),
        ("age in 10..39 and sex = Male", "sex = Male and age in 10..39"),
        ("region in {North, '='}", "region in {North, '='}"),
        ("age not in {}", "age not in {}"),
        ("change in -1..2", "change in -1..2"),
    ],
)
def test_descriptions_read_well(text, described):
    assert describe(parse(text, SCHEMA), SCHEMA) == described
