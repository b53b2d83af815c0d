from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from equipoise.data.schema import Schema
from equipoise.data.table import read
from equipoise.data.units import keep_rows
from equipoise.data.whole import Codes
from equipoise.errors import DataError


def schema(rows_per_unit: int) -> Schema:
    return Schema("visits", (Codes(name="place", size=5),), unit="person", rows_per_unit=rows_per_unit)


def visits(num_rows: int = 3000, num_people: int = 700) -> pa.Table:
    rng = np.random.default_rng(3)
    return pa.table({"person": rng.integers(0, num_people, num_rows), "place": rng.integers(0, 5, num_rows)})


@pytest.mark.parametrize("rows_per_unit", [1, 2, 5, 100])
def test_no_unit_keeps_more_rows_than_allowed_and_none_loses_more_than_needed(rows_per_unit: int) -> None:
    table = visits()
    bounded = read(table, schema=schema(rows_per_unit)).bounded(11)
    people = table["person"].to_numpy()
    before, after = np.bincount(people), np.bincount(people[bounded.kept], minlength=700)
    assert np.array_equal(after, np.minimum(before, rows_per_unit))
    assert bounded.num_rows == after.sum()
    assert sum(codes.shape[1] for codes in bounded.batches(batch_rows=100)) == bounded.num_rows


def test_the_kept_rows_are_the_ones_encoded() -> None:
    table = visits()
    bounded = read(table, schema=schema(1)).bounded(2)
    codes = np.concatenate(list(bounded.batches(batch_rows=77)), axis=1)
    assert np.array_equal(codes[0], table["place"].to_numpy()[bounded.kept])


def test_the_same_seed_keeps_the_same_rows_whatever_the_format(tmp_path: Path) -> None:
    table = visits()
    pa.csv.write_csv(table, tmp_path / "visits.csv")
    pa.parquet.write_table(table, tmp_path / "visits.parquet", row_group_size=100)
    sources = [table, tmp_path / "visits.csv", tmp_path / "visits.parquet"]
    first, *others = (read(source, schema=schema(2)).bounded(5).kept for source in sources)
    assert all(np.array_equal(first, other) for other in others)
    assert not np.array_equal(first, read(table, schema=schema(2)).bounded(6).kept)


def test_one_units_rows_never_change_the_choice_for_another() -> None:
    people = visits()["person"].to_numpy()
    alone = keep_rows([pa.array(people)], "person", rows_per_unit=2, seed=9)
    for place in (0, 1500, 3000):
        more = np.insert(people, place, [9999] * 7)
        kept = keep_rows([pa.array(more)], "person", rows_per_unit=2, seed=9)
        assert np.array_equal(kept[more != 9999], alone)
        assert kept[more == 9999].sum() == 2


def test_every_row_of_a_unit_is_equally_likely() -> None:
    """Chi-square on pairs: 20,000 units of 5 rows keep 2 of them, 10 equally likely pairs each.

    The statistic has 9 degrees of freedom and exceeds 62 with probability 5.5e-10, were the seed not fixed anyway.
    Always keeping the first two would score 180,000.
    """
    units = np.repeat(np.arange(20_000), 5)
    kept = keep_rows([pa.array(units)], "person", rows_per_unit=2, seed=0).reshape(-1, 5)
    pairs = np.bincount(kept @ (1 << np.arange(5)), minlength=32)
    pairs = pairs[pairs > 0]
    assert len(pairs) == 10
    assert ((pairs - 2000) ** 2 / 2000).sum() < 62


def test_spaces_around_a_units_name_do_not_make_another_unit() -> None:
    kept = keep_rows([pa.array(["7", " 7", "8"])], "person", rows_per_unit=1, seed=0)
    assert kept.sum() == 2


def test_units_may_be_texts_numbers_or_dictionaries() -> None:
    names = ["7", "8", "7", "9"]
    kinds = [
        pa.array(names),
        pa.array([7, 8, 7, 9]),
        pa.array([7.0, 8.0, 7.0, 9.0]),
        pa.array(names).dictionary_encode(),
        pa.array(names, pa.large_string()),
    ]
    kept = {keep_rows([kind], "person", rows_per_unit=1, seed=4).tobytes() for kind in kinds}
    assert len(kept) == 1


@pytest.mark.parametrize("unit", [None, "", "  ", float("nan")])
def test_a_row_without_a_unit_is_refused(unit: str | float | None) -> None:
    chunk = pa.array([1.0, unit]) if isinstance(unit, float) else pa.array(["canary-7731", unit])
    with pytest.raises(DataError, match="column 'person': a row has no privacy unit") as caught:
        keep_rows([chunk], "person", rows_per_unit=1, seed=0)
    assert "canary" not in str(caught.value)


def test_the_unit_column_must_be_in_the_table() -> None:
    with pytest.raises(DataError, match="column 'person': the schema names it but"):
        read(visits().drop_columns(["person"]), schema=schema(1))


def test_without_a_unit_the_table_is_itself() -> None:
    table = read(visits(), schema=Schema("visits", (Codes(name="place", size=5),)))
    assert table.bounded(1) is table
    assert table.num_rows == 3000
