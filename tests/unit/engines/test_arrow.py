import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.data.schema import Schema
from equipoise.data.table import read
from equipoise.data.whole import Codes
from equipoise.engines import arrow
from equipoise.engines.arrow import count, count_codes
from equipoise.errors import DataError, QueryError, SettingError
from equipoise.privacy import Private
from equipoise.privacy.private import reveal
from equipoise.queries import cover as cover_module
from equipoise.queries.build import build


def make_schema(sizes):
    return Schema("made", tuple(Codes(name=f"c{i}", size=size) for i, size in enumerate(sizes)))


def make_codes(sizes, num_rows, seed=0):
    rng = np.random.default_rng(seed)
    # Skewed: small codes are common.
    return np.stack([(size * rng.random(num_rows) ** 3).astype(np.uint16) for size in sizes])


def make_table(codes, sizes):
    return read(pa.table({f"c{i}": column for i, column in enumerate(codes)}), schema=make_schema(sizes))


def by_bincount(codes, workload):
    sizes = workload.domain.sizes
    parts = []
    for group in workload.groups:
        cells = np.ravel_multi_index(tuple(codes[c].astype(np.int64) for c in group.columns), group.shape)
        tensor = np.bincount(cells, minlength=math.prod(sizes[c] for c in group.columns)).reshape(group.shape)
        parts.append(group.answers(tensor))
    return np.concatenate(parts)


@given(
    st.lists(st.integers(1, 9), min_size=3, max_size=6),
    st.sampled_from([1, 2, 100, 3000]),
    st.sampled_from([1, 2, 3]),
    st.sampled_from([1, 64, 10**6]),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=25, deadline=None)
def test_engine_equals_bincount(sizes, num_rows, threads, batch_rows, seed):
    num_rows = min(num_rows, 50 * batch_rows)
    codes = make_codes(sizes, num_rows, seed)
    table = make_table(codes, sizes)
    workload = build("1-way,3-way", table.schema)
    truth = count(table, workload, threads=threads, batch_rows=batch_rows)
    np.testing.assert_array_equal(reveal(truth), by_bincount(codes, workload))


@pytest.fixture
def planned(monkeypatch):
    """Plans a cover even for small tables."""
    monkeypatch.setattr(cover_module, "PLANNING_WORTH", 0)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("shared", [False, True])
def test_covers_threads_and_a_shared_tally_change_nothing(planned, monkeypatch, threads, shared):
    if shared:
        monkeypatch.setattr(arrow, "TALLY_BYTES", 0)
    sizes = (2, 3, 5, 7, 4, 2, 300)
    codes = make_codes(sizes, 4000)
    table = make_table(codes, sizes)
    workload = build("2-way,3-way", table.schema)
    blocks = cover_module.cover(workload.column_sets, sizes, 4000)
    assert len(blocks) < len(workload.column_sets)
    counts = reveal(count(table, workload, threads=threads, batch_rows=512))
    np.testing.assert_array_equal(counts, by_bincount(codes, workload))


def test_empty_batches_and_odd_lengths(planned):
    sizes = (3, 4, 5)
    codes = make_codes(sizes, 1001)
    workload = build("2-way", make_schema(sizes).domain)
    cuts = [0, 0, 1, 1, 500, 500, 1001, 1001]
    batches = [codes[:, a:b] for a, b in itertools.pairwise(cuts)]
    for threads in (1, 2):
        counts = count_codes(iter(batches), workload, num_rows=1001, threads=threads)
        np.testing.assert_array_equal(counts, by_bincount(codes, workload))


def test_masked_groups(planned):
    sizes = (6, 5, 2)
    codes = make_codes(sizes, 700)
    table = make_table(codes, sizes)
    workload = build(["c0 < 3 and c2 = 1", "c0 in {0, 5} and c2 = 0", "c1 >= 2", ("c0", "c1")], table.schema)
    np.testing.assert_array_equal(reveal(count(table, workload)), by_bincount(codes, workload))
    np.testing.assert_array_equal(
        reveal(count(table, build("prefixes,ranges", table.schema))),
        by_bincount(codes, build("prefixes,ranges", table.schema)),
    )


def test_the_result_is_sealed():
    table = make_table(make_codes((2, 3), 10), (2, 3))
    truth = count(table, build("1-way", table.schema))
    assert isinstance(truth, Private)
    assert repr(truth) == "Private(5 counts)"
    assert truth.norms.l1 == 4


def test_progress_tells_rows_only():
    seen = []
    table = make_table(make_codes((2, 3), 100), (2, 3))
    count(
        table,
        build("1-way", table.schema),
        threads=2,
        batch_rows=30,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert [total for _, total in seen] == [100] * len(seen)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (100, 100)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_bad_row_stops_the_count(threads):
    codes = make_codes((2, 3), 1000)
    codes[1, 777] = 222
    table = make_table(codes, (2, 3))
    with pytest.raises(DataError, match="'c1'") as caught:
        count(table, build("1-way", table.schema), threads=threads, batch_rows=50)
    assert "222" not in str(caught.value)


def test_refusals():
    table = make_table(make_codes((2, 3), 10), (2, 3))
    with pytest.raises(QueryError, match="other columns"):
        count(table, build("1-way", make_schema((2, 4)).domain))
    workload = build("1-way", table.schema)
    with pytest.raises(SettingError, match="at least 1"):
        count(table, workload, threads=0)
    with pytest.raises(DataError, match="changed while"):
        count_codes([make_codes((2, 3), 9)], workload, num_rows=10)
