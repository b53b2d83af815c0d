"""The benchmark of many analysts on a made-up table of the same form: what is declared is run, once."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from equipoise.bench import analysts
from equipoise.bench.analysts import FILE, Row, main, markdown

SMALL = FILE.model_copy(update={"num_analysts": 3, "queries_each": 4})


def made_up(folder: Path, num_rows: int = 4000) -> None:
    rng = np.random.default_rng(0)
    sizes = {name: 2 + place % 3 for place, name in enumerate(FILE.columns)}
    columns = {name: pa.array(rng.integers(0, size, num_rows)) for name, size in sizes.items()}
    pq.write_table(pa.table(columns), folder / f"{FILE.table}.parquet")
    (folder / f"{FILE.table}.domain.json").write_text(json.dumps(sizes))


def test_every_declared_mechanism_answers_and_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made_up(tmp_path)
    monkeypatch.setattr(analysts, "FILE", SMALL)
    words = ["--out", str(tmp_path / "out"), "--data", str(tmp_path)]
    main(words)
    rows = json.loads((tmp_path / "out/analysts.json").read_text())
    assert [row["name"] for row in rows] == [mechanism.name for mechanism in FILE.mechanism]
    assert all(sum(row["sources"].values()) == 3 * 4 for row in rows)
    assert rows[0]["did"] == "noise"
    # 12 answers of 4,000 records at epsilon 1 have noise of about 8 records: 0.05 is 25 standard deviations.
    assert rows[0]["max_error"] < 0.05
    kept = (tmp_path / "out/analysts.jsonl").read_text()
    monkeypatch.setattr(analysts, "row_of", None)
    main(words)  # nothing is asked again
    assert (tmp_path / "out/analysts.jsonl").read_text() == kept


def test_a_mechanism_is_compared_with_noise_at_its_own_budget() -> None:
    rows = [
        Row(name, epsilon, name, "", error, error, {}, 1.0, 1.0)
        for epsilon, name, error in ((1.0, "noise", 0.1), (1.0, "game", 0.2), (0.1, "noise", 0.5), (0.1, "game", 0.2))
    ]
    page = markdown(rows)
    assert "| game | 1 | game | 0.2000 | 0.20000 | does not win |" in page
    assert "| game | 0.1 | game | 0.2000 | 0.20000 | wins |" in page
    assert page.count("is noise") == 2


def test_without_the_table_nothing_is_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--out", str(tmp_path / "out"), "--data", str(tmp_path)])
    assert "left out" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()
