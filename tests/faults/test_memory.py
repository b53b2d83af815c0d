"""Memory that runs out at many moments: one of our errors (or a library's abort), an exact ledger, a second start."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tests.faults.stage import Stage

from equipoise.privacy.ledger import Ledger

NUM_ROUNDS = 2
MEGABYTE = 2**20
MARGINS = (10, 40, 80, 120)
"""Beyond what the process has already. A vector over the domain takes 38, and the game a few of them."""


def words(folder: Path, number: int) -> list[str]:
    return [
        *("release", str(folder / "wide.parquet"), "--domain", str(folder / "wide.json"), "--epsilon", "1"),
        *("--workload", "2-way", "--method", "mwem", "--option", f"num_rounds={NUM_ROUNDS}", "--option", "moves=cell"),
        *("--rows", "100", "--threads", "1", "--quiet", "--ledger", str(folder / f"{number}.sqlite")),
        *("-o", str(folder / f"out{number}")),
    ]


def the_run(folder: Path, number: int) -> Any:
    path = folder / f"{number}.sqlite"
    account = Ledger(path).existing("wide") if path.is_file() else None
    if account is None or not account.runs():
        return None
    account.verify()
    (row,) = account.runs()
    return account.run(row["run"])


def test_memory_that_runs_out(stage: Stage, quick_folder: Path) -> None:
    rng = np.random.default_rng(0)
    names = [f"c{j}" for j in range(7)]
    rows = pa.table({name: pa.array(rng.integers(0, 9, 500).astype(np.uint8)) for name in names})
    pq.write_table(rows, quick_folder / "wide.parquet")
    (quick_folder / "wide.json").write_text(json.dumps(dict.fromkeys(names, 9)))
    codes = []
    for number, margin in enumerate(MARGINS):
        first = stage.run(*words(quick_folder, number), more_bytes=margin * MEGABYTE)
        codes.append(first.code)
        assert first.code in (0, 7, 8) or first.code < 0, first  # a library's allocator may abort the process
        assert "Traceback" not in first.said
        assert "unexpected" not in first.said
        run = the_run(quick_folder, number)
        before = [] if run is None else run.moves()
        if run is not None:
            assert len(run.events()) == 2 * len(before)
        if first.code != 0 and margin == MARGINS[-1]:
            again = stage.run(*words(quick_folder, number))
            assert again.code == 0, again
            run = the_run(quick_folder, number)
            assert len(run.moves()) == NUM_ROUNDS
            assert len(run.events()) == 2 * NUM_ROUNDS
            assert all((a.ids == b.ids).all() for a, b in zip(before, run.moves(), strict=False))
    assert 7 in codes, f"memory ran out in no part of ours: {codes}"
