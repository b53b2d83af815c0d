"""The scaling benchmark on small tables: it measures what it says, and misses are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from equipoise.bench import scale, scale_job


def test_files_are_made_once_and_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "FILE_ROWS", 700)
    folder = scale.make_files(tmp_path, 1500)
    files = sorted(folder.iterdir())
    assert [file.name for file in files] == [f"part-{i:05d}.parquet" for i in range(3)]
    before = [file.read_bytes() for file in files]
    files[1].unlink()
    scale.make_files(tmp_path, 1500)
    assert [file.read_bytes() for file in files] == before


def test_a_measurement_counts_what_it_is_told(tmp_path: Path) -> None:
    folder = str(scale.make_files(tmp_path, 1000))
    few = scale_job.measure({"path": folder, "num_columns": 5, "num_marginals": 4, "threads": 1})
    assert (few["rows"], few["columns"], few["marginals"], few["killed"]) == (1000, 5, 4, False)
    again = scale_job.measure({"path": folder, "num_columns": 5, "num_marginals": 4, "warm": folder, "memory": 2**33})
    other = scale_job.measure({"path": folder, "num_columns": 5, "num_marginals": 5})
    assert few["digest"] == again["digest"] != other["digest"]


def run(**changes: Any) -> dict[str, Any]:
    return {"rows": 5_000_000, "cpu_ns": 1.0, "wall": 10.0, "peak_mb": 100.0, "digest": "a", "killed": True} | changes


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({}, None),
        ({"rows": run(rows=10**8, cpu_ns=1.3)}, "1.30 times that of the base"),
        ({"all cores": run(peak_mb=2100.0)}, "memory limit"),
        ({"spark": run(wall=25.0)}, "only 40% of the local"),
        ({"lost executor": run(killed=False)}, "no executor was killed"),
        ({"lost executor": run(digest="b")}, "counts differ"),
    ],
)
def test_what_is_missed_is_told(changed: dict[str, Any], told: str | None) -> None:
    last = {name: run() for name in ("rows", "all cores", "spark", "lost executor")} | changed
    found = {name: [run(), each] if name == "rows" else [each] for name, each in last.items()}
    failures = scale._failures(found)
    assert failures == [] if told is None else len(failures) == 1 and told in failures[0]


def test_the_whole_benchmark_writes_its_table_and_plot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(job: dict[str, Any]) -> dict[str, Any]:
        found = scale_job.measure(job if "num_columns" in job else {"num_marginals": 2, **job})
        assert found["peak_mb"] > 0
        # This process's peak is that of the tests it has run before; a real measurement has a process of its own.
        alone = {"cpu": found["rows"] * found["marginals"] * 1e-3, "cpu_ns": 1.0, "wall_ns": 1.0, "peak_mb": 100.0}
        return {**found, **alone, "job": job}

    for name, sizes in (("ROWS", (500, 1000)), ("MARGINALS", (3, 6)), ("COLUMNS", (4, 5))):
        monkeypatch.setattr(scale, name, sizes)
    monkeypatch.setattr(scale, "_run", measured)
    code = scale.main(["--out", str(tmp_path), "--rows", "2000", "--folder", str(tmp_path), "--skip-spark"])
    assert code == 0
    assert json.loads((tmp_path / "scale.json").read_text())["failures"] == []
    assert "Against rows" in (tmp_path / "scale.md").read_text()
    svg = (tmp_path / "scale.svg").read_text()
    assert svg.startswith("<svg")
    assert "xmlns" in svg.partition(">")[0]
