"""The memory limit: planned from public quantities, obeyed by the process, changing no count."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from equipoise.data.domain import Domain
from equipoise.data.schema import Schema
from equipoise.data.table import read
from equipoise.data.whole import Codes
from equipoise.engines import passes
from equipoise.engines.arrow import count
from equipoise.engines.passes import COUNT_BYTES, SUM_BYTES, plan_passes, room_for
from equipoise.errors import CapacityError
from equipoise.privacy.private import reveal
from equipoise.queries.build import build


def make_schema(*sizes: int) -> Schema:
    return Schema("made", tuple(Codes(name=f"c{i}", size=size) for i, size in enumerate(sizes)))


def test_every_marginal_is_in_exactly_one_pass_and_each_pass_fits() -> None:
    workload = build("1-way,2-way,3-way", Domain(tuple("abcdefgh"), (10, 20, 30, 4, 5, 6, 7, 80)))
    for num_rows in (10**3, 10**9):
        for room in (1_500_000, 3 * 10**6, 10**9):
            planned = plan_passes(workload, num_rows=num_rows, room=room)
            wanted = [c for each in planned for block in each.blocks for c in block.wanted]
            wanted += [c for each in planned for c in each.sparse]
            assert sorted(wanted) == sorted(workload.column_sets)
            for each in planned:
                cells = [int(np.prod([workload.domain.sizes[c] for c in block.columns])) for block in each.blocks]
                assert COUNT_BYTES * sum(cells) + SUM_BYTES * max(cells, default=0) <= room
    assert len(plan_passes(workload, num_rows=10**9, room=1_500_000)) > 1


def test_a_marginal_that_does_not_fit_is_refused_by_name() -> None:
    workload = build("2-way", Domain(("age", "town"), (1000, 1000)))
    with pytest.raises(CapacityError, match=r"columns 'age', 'town' .* raise --memory by 18 MB"):
        plan_passes(workload, num_rows=10**9, room=10**7)


def test_a_limit_below_what_the_program_takes_is_refused_before_a_row_is_read() -> None:
    table = read(pa.table({"c0": [0, 77]}), schema=make_schema(2))
    with pytest.raises(CapacityError, match="--memory must be more than"):
        count(table, build("1-way", table.schema), memory=2**20)


@pytest.mark.parametrize("room", [25_000, 10**6, None])
@pytest.mark.parametrize("threads", [1, 2])
def test_passes_change_no_count(monkeypatch: pytest.MonkeyPatch, room: int | None, threads: int) -> None:
    sizes = (5, 7, 11, 3, 9)
    rng = np.random.default_rng(0)
    rows = pa.table({f"c{i}": rng.integers(0, size, 3000) for i, size in enumerate(sizes)})
    table = read(rows, schema=make_schema(*sizes))
    workload = build("1-way,2-way,3-way,prefixes", table.schema)
    told: list[tuple[int, int]] = []
    number = len(plan_passes(workload, num_rows=3000, room=room))
    monkeypatch.setattr("equipoise.engines.arrow.room_for", lambda *_, **__: room)
    counts = reveal(count(table, workload, memory=1, threads=threads, progress=lambda *far: told.append(far)))
    assert (number > 1) == (room == 25_000)
    assert told[-1] == (3000 * number, 3000 * number)
    expected = workload.count_rows(np.stack([rows[f"c{i}"].to_numpy() for i in range(5)]))
    np.testing.assert_array_equal(counts, expected)


CHILD = """
import json, re, sys
from equipoise.data.schema import Schema
from equipoise.data.table import read
from equipoise.data.whole import Codes
from equipoise.engines import arrow, passes
from equipoise.queries.build import build

schema = Schema("t", tuple(Codes(name=f"c{i}", size=100) for i in range(6)))
workload, table = build("3-way", schema), read(sys.argv[1], schema=schema)
huge = 2**40
fixed = huge - passes.room_for(workload, huge, threads=2, batch_rows=arrow.BATCH_ROWS)
limit = fixed + 50 * 2**20
room = passes.room_for(workload, limit, threads=2, batch_rows=arrow.BATCH_ROWS)
number = len(passes.plan_passes(workload, num_rows=table.num_rows, room=room))
arrow.count(table, workload, threads=2, memory=limit)
peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024  # getrusage has the parent's
print(json.dumps({"limit": limit, "passes": number, "peak": peak}))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
def test_the_process_stays_below_its_limit(tmp_path: Path) -> None:
    """20 marginals of a million cells, 320 MB with their sums: a process of its own counts them within its limit."""
    rng = np.random.default_rng(0)
    codes = {f"c{i}": rng.integers(0, 100, 200_000).astype(np.uint8) for i in range(6)}
    pq.write_table(pa.table(codes), tmp_path / "t.parquet", row_group_size=50_000)
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path / "t.parquet")], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert found["passes"] > 1
    assert found["peak"] <= found["limit"]


def test_room_shrinks_with_the_result() -> None:
    small, large = (build(f"{k}-way", make_schema(*(20,) * 5)) for k in (1, 3))
    rooms = [room_for(each, 2**33, threads=1, batch_rows=10) for each in (small, large)]
    assert rooms[0] - rooms[1] >= 8 * (large.num_queries - small.num_queries) - 2**24  # less what the process grew by
    assert passes.resident_bytes() > 2**24
