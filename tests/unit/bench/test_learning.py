"""The learning benchmark on a made-up table of the same form."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from equipoise.bench.learning import Trial, main


def made_up(folder: Path, num_rows: int = 3000) -> None:
    """The label is a conjunction, but for one row in ten."""
    rng = np.random.default_rng(0)
    columns = {"work": rng.integers(0, 4, num_rows), "age": rng.integers(0, 3, num_rows)}
    flipped = np.arange(num_rows) % 10 == 0
    columns["income>50K"] = ((columns["work"] == 2) & (columns["age"] == 1)) ^ flipped
    pq.write_table(
        pa.table({name: pa.array(values.astype(np.int64)) for name, values in columns.items()}),
        folder / "adult.parquet",
    )
    (folder / "adult.domain.json").write_text(json.dumps({"work": 4, "age": 3, "income>50K": 2}))


def test_the_benchmark_finds_the_best_rule_and_the_private_one(tmp_path: Path) -> None:
    made_up(tmp_path)
    main(["--out", str(tmp_path / "out"), "--data", str(tmp_path), "--classes", "conjunctions", "--repetitions", "1"])
    found = json.loads((tmp_path / "out/learning.json").read_text())
    assert found["optima"][0]["proved"]
    assert found["optima"][0]["loss"] == pytest.approx(0.1)
    # The next best rule misses some 150 records more: chosen instead with probability below 22 exp(-75).
    assert found["trials"][0]["rule"] == found["optima"][0]["rule"] == "work = 2 and age = 1"
    assert found["trials"][0]["excess"] == 0
    assert "proved" in (tmp_path / "out/learning.md").read_text()


def test_an_interrupted_run_goes_on(tmp_path: Path) -> None:
    made_up(tmp_path)
    words = ["--out", str(tmp_path / "out"), "--data", str(tmp_path), "--classes", "conjunctions"]
    main([*words, "--quick"])
    kept = tmp_path / "out/learning.jsonl"
    first = kept.read_text().splitlines()
    assert len(first) == 1 + 2  # the best rule, and one by each mechanism
    kept.write_text("\n".join([*first[:-1], first[-1][:20]]) + "\n")  # a kill in the middle of a line
    main([*words, "--quick"])
    assert kept.read_text().splitlines()[:2] == first[:2]
    main([*words, "--repetitions", "2"])
    found = json.loads((tmp_path / "out/learning.json").read_text())
    assert len(found["optima"]) == 1
    assert [trial["mechanism"] for trial in found["trials"]] == ["exponential"] * 2 + ["rspm"] * 2


def test_a_rule_that_is_far_or_late_does_not_meet_the_requirement() -> None:
    assert Trial("conjunctions", "exponential", 1.0, "", 0.2, 0.02, 60.0, 1.0).met
    assert not Trial("conjunctions", "exponential", 1.0, "", 0.2, 0.021, 1.0, 1.0).met
    assert not Trial("conjunctions", "exponential", 1.0, "", 0.2, 0.0, 61.0, 1.0).met


def test_without_the_table_nothing_is_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--out", str(tmp_path / "out"), "--data", str(tmp_path)])
    assert "left out" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()
