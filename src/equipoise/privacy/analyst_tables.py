"""The ledger's tables for sessions and rounds with many analysts. What they hold is secret, but for hypotheses.

A session is a run of the table's account; its second run, in the analysts' account, holds what protects analysts.
"""

from __future__ import annotations

import sqlalchemy as sa

from equipoise.privacy.store import metadata

__all__ = ["answers", "hypotheses", "places", "sessions", "updates"]

sessions = sa.Table(
    "analyst_sessions",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.id"), primary_key=True),
    sa.Column("secret", sa.Text, nullable=False),  # of the noise of each query
    sa.Column("version", sa.Integer, nullable=False),  # of the hypothesis
    sa.Column("num_paid", sa.Integer, nullable=False),
    sa.Column("waiting", sa.Integer, nullable=False),  # updates that the hypothesis does not have yet
    sa.Column("threshold", sa.Integer, nullable=False),  # secret: how many of them may wait, about
    sa.Column("halted", sa.Boolean, nullable=False),
)
places = sa.Table(
    "analyst_places",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.id"), primary_key=True),
    sa.Column("analyst", sa.Text, primary_key=True),
    sa.Column("leased", sa.Integer, nullable=False),  # queries counted, or set aside for a process that counts them
    sa.Column("paid", sa.Integer, nullable=False),
)
answers = sa.Table(
    "analyst_answers",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.id"), primary_key=True),
    sa.Column("analyst", sa.Text, primary_key=True),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("asked", sa.Text, nullable=False),  # the queries, in a form that equal queries share
    sa.Column("body", sa.Text, nullable=False),
)
updates = sa.Table(
    "analyst_updates",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("analyst", sa.Text, nullable=False),
    sa.Column("query", sa.Text, nullable=False),
    sa.Column("sign", sa.Integer, nullable=False),  # +1: the hypothesis counted too much
)
hypotheses = sa.Table(
    "analyst_hypotheses",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.id"), primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("body", sa.LargeBinary, nullable=False),
)
