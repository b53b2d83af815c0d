"""The benchmark of public data: how a table is coded like another, and what its page says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from equipoise.bench import public


def put(folder: Path, name: str, columns: dict[str, Any], labels: dict[str, Any], sizes: dict[str, int]) -> None:
    pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    (folder / f"{name}.labels.json").write_text(json.dumps(labels))
    (folder / f"{name}.domain.json").write_text(json.dumps(sizes))


def test_labels_decide_and_what_has_none_is_left_out(tmp_path: Path) -> None:
    put(
        tmp_path,
        "here",
        {"place": [0, 1], "kind": [0, 1], "age": [0, 1], "pay": [0, 1]},
        {"place": ["x", "y"], "kind": ["a", "b"], "age": [0.0, 10.0, 20.0], "pay": [0.0, 9.0, "NA"]},
        {"place": 2, "kind": 2, "age": 2, "pay": 2},
    )
    put(
        tmp_path,
        "there",
        {"place": [0, 0, 0], "kind": [0, 1, 2], "age": [0, 3, 1], "pay": [2, 1, 0]},
        {"place": ["z"], "kind": ["b", "a", "c"], "age": [0.0, 5.0, 10.0, 15.0, 30.0], "pay": [0.0, 4.0, 8.0, "NA"]},
        {"place": 1, "kind": 3, "age": 4, "pay": 3},
    )
    found = public.mapped(tmp_path, "there", "here")
    assert found.to_pydict() == {"kind": [1, 0], "age": [0, 1], "pay": [1, 0]}


def test_a_biased_table_keeps_some_rows(tmp_path: Path) -> None:
    put(tmp_path, "people", {"sex": [0, 1, 1], "age": [4, 5, 6]}, {}, {})
    kept = public.biased(tmp_path, "people", "sex", lambda codes: codes == np.bincount(codes).argmax())
    assert kept["age"].to_pylist() == [5, 6]


def test_the_page_says_which_claims_hold() -> None:
    def row(kind: str, method: str, largest: float) -> dict[str, Any]:
        facts = {"table": "adult", "public data": kind, "method": method, "epsilon": 1.0}
        return facts | {"max": largest, "mean": 1e-4, "cpu s": 3.0}

    bad = "bad support: men only"
    rows = [row("none", "gem", 0.05), row("good support", "gem_pub", 0.02)]
    rows += [row(bad, "pmw_pub", 0.3), row(bad, "gem_pub", 0.04), row(bad, "mixture_pub", 0.31)]
    page = public.markdown(rows, 3)
    assert "good support, epsilon 1: gem_pub beats gem: 0.0200, 0.0500: holds" in page
    assert "pmw_pub stalls, gem_pub does not: 0.0400, 0.3000: holds" in page
    assert "pmw_pub stalls, mixture_pub does not: 0.3100, 0.3000: DOES NOT HOLD" in page


def test_without_the_tables_it_is_skipped(tmp_path: Path, capsys: Any) -> None:
    assert public.main(["--data", str(tmp_path / "nowhere"), "--out", str(tmp_path)]) == 0
    assert "skipped" in capsys.readouterr().out
