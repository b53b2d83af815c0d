from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from tests import postgres

from equipoise.service import database as db
from equipoise.service.migrations import VERSION_TABLE


def test_migrations_make_exactly_the_tables_that_the_code_knows(ledger_location: str) -> None:
    engine = db.connect(ledger_location)
    with engine.connect() as connection:
        options = {"version_table": VERSION_TABLE, "compare_type": True}
        assert compare_metadata(MigrationContext.configure(connection, opts=options), db.metadata) == []
    engine.dispose()


def test_opening_twice_changes_nothing(ledger_location: str) -> None:
    for _ in range(2):
        engine = db.connect(ledger_location)
        with db.read(engine) as connection:
            assert connection.execute(sa.text(f"SELECT version_num FROM {VERSION_TABLE}")).scalars().all() == ["first"]
        engine.dispose()


def test_the_database_of_the_tests_outlives_other_sessions_and_crashes(
    postgres_database: str, postgres_program: Any, tmp_path: Path
) -> None:
    (tmp_path / "test_other.py").write_text("def test_it(tmp_path):\n    assert tmp_path.exists()\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path]
    assert subprocess.run(command, check=False).returncode == 0
    engine = db.connect(postgres_database)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text("CHECKPOINT"))  # opens its files by their whole path
    postgres.restart(postgres_program)
    with db.read(engine) as connection:
        assert connection.execute(sa.text(f"SELECT version_num FROM {VERSION_TABLE}")).scalars().all() == ["first"]
    engine.dispose()
