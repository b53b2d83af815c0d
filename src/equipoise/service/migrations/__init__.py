"""The steps that bring a service's database up to date; Alembic runs those that are missing."""

from __future__ import annotations

from importlib.resources import as_file, files

import sqlalchemy as sa

__all__ = ["upgrade"]

VERSION_TABLE = "service_version"


def upgrade(engine: sa.Engine, revision: str = "head") -> None:
    """Run the migrations that the database has not had yet, in one transaction."""
    from alembic import command
    from alembic.config import Config

    with as_file(files("equipoise.service.migrations")) as folder, engine.begin() as connection:
        if engine.dialect.name == "postgresql":  # two servers that start at once take turns
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(7310465091)"))
        config = Config()
        config.set_main_option("script_location", str(folder).replace("%", "%%"))
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
