"""PostgreSQL that dies in the middle of a release: under the ledger, and under the private table."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from tests.faults.toy import Toy
from tests.postgres import stopped

from equipoise.privacy.store import url_of


def once(process: subprocess.Popen[str], ready: Callable[[], bool], act: Callable[[], None]) -> tuple[int, str]:
    """Do something as soon as a process is that far; returns how it ended, and what it said."""
    deadline = time.monotonic() + 240
    while not ready() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    act()
    said, _ = process.communicate(timeout=240)
    return process.returncode, said


def start(words: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_the_ledgers_database_dies_in_the_middle(tmp_path: Path, postgres_database: str, postgres_program: Any) -> None:
    toy = Toy(tmp_path, location=postgres_database).write()
    engine = sa.create_engine(url_of(postgres_database), poolclass=sa.pool.NullPool)

    def far_enough() -> bool:
        with engine.connect() as connection:
            if not sa.inspect(connection).has_table("moves"):
                return False
            return bool(connection.execute(sa.text("SELECT count(*) FROM moves")).scalar_one() >= 3)

    process = start(toy.process("out"))
    with ExitStack() as dead:
        code, said = once(process, far_enough, lambda: dead.enter_context(stopped(postgres_program)))
        assert code == 8, said
        assert said.startswith("error: "), said
        assert "Traceback" not in said
        down = subprocess.run(toy.process("out"), capture_output=True, text=True, timeout=240)
        assert down.returncode == 8, down.stderr
        assert "cannot open the ledger" in down.stderr
    before = toy.moves()
    assert 3 <= len(before) < toy.num_rounds
    toy.require_sound()
    done = subprocess.run(toy.process("out"), capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    toy.require_exact(before)


@pytest.mark.slow
def test_the_tables_database_dies_in_a_scan_and_nothing_is_spent(
    tmp_path: Path, postgres_database: str, postgres_program: Any
) -> None:
    toy = Toy(tmp_path).write()
    engine = sa.create_engine(url_of(postgres_database), poolclass=sa.pool.NullPool)
    rows = pq.read_table(tmp_path / "toy.parquet").to_pylist()[:500]
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE toy (a text, b text, c text)"))
        connection.execute(sa.text("INSERT INTO toy VALUES (:a, :b, :c)"), rows)
    slowly = "SELECT a, b, c FROM toy WHERE pg_sleep(0.01) IS NOT NULL"
    words = toy.words("out")
    words[1:2] = [postgres_database, "--query", slowly]
    scanning = sa.text("SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%SELECT a, b, c FROM%' AND state = :s")

    def far_enough() -> bool:
        with engine.connect() as connection:
            return bool(connection.execute(scanning, {"s": "active"}).scalar_one() > 1)

    process = start([sys.executable, "-m", "equipoise.cli", *words])
    with ExitStack() as dead:
        code, said = once(process, far_enough, lambda: dead.enter_context(stopped(postgres_program)))
    assert code == 4, said
    assert said.startswith("error: "), said
    assert "Traceback" not in said
    account = toy.account()
    assert account is None or account.runs() == []
