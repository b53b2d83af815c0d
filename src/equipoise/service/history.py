"""Each analyst's own questions and answers, to look at again. Written behind: an answer does not wait for it.

A crash may lose the last moments of it. Nothing depends on it: what was paid for, and every answer with a key, is in
the ledger before it is told.
"""

from __future__ import annotations

import logging
import queue
import threading
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
"""Seconds in which lines gather: one write to disk for all of them."""


class History:
    """Writes lines in a thread of its own, many in one transaction."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._waiting: queue.Queue[dict[str, Any] | None] = queue.Queue(MOST_WAITING)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._write, name="history", daemon=True)
        self._thread.start()

    def add(self, line: dict[str, Any]) -> None:
        """Have a line written soon."""
        while True:
            try:
                self._waiting.put_nowait(line)
                return
            except queue.Full:
                self._waiting.get_nowait()

    def close(self) -> None:
        """Write what waits, then stop."""
        self._closing.set()
        self._waiting.put(None)
        self._thread.join(30)

    def _write(self) -> None:
        ended = False
        while not ended:
            lines = [self._waiting.get()]
            self._closing.wait(PAUSE)
            while len(lines) < BATCH:
                try:
                    lines.append(self._waiting.get_nowait())
                except queue.Empty:
                    break
            ended = None in lines
            try:
                self._store([line for line in lines if line is not None])
            except LedgerError:
                logger.warning("some lines of analysts' histories could not be written")

    def _store(self, lines: list[dict[str, Any]]) -> None:
        if not lines:
            return
        insert = postgresql.insert if self._engine.dialect.name == "postgresql" else sqlite.insert
        with db.write(self._engine) as connection:  # a question repeated with its key has its line already
            connection.execute(insert(db.questions).on_conflict_do_nothing(), lines)
