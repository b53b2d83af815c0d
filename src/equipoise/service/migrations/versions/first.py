"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "first"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "service_tables",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("schema_file", sa.Text, nullable=False),
        sa.Column("schema", sa.Text, nullable=False),
        sa.Column("epsilon", sa.Float, nullable=False),
        sa.Column("delta", sa.Float, nullable=False),
        sa.Column("analyst_epsilon", sa.Float, nullable=False),
        sa.Column("analyst_delta", sa.Float, nullable=False),
        sa.Column("ledger", sa.Text),
        sa.Column("online", sa.Text),
        sa.Column("frozen", sa.Boolean, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
    )
    op.create_table(
        "service_people",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("table", sa.Text, sa.ForeignKey("service_tables.name")),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("expires", sa.Float, nullable=False),
        sa.Column("revoked", sa.Boolean, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
    )
    op.create_table(
        "service_sessions",
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("person", sa.Text, sa.ForeignKey("service_people.id"), nullable=False),
        sa.Column("csrf", sa.Text, nullable=False),
        sa.Column("expires", sa.Float, nullable=False),
    )
    op.create_table(
        "service_questions",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("person", sa.Text, sa.ForeignKey("service_people.id"), nullable=False, index=True),
        sa.Column("key", sa.Text),
        sa.Column("asks", sa.Text, nullable=False),
        sa.Column("asked", sa.Float, nullable=False),
        sa.Column("answers", sa.Text, nullable=False),
    )
    op.create_table(
        "service_collections",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("table", sa.Text, sa.ForeignKey("service_tables.name"), nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
    )
    op.create_table(
        "service_batches",
        sa.Column("collection", sa.Text, sa.ForeignKey("service_collections.id"), primary_key=True),
        sa.Column("person", sa.Text, sa.ForeignKey("service_people.id"), primary_key=True),
        sa.Column("queries", sa.Text, nullable=False),
        sa.Column("answers", sa.Text),
        sa.Column("submitted", sa.Float, nullable=False),
    )
    op.create_table(
        "service_jobs",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("table", sa.Text, sa.ForeignKey("service_tables.name"), nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False, unique=True),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("step", sa.Text, nullable=False),
        sa.Column("done", sa.Float, nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("starts", sa.Integer, nullable=False),
        sa.Column("shared", sa.Boolean, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("ended", sa.Float),
    )
    op.create_table(
        "service_log",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("table", sa.Text),
        sa.Column("detail", sa.Text, nullable=False),
    )


def downgrade() -> None:
    """Not offered: what was asked and answered is kept."""
    raise NotImplementedError("the first migration cannot be undone; restore a backup instead")
