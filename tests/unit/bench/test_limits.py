"""What one-way marginals allow: dependence and noise are each seen, and columns without marginals cost nothing."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from equipoise.bench import limits

NUM_ROWS = 4000


@pytest.fixture
def data(tmp_path):
    """Two columns that are the same, and a third, of 50 values, that no marginal has."""
    rng = np.random.default_rng(0)
    same = rng.integers(0, 2, NUM_ROWS)
    columns = {"a": same, "b": same, "c": rng.integers(0, 50, NUM_ROWS)}
    pq.write_table(pa.table(columns), tmp_path / "toy.parquet")
    (tmp_path / "toy.domain.json").write_text(json.dumps({"a": 2, "b": 2, "c": 50}))
    (tmp_path / "workloads").mkdir()
    (tmp_path / "workloads" / "toy.json").write_text(json.dumps({"table": "toy", "marginals": [["a", "b"]]}))
    return tmp_path


def test_independent_columns_miss_what_dependence_there_is(data):
    known = limits.Known(data, "toy")
    ones = known.one_ways[0][1]
    expected = ones * (1 - ones)  # every cell of the pair is off by that much
    assert known.errors(known.one_ways) == (pytest.approx(expected), pytest.approx(expected))


def test_noise_has_the_stated_scale_and_spares_columns_without_marginals(data):
    """Two columns share the resolution: variance 2/resolution each, 2000 draws within 20 % but for 1e-9."""
    known = limits.Known(data, "toy")
    rng = np.random.default_rng(1)
    drawn = np.array([known.measured(rng, 2e8, (0.5, 0.7))[0] for _ in range(1000)])
    # Projected on shares that sum to one, a cell keeps half of its variance.
    assert np.var(drawn[:, 0]) == pytest.approx(0.5 * 2 / 2e8, rel=0.2)
    assert np.mean(drawn[:, 0]) == pytest.approx(known.one_ways[0][0], abs=1e-5)
    np.testing.assert_allclose(known.measured(rng, 2e8, (0.5, 0.7))[2], np.full(50, 1 / 50))


def test_the_table_has_both_rows(data, capsys):
    assert limits.main(["--data", str(data), "--only", "toy", "--epsilon", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[1] for line in lines[2:]] == ["independent", "one-ways only"]
    assert limits.main(["--data", str(data / "nowhere")]) == 0
    assert "skipped" in capsys.readouterr().out
