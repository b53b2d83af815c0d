from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from equipoise.data.schema import Schema
from equipoise.data.siphash import hash_slices
from equipoise.data.table import Table, read
from equipoise.data.units import choose_rows, count_kept, hash_rows, hash_units
from equipoise.data.whole import Codes
from equipoise.errors import CapacityError, DataError

PEOPLE, PLACES = 700, 5


def schema(rows_per_unit: int, *names: str) -> Schema:
    columns = tuple(Codes(name=name, size=PEOPLE) for name in ("place", *names))
    return Schema("visits", columns, unit="person", rows_per_unit=rows_per_unit)


def visits(num_rows: int = 3000) -> pa.Table:
    """`copy` repeats the person, so that what was kept of each can be told."""
    rng = np.random.default_rng(3)
    people = rng.integers(0, PEOPLE, num_rows)
    return pa.table({"person": people, "place": rng.integers(0, PLACES, num_rows), "copy": people})


def rows_of(table: Table, **settings: int) -> list[tuple[int, ...]]:
    """The encoded rows, sorted."""
    codes = np.concatenate(list(table.batches(**settings)), axis=1)
    return sorted(map(tuple, codes.T.tolist()))


def kept(units: pa.Array, codes: np.ndarray, *, rows_per_unit: int, seed: int) -> np.ndarray:
    hashes = hash_units(units, "person", seed)
    return choose_rows(hashes, hash_rows(codes, hashes), rows_per_unit=rows_per_unit)


@pytest.mark.parametrize("rows_per_unit", [1, 2, 5, 100])
@pytest.mark.parametrize("memory", [1, 10**5, 2**30])
def test_no_unit_keeps_more_rows_than_allowed_and_none_loses_more_than_needed(rows_per_unit: int, memory: int) -> None:
    table = visits()
    memory = max(memory, 40_000)  # at least a handful of passes, not thousands
    bounded = read(table, schema=schema(rows_per_unit, "copy")).bounded(11, memory=memory)
    before = np.bincount(table["person"].to_numpy(), minlength=PEOPLE)
    after = np.bincount([person for _, person in rows_of(bounded, batch_rows=100)], minlength=PEOPLE)
    assert np.array_equal(after, np.minimum(before, rows_per_unit))
    assert bounded.num_rows == after.sum()


def test_memory_makes_passes_and_changes_nothing_else() -> None:
    table = read(visits(), schema=schema(2, "copy"))
    whole, sliced = table.bounded(4), table.bounded(4, memory=80_000)
    assert (whole.bounding.num_groups, sliced.bounding.num_groups) == (1, 13)
    assert rows_of(whole) == rows_of(sliced)
    with pytest.raises(CapacityError, match="raise --memory"):
        table.bounded(4, memory=10).num_rows  # noqa: B018


def test_the_same_seed_keeps_the_same_rows_whatever_the_format_and_the_order(tmp_path: Path) -> None:
    table = visits()
    pa.csv.write_csv(table, tmp_path / "visits.csv")
    pa.parquet.write_table(table, tmp_path / "visits.parquet", row_group_size=100)
    shuffled = table.take(np.random.default_rng(1).permutation(table.num_rows))
    sources = [table, tmp_path / "visits.csv", tmp_path / "visits.parquet", shuffled]
    first, *others = (rows_of(read(source, schema=schema(2, "copy")).bounded(5)) for source in sources)
    assert all(first == other for other in others)
    assert first != rows_of(read(table, schema=schema(2, "copy")).bounded(6))


def test_one_units_rows_never_change_the_choice_for_another() -> None:
    people = visits()["person"].to_numpy()
    places = visits()["place"].to_numpy().astype(np.uint16)
    alone = kept(pa.array(people), places[None], rows_per_unit=2, seed=9)
    for place in (0, 1500, 3000):
        more, more_places = np.insert(people, place, [9999] * 7), np.insert(places, place, [3] * 7)
        found = kept(pa.array(more), more_places[None], rows_per_unit=2, seed=9)
        assert np.array_equal(found[more != 9999], alone)
        assert found[more == 9999].sum() == 2


@pytest.mark.parametrize("codes", [[0, 1, 2, 3, 4], [0, 0, 0, 1, 1]], ids=["distinct", "equal rows"])
def test_every_row_of_a_unit_is_equally_likely(codes: list[int]) -> None:
    """Chi-square on pairs of values: 20,000 units of 5 rows keep 2 of them, all 10 pairs equally likely.

    At most 9 degrees of freedom: the statistic exceeds 62 with probability 5.5e-10, were the seed not fixed anyway.
    Always keeping the first two would score 180,000; choosing among the distinct values instead of the rows, 4,000.
    """
    units, values = np.repeat(np.arange(20_000), 5), np.tile(np.array(codes, dtype=np.uint8), 20_000)
    found = kept(pa.array(units), values[None], rows_per_unit=2, seed=0)
    pairs = np.sort(values[found].reshape(-1, 2), axis=1)
    counts = np.bincount(pairs @ [8, 1], minlength=64)
    expected = np.zeros(64)
    for i in range(5):
        for j in range(i):
            low, high = sorted((codes[i], codes[j]))
            expected[8 * low + high] += 2000
    assert (counts[expected == 0] == 0).all()
    assert ((counts - expected)[expected > 0] ** 2 / expected[expected > 0]).sum() < 62


def test_spaces_around_a_units_name_do_not_make_another_unit() -> None:
    assert count_kept(hash_units(pa.array(["7", " 7", "8"]), "person", 0), rows_per_unit=1) == 2


def test_units_may_be_texts_numbers_dictionaries_or_slices() -> None:
    names = ["7", "8", "7", "Ω"]
    kinds = [
        pa.array(names),
        pa.array(names).dictionary_encode(),
        pa.array(names, pa.large_string()),
        pa.array(["x", *names, "y"]).slice(1, 4),
    ]
    hashes = {hash_units(kind, "person", 4).tobytes() for kind in kinds}
    assert len(hashes) == 1
    numbers = {hash_units(kind, "person", 4).tobytes() for kind in (pa.array([7, 8]), pa.array([7.0, 8.0]))}
    assert numbers == {hash_units(pa.array(["7", "8"]), "person", 4).tobytes()}


@pytest.mark.parametrize("unit", [None, "", "  ", float("nan")])
def test_a_row_without_a_unit_is_refused(unit: str | float | None) -> None:
    units = pa.array([1.0, unit]) if isinstance(unit, float) else pa.array(["canary-7731", unit])
    table = read(pa.table({"person": units, "place": [1, 2]}), schema=schema(1)).bounded(3)
    for attempt in (lambda: table.num_rows, lambda: list(table.batches())):
        with pytest.raises(DataError, match="column 'person': a row has no privacy unit") as caught:
            attempt()
        assert "canary" not in str(caught.value)


def test_the_unit_column_must_be_in_the_table() -> None:
    with pytest.raises(DataError, match="column 'person': the schema names it but"):
        read(visits().drop_columns(["person"]), schema=schema(1))


def test_without_a_unit_the_table_is_itself() -> None:
    table = read(visits(), schema=Schema("visits", (Codes(name="place", size=5),)))
    assert table.bounded(1) is table
    assert table.num_rows == 3000


def test_siphash_gives_its_authors_numbers() -> None:
    """The reference vectors of SipHash-2-4-128: key 00 to 0f, messages of 0, 1, 8 and 63 bytes counting up."""
    key = np.arange(16, dtype=np.uint8).view(np.uint64).reshape(1, 2)
    data = np.arange(63, dtype=np.uint8)
    expected = {
        0: "a3817f04ba25a8e66df67214c7550293",
        1: "da87c1d86b99af44347659119b22fc45",
        8: "3b62a9ba6258f5610f83e264f31497b4",
        63: "5150d1772f50834a503e069a973fbd7c",
    }
    for length, digest in expected.items():
        found = hash_slices(data, np.array([0, length]), key)
        assert found.view(np.uint8).tobytes().hex() == digest, length
