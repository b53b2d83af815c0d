"""Each analyst's own questions and answers, to look at again. Written behind, many in one transaction.

An answer with a key waits for its line, which shares a write with others that wait: what was told is in the history
after any crash. A free answer without a key does not wait, and a crash may lose the last moments of those. What was
paid for is in the ledger before either is told.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from equipoise.errors import LedgerError
from equipoise.service import database as db

__all__ = ["History"]

logger = logging.getLogger("equipoise.service")

MOST_WAITING = 20_000
"""Lines that may wait to be written; beyond it the oldest are dropped, so that memory stays flat."""

BATCH = 1_000

PAUSE = 0.1
"""Seconds in which lines gather that nobody waits for: one write to disk for all of them."""

RETRIES = (0.1, 0.5, 2.0, 5.0)
"""Seconds between attempts while the database is away."""


class History:
    """Writes lines in a thread of its own."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._waiting: deque[dict[str, Any]] = deque()
        self._added = self._ended = 0  # lines ever added; of those, written, dropped or failed
        self._wanted = 0  # somebody waits for the lines up to here
        self._closing = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._write, name="history", daemon=True)
        self._thread.start()

    def add(self, line: dict[str, Any]) -> None:
        """Have a line written soon."""
        with self._changed:
            if len(self._waiting) >= MOST_WAITING:
                self._waiting.popleft()
                self._ended += 1
            self._waiting.append(line)
            self._added += 1
            if len(self._waiting) == 1:
                self._changed.notify_all()

    def flush(self, seconds: float = 10.0) -> None:
        """Wait until every line added so far is written; no longer than some seconds, as nothing depends on it."""
        with self._changed:
            until = self._wanted = self._added
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._ended >= until, seconds)

    def close(self) -> None:
        """Write what waits, then stop."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(30)

    def _write(self) -> None:
        while lines := self._next():
            if not self._tried(lines):
                logger.warning("some lines of analysts' histories could not be written")
            with self._changed:
                self._ended += len(lines)
                self._changed.notify_all()

    def _next(self) -> list[dict[str, Any]]:
        """The lines to write now; none when it is time to stop."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing)
            self._changed.wait_for(lambda: self._closing or self._wanted > self._ended, PAUSE)
            return [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]

    def _tried(self, lines: list[dict[str, Any]]) -> bool:
        for pause in RETRIES:
            if self._stored(lines):
                return True
            if self._closing:
                return False
            time.sleep(pause)
        return self._stored(lines)

    def _stored(self, lines: list[dict[str, Any]]) -> bool:
        insert = postgresql.insert if self._engine.dialect.name == "postgresql" else sqlite.insert
        try:
            with db.write(self._engine) as connection:  # a question repeated with its key has its line already
                connection.execute(insert(db.questions).on_conflict_do_nothing(), lines)
        except (LedgerError, sa.exc.SQLAlchemyError):
            return False
        return True
