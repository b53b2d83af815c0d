"""The audit log: what stewards and the server did, in order; kept for ever, for stewards only."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from equipoise.service import database as db

__all__ = ["SERVER", "entries", "note", "when"]

SERVER = "server"
"""The actor of what the server did by itself."""


def note(connection: sa.Connection, actor: str, action: str, *, table: str | None = None, detail: str = "") -> None:
    """Write a line, in the transaction of what it is about."""
    values = {"at": db.clock(), "actor": actor, "action": action, "table": table, "detail": detail}
    connection.execute(sa.insert(db.log).values(**values))


def entries(engine: sa.Engine, *, table: str | None = None, before: int | None = None, most: int = 200) -> list[Any]:
    """The last lines, newest first."""
    chosen = sa.select(db.log).order_by(db.log.c.id.desc()).limit(most)
    if table is not None:
        chosen = chosen.where(db.log.c.table == table)
    if before is not None:
        chosen = chosen.where(db.log.c.id < before)
    with db.read(engine) as connection:
        return list(connection.execute(chosen))


def when(seconds: float) -> datetime:
    """A time of the database as one with its zone."""
    return datetime.fromtimestamp(seconds, UTC)
