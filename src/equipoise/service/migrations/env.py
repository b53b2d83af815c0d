"""Run by Alembic: hands it the connection that `upgrade` opened."""

from __future__ import annotations

from alembic import context

from equipoise.service.database import metadata
from equipoise.service.migrations import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    include_name=lambda name, kind, parents: kind != "table" or str(name).startswith("service_"),
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
