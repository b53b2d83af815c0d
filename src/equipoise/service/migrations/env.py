"""Run by Alembic: hands it the connection that `upgrade` opened."""

from __future__ import annotations

from alembic import context

from equipoise.service.database import metadata
from equipoise.service.migrations import VERSION_TABLE

__all__ = ["run"]


def run() -> None:
    """Run the migrations on the connection that is given."""
    context.configure(
        connection=context.config.attributes["connection"], target_metadata=metadata, version_table=VERSION_TABLE
    )
    with context.begin_transaction():
        context.run_migrations()


if hasattr(context, "config"):  # only while Alembic runs this file
    run()
