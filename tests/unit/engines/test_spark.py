"""Spark itself: workers that die, a person with a million rows, what its logs say, and whole releases."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.noise import SeededNoise
from typer.testing import CliRunner

from equipoise import pipeline
from equipoise.cli import app
from equipoise.data.schema import Schema
from equipoise.data.spark import SparkFiles
from equipoise.data.spark_session import CONFIGURED, master_of
from equipoise.data.table import Table, read
from equipoise.data.whole import Codes, Integer
from equipoise.engines import scan
from equipoise.errors import DataError, SettingError
from equipoise.privacy.gate import Gate
from equipoise.privacy.private import reveal
from equipoise.queries.build import build

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@dataclass(frozen=True)
class _DiesOnce:
    """Kills the worker of the first attempt of every second task, after it has read and counted all its rows."""

    function: Any

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import os

        from pyspark import TaskContext

        context = TaskContext.get()
        yield from list(self.function(batches))
        if context.attemptNumber() == 0 and context.partitionId() % 2 == 0:
            os._exit(1)


@dataclass(frozen=True)
class _Fragile(SparkFiles):
    def map_batches(self, columns: Sequence[str], function: Any, schema: str) -> Any:
        return super().map_batches(columns, _DiesOnce(function), schema)


def test_spark_by_name_is_this_machine_where_none_is_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CONFIGURED:
        monkeypatch.delenv(name, raising=False)
    assert master_of("spark", is_running=False) == "local[*]"
    monkeypatch.setenv("SPARK_HOME", "somewhere")
    assert master_of("spark", is_running=False) == "spark"


def test_what_is_no_master_is_refused_before_java_starts() -> None:
    for known in ("local[2,4]", "local-cluster[2,1,1024]", "spark://host:7077", "yarn", "k8s://https://host:443"):
        assert master_of(known, is_running=False) == known
    with pytest.raises(SettingError, match="engine 'nonsense': give 'spark'"):
        master_of("nonsense", is_running=False)


def test_a_task_that_dies_and_is_repeated_counts_no_row_twice(spark_session: Any, tmp_path: Path) -> None:
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    rng = np.random.default_rng(1)
    schema = Schema("t", tuple(Codes(name=f"c{i}", size=9) for i in range(3)))
    rows = pa.table({f"c{i}": rng.integers(0, 9, 4000) for i in range(3)})
    pq.write_table(rows, tmp_path / "t.parquet", row_group_size=500)
    here = read(tmp_path / "t.parquet", schema=schema)
    workload = build("2-way", schema)
    there = Table(schema, _Fragile(spark_session, here.source))
    assert reveal(scan.count(there, workload)).tolist() == reveal(scan.count(here, workload)).tolist()


def test_a_person_with_a_million_rows_counts_at_most_k(spark_session: Any, tmp_path: Path) -> None:
    schema = Schema("t", (Integer(name="age", min=0, max=9),), unit="who", rows_per_unit=4)
    who = np.concatenate([np.full(1_000_000, 7), np.arange(100, 150)])
    ages = np.concatenate([np.arange(1_000_000) % 9, np.full(50, 9)])
    pq.write_table(pa.table({"who": who, "age": ages}), tmp_path / "t.parquet", row_group_size=200_000)
    workload = build("1-way", schema)
    counts = []
    for engine in (None, spark_session):
        table = read(tmp_path / "t.parquet", schema=schema, engine=engine).bounded(3)
        assert table.num_rows == 54
        counts.append(reveal(scan.count(table, workload)).tolist())
    assert counts[0] == counts[1]
    assert sum(counts[0][:9]) == 4
    assert counts[0][9] == 50


def test_logs_and_messages_hold_no_value(spark_session: Any, tmp_path: Path, capfd: Any) -> None:
    """The driver's and the executor's logs of a local session go to stderr."""
    schema = Schema("t", (Integer(name="age", min=0, max=9),))
    (tmp_path / "t.csv").write_text("age\n3\ncanary-9917\n4\n")
    workload = build("1-way", schema)
    with pytest.raises(DataError, match="column 'age'") as caught:
        scan.count(read(tmp_path / "t.csv", schema=schema, engine=spark_session), workload)
    pq.write_table(pa.table({"age": ["7", "canary-9917"]}), tmp_path / "t.parquet")
    frame = spark_session.read.parquet(str(tmp_path / "t.parquet"))
    with pytest.raises(DataError, match="column 'age'") as again:
        scan.count(read(frame, schema=schema), workload)
    logged = "".join(capfd.readouterr())
    for text in (str(caught.value), str(again.value), logged):
        assert "canary" not in text


def test_a_release_by_spark_is_the_release_made_here(
    spark_session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With noise that tests know, the same seed gives the same synthetic table to the last byte."""
    monkeypatch.setattr(pipeline, "Gate", lambda book: Gate(book, noise=SeededNoise(4)))
    made = []
    for engine in ("local", "local[2,4]"):
        out = tmp_path / engine.partition(",")[0]
        words = f"release {EXAMPLES}/people.csv --schema {EXAMPLES}/people.toml --ledger {out}.sqlite --engine {engine}"
        settings = "--epsilon 1 --columns sex,age,region --workload 2-way --method pep --option num_rounds=3 --seed 5"
        found = CliRunner().invoke(app, [*words.split(), *settings.split(), "-o", str(out)])
        assert found.exit_code == 0, found.output
        made.append((out / "synthetic.csv").read_bytes())
    assert made[0] == made[1]


def test_what_spark_is_not_for(spark_session: Any) -> None:
    schema = Schema("t", (Integer(name="age", min=0, max=9),))
    with pytest.raises(SettingError, match="Spark counts tables of"):
        read(pa.table({"age": [1]}), schema=schema, engine=spark_session)
    table = read(spark_session.sql("SELECT 7 AS age"), schema=schema)
    with pytest.raises(SettingError, match="stay on its executors"):
        next(table.batches())
