from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from equipoise.data.columns import Column, Comparison
from equipoise.data.dates import Date
from equipoise.data.real import Real
from equipoise.data.whole import Codes, Integer
from equipoise.errors import DataError, QueryError

AGE = Integer(name="age", min=0, max=99, bins=10)
SCORE = Real(name="score", edges=(0, 2.5, 5, 10))
CANARY = 77_310


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([30, 39, 40], pa.uint8()),
        pa.array([30, 39, 40], pa.uint64()),
        pa.array([30.0, 39.0, 40.0]),
        pa.array(["30", " 39", "40.0"]),
        pa.array([Decimal(30), Decimal(39), Decimal(40)]),
        pa.array(["30", "39", "40"]).dictionary_encode(),
    ],
    ids=lambda cells: str(cells.type),
)
def test_integers_are_read_alike_from_every_arrow_type(cells: pa.Array) -> None:
    assert AGE.encode(cells).tolist() == [3, 3, 4]


@pytest.mark.parametrize(
    ("cells", "rule"),
    [
        (pa.array([1, CANARY]), r"outside the declared bounds 0\.\.99"),
        (pa.array([1, -CANARY]), r"outside the declared bounds 0\.\.99"),
        (pa.array([1, 2**64 - CANARY], pa.uint64()), "outside the declared bounds"),
        (pa.array([1, 1e300]), "outside the declared bounds"),
        (pa.array(["1", f"x{CANARY}"]), "a value is not a whole number"),
        (pa.array(["1", f"0x{CANARY}"]), "a value is not a whole number"),
        (pa.array(["1", f"1_{CANARY}"]), "a value is not a whole number"),
        (pa.array([1, CANARY + 0.5]), "a value is not a whole number"),
        (pa.array([1.0, float("nan")]), "not a finite number"),
        (pa.array(["1", "inf"]), "not a finite number"),
        (pa.array([1, None]), "missing and the column is not nullable"),
        (pa.array(["1", ""]), "missing and the column is not nullable"),
        (pa.array([True, False]), "is not a number"),
        (pa.array([[CANARY]]), "is not a plain value"),
        (pa.array([b"77310"]), "is not a plain value"),
    ],
)
def test_a_cell_that_breaks_a_rule_is_refused_without_naming_it(cells: pa.Array, rule: str) -> None:
    with pytest.raises(DataError, match=f"column 'age': .*{rule}") as caught:
        AGE.encode(cells)
    assert str(CANARY) not in str(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("policy", ["refuse", "clip", "bucket"])
def test_a_real_column_refuses_what_is_not_finite(value: float, policy: str) -> None:
    column = Real(name="score", min=0, max=1, out_of_bounds=policy)
    for cells in (pa.array([0.5, value]), pa.array(["0.5", str(value)])):
        with pytest.raises(DataError, match="column 'score': a value is not a finite number"):
            column.encode(cells)


def test_nan_is_missing_when_nullable_but_infinity_is_not() -> None:
    column = Real(name="score", min=0, max=1, bins=2, nullable=True)
    assert column.encode(pa.array([0.1, float("nan"), None])).tolist() == [0, 2, 2]
    with pytest.raises(DataError, match="not a finite number"):
        column.encode(pa.array([0.1, float("inf")]))


def test_clip_moves_to_the_bound_and_bucket_keeps_apart() -> None:
    clipped = Integer(name="age", min=0, max=99, bins=10, out_of_bounds="clip")
    bucketed = Integer(name="age", min=0, max=99, bins=10, out_of_bounds="bucket", nullable=True)
    cells = pa.array([-5, 0, 99, 100])
    assert clipped.encode(cells).tolist() == [0, 0, 9, 9]
    assert bucketed.encode(cells).tolist() == [0, 1, 10, 11]
    assert bucketed.labels[0] == "(below 0)"
    assert bucketed.labels[11:] == ("(above 99)", "(missing)")
    assert bucketed.decode(np.array([0, 11, 12]), np.random.default_rng(0)).to_pylist() == [-1, 100, None]


def test_the_last_bin_of_a_real_column_holds_the_maximum() -> None:
    assert SCORE.encode(pa.array([0.0, 2.4999, 2.5, 10.0])).tolist() == [0, 0, 1, 2]
    with pytest.raises(DataError, match=r"outside the declared bounds 0\.\.10"):
        SCORE.encode(pa.array([np.nextafter(10.0, 11.0)]))


def test_a_drawn_value_never_rounds_up_into_the_next_bin() -> None:
    column = Real(name="x", edges=(1.0, np.nextafter(1.0, 2.0), 2.0))
    codes = np.zeros(64, dtype=np.int64)  # without care each draw would leave the bin with probability 1/2
    assert column.encode(column.decode(codes, np.random.default_rng(0))).tolist() == codes.tolist()


def test_decimals_reach_both_ends_of_a_bin() -> None:
    column = Real(name="x", edges=(0, 0.07, 0.14), decimals=2)  # 0.07 * 100 is a little more than 7 in floating point
    rng = np.random.default_rng(0)
    first, second = (set(column.decode(np.full(2000, code), rng).to_pylist()) for code in (0, 1))
    assert first == {i / 100 for i in range(7)}
    assert second == {i / 100 for i in range(7, 15)}


def test_equal_width_boundaries_are_the_decimals_people_write() -> None:
    assert Real(name="x", min=0, max=1, bins=10).boundaries.tolist() == [i / 10 for i in range(11)]


def test_integers_without_bins_have_a_code_each_and_keep_their_value() -> None:
    column = Integer(name="n", min=-2, max=2)
    assert column.labels == ("-2", "-1", "0", "1", "2")
    assert column.decode(np.arange(5), np.random.default_rng(0)).to_pylist() == [-2, -1, 0, 1, 2]


def test_decoded_integers_and_dates_spread_over_their_bin() -> None:
    rng = np.random.default_rng(0)
    ages = AGE.decode(np.full(5000, 3), rng)
    assert ages.type == pa.int64()
    assert set(ages.to_pylist()) == set(range(30, 40))  # a number is missed with probability 10 * 0.9**5000
    day = Date(name="d", min="2020-01-01", max="2020-12-31", bins="month")
    dates = day.decode(np.full(5000, 1), rng)
    assert dates.type == pa.date32()
    assert set(dates.to_pylist()) == {datetime.date(2020, 2, 1) + datetime.timedelta(i) for i in range(29)}


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([datetime.date(2020, 2, 29)]),
        pa.array(["2020-02-29"]),
        pa.array(["2020-02-29T23:59:59"]),
        pa.array([" 2020-02-29 "]),
        pa.array([datetime.datetime(2020, 2, 29, 23, 59)]),
        pa.array([datetime.datetime(2020, 2, 29, 23, 59)], pa.timestamp("ns", tz="UTC")),
        pa.array([datetime.datetime(2020, 2, 28, 21, tzinfo=datetime.UTC)], pa.timestamp("us", tz="+05:00")),
        pa.array([datetime.date(2020, 2, 29)], pa.date64()),
    ],
    ids=lambda cells: f"{cells.type}-{cells[0]}",
)
def test_dates_are_read_alike_from_every_arrow_type(cells: pa.Array) -> None:
    assert Date(name="d", min="2020-02-01", max="2020-03-31", bins="day").encode(cells).tolist() == [28]


def test_dates_before_1970_and_timestamps_before_it_round_down() -> None:
    column = Date(name="d", min="1900-01-01", max="1999-12-31", bins="day", out_of_bounds="bucket")
    cells = pa.array([datetime.datetime(1969, 12, 31, 1), datetime.datetime(1899, 12, 31, 23)])
    assert [column.labels[code] for code in column.encode(cells)] == ["1969-12-31", "(below 1900-01-01)"]


@pytest.mark.parametrize(
    ("cells", "rule"),
    [
        (pa.array(["2020-02-30"]), "is not an ISO date"),
        (pa.array(["31/12/2020"]), "is not an ISO date"),
        (pa.array([20200101]), "is not a date"),
        (pa.array(["1850-01-01"]), r"outside the declared bounds 2020-01-01\.\.2020-12-31"),
    ],
)
def test_bad_dates_are_refused_without_naming_them(cells: pa.Array, rule: str) -> None:
    with pytest.raises(DataError, match=f"column 'd': .*{rule}") as caught:
        Date(name="d", min="2020-01-01", max="2020-12-31").encode(cells)
    assert str(cells[0]) not in str(caught.value)


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        ("2020-03-05", "2022-04-01", 3),
        ("2020-03-05", "2020-06-01", 4),
        ("2020-03-05", "2020-03-09", 5),
    ],
)
def test_a_date_column_picks_a_calendar_step_by_its_span(low: str, high: str, labels: int) -> None:
    column = Date(name="d", min=low, max=high)
    assert column.size == labels
    assert column.labels[0].startswith(low)
    assert column.labels[-1].endswith(high)


def test_codes_are_themselves() -> None:
    column = Codes(name="k", size=3)
    assert column.encode(pa.array([2, 0], pa.uint8())).tolist() == [2, 0]
    assert column.encode(pa.array(["2", "0"])).tolist() == [2, 0]
    with pytest.raises(DataError, match=r"column 'k': a value is outside the declared bounds 0\.\.2") as caught:
        column.encode(pa.array([CANARY]))
    assert str(CANARY) not in str(caught.value)


@pytest.mark.parametrize(
    ("mask", "codes"),
    [
        (AGE.between("30", "39"), [3]),
        (AGE.between("30", None), [3, 4, 5, 6, 7, 8, 9]),
        (AGE.between(None, "19"), [0, 1]),
        (AGE.equals("30..39"), [3]),
        (AGE.compare(">=", "90"), [9]),
        (AGE.compare(">", "89"), [9]),
        (AGE.compare("<", "10"), [0]),
        (AGE.compare("<=", "9"), [0]),
        (SCORE.between("2.5", "10"), [1, 2]),
        (SCORE.between("0", "5"), [0, 1]),
        (SCORE.compare("<", "2.5"), [0]),
        (SCORE.compare(">=", "5.0"), [2]),
        (SCORE.compare("<=", "10"), [0, 1, 2]),
        (SCORE.equals("2.5..5"), [1]),
        (Integer(name="n", min=1, max=8).equals("3"), [2]),
        (Date(name="d", min="2020-01-01", max="2022-12-31").compare("<", "2021-01-01"), [0]),
        (Integer(name="n", min=0, max=9, bins=2, out_of_bounds="bucket", nullable=True).compare("<", "5"), [0, 1]),
        (Integer(name="n", min=0, max=9, bins=2, out_of_bounds="bucket", nullable=True).compare(">=", "5"), [2, 3]),
        (Integer(name="n", min=0, max=9, bins=2, out_of_bounds="bucket", nullable=True).between("0", "9"), [1, 2]),
        (Integer(name="n", min=0, max=9, bins=2, out_of_bounds="bucket", nullable=True).compare(">", "9"), [3]),
    ],
)
def test_query_texts_select_whole_bins(mask: np.ndarray, codes: list[int]) -> None:
    assert np.flatnonzero(mask).tolist() == codes


def test_a_range_through_a_bin_is_refused_with_the_nearest_that_fit() -> None:
    with pytest.raises(QueryError, match=r"column 'age'.*cuts through a bin.*40\.\.49 and 30\.\.59"):
        AGE.between("35", "52")
    with pytest.raises(QueryError, match=r"nearest that fit are 30\.\.39 "):
        AGE.between("31", "35")
    with pytest.raises(QueryError, match=r"nearest that fit are 2\.5\.\.5 and 0\.\.10 "):
        SCORE.between("1", "7")


@pytest.mark.parametrize(
    ("column", "operator", "text", "nearest"),
    [
        (AGE, "<", "35", "< 30 and < 40"),
        (AGE, "<=", "30", "<= 29 and <= 39"),
        (AGE, ">", "98", "> 89 and > 99"),
        (SCORE, "<=", "2.5", "< 2.5 and < 5"),
        (SCORE, ">", "3", ">= 2.5 and >= 5"),
        (SCORE, "<", "10", "< 5 and <= 10"),
        (SCORE, ">=", "10", ">= 5 and > 10"),
    ],
)
def test_a_comparison_through_a_bin_is_refused_with_the_nearest_that_fit(
    column: Column, operator: Comparison, text: str, nearest: str
) -> None:
    with pytest.raises(QueryError, match=rf"column '{column.name}': .* nearest that fit are {nearest} \(its bins: "):
        column.compare(operator, text)
    for suggestion in nearest.split(" and "):
        proposed, limit = suggestion.split()
        assert column.compare(proposed, limit).shape == (column.size,)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("column", "text", "rule"),
    [
        (AGE, "35", "is not a whole bin"),
        (AGE, "old", "is not a whole number"),
        (AGE, "(missing)", "by its schema no value is missing"),
        (SCORE, "2.5", "is not a whole bin"),
        (SCORE, "nan", "is not a number"),
        (Date(name="d", min="2020-01-01", max="2022-12-31"), "2021", "is not a date"),
    ],
)
def test_equals_refuses_part_of_a_bin_and_nonsense(column: Column, text: str, rule: str) -> None:
    with pytest.raises(QueryError, match=f"column '{column.name}': .*{rule}"):
        column.equals(text)


def test_ranges_beyond_the_bounds_or_backwards_are_refused() -> None:
    with pytest.raises(QueryError, match=r"beyond the declared bounds 0\.\.99"):
        AGE.between("90", "120")
    with pytest.raises(QueryError, match=r"< 200 is beyond the declared bounds 0\.\.99"):
        AGE.compare("<", "200")
    with pytest.raises(QueryError, match="ends before it starts"):
        AGE.between("40", "30")
