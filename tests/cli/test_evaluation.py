"""The steward's evaluation: errors against a brute-force computation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import equipoise as eq
from equipoise.evaluation import stored_rows

Bench = Any


def test_errors_are_the_differences_to_the_table(released: Bench) -> None:
    release = eq.load(released.out)
    table = eq.read(released.table, schema=released.schema)
    rows = stored_rows(released.out, release.schema)
    found = eq.evaluate(release, table, rows=rows)

    codes = np.concatenate(list(table.select(["sex", "age", "region"]).batches()), axis=1)
    assert codes.shape == (3, 200)
    variations, errors = [], []
    for group in release.workload.groups:
        true, synthetic = (np.zeros(group.shape) for _ in range(2))
        np.add.at(true, tuple(codes[c] for c in group.columns), 1 / 200)
        np.add.at(synthetic, tuple(rows[c] for c in group.columns), 1 / rows.shape[1])
        errors.append(np.abs(true - synthetic).reshape(-1))
        variations.append(errors[-1].sum() / 2)
    off = np.concatenate(errors)
    assert found.rows.max == pytest.approx(off.max())
    assert found.rows.mean == pytest.approx(off.mean())
    assert found.rows.rmse == pytest.approx(np.sqrt((off**2).mean()))
    assert found.rows.total_variation == pytest.approx(np.mean(variations))


def test_the_truth_does_not_print(released: Bench) -> None:
    release = eq.load(released.out)
    found = eq.evaluate(release, eq.read(released.table, schema=release.schema))
    assert "array" not in repr(found)
    assert "truth" not in found.to_json()
    assert found.to_json()["private"] is False
    assert found.coverage is not None
    assert 0 < found.coverage <= 1


def test_another_schema_is_refused(released: Bench) -> None:
    other = released.schema.read_text().replace("bins = 5", "bins = 10")
    path = released.folder / "other.toml"
    path.write_text(other)
    with pytest.raises(eq.SchemaError, match="another schema"):
        eq.evaluate(eq.load(released.out), eq.read(released.table, schema=path))


def test_rows_that_are_not_there(released: Bench) -> None:
    with pytest.raises(eq.OutputError, match=r"synthetic\.parquet"):
        stored_rows(released.folder, eq.load(released.out).schema)
