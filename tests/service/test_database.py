from __future__ import annotations

import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

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
