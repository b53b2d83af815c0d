"""Where questions are answered: one session of the mechanism for each table that is open for them."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from equipoise.analysts import Answer, Session
from equipoise.data.table import Table
from equipoise.errors import CapacityError, QueryError
from equipoise.service import database as db
from equipoise.service.history import History
from equipoise.service.people import Person
from equipoise.service.problems import Conflict
from equipoise.service.registry import Registered
from equipoise.service.tokens import new_id

__all__ = ["Desks", "narrowed", "open_session", "terms_of", "told"]


def open_session(table: Table, registered: Registered) -> Session:
    """The session of a table that is open for questions; charges the ledger the first time only."""
    online = registered.online
    assert online is not None
    return Session.open(narrowed(table, online), run=online["run"], **terms_of(online, registered))


def narrowed(table: Table, asked: Mapping[str, Any]) -> Table:
    """The table, or the columns of it that are asked for."""
    return table if asked["columns"] is None else table.select(asked["columns"])


def terms_of(asked: Mapping[str, Any], registered: Registered) -> dict[str, Any]:
    """What a session and a round are opened with: how to answer, the budgets, the public bounds, and who pays."""
    names = ("mode", "epsilon", "analyst_epsilon", "num_analysts", "queries_each")
    paid = {"analyst_total": registered.analyst_total, "ledger": registered.ledger}
    return {name: asked[name] for name in names} | paid


def told(answer: Answer) -> dict[str, Any]:
    """What an analyst is told of an answer."""
    return {
        "text": answer.text,
        "share": answer.share,
        "count": answer.count,
        "half_width": answer.half_width,
        "source": answer.source,
    }


class Desks:
    """The sessions of this server, each opened when it is first needed."""

    def __init__(
        self, opens: Callable[[Registered], AbstractContextManager[Table]], history: History, *, max_queries: int
    ) -> None:
        self._opens, self._history, self._max_queries = opens, history, max_queries
        self._sessions: dict[str, Session] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def ready(self, registered: Registered) -> Session | None:
        """The session, when it is open already."""
        return self._sessions.get(registered.online["run"]) if registered.online else None

    def session(self, registered: Registered) -> Session:
        """The session of a table.

        Raises:
            Conflict: the table is not open for questions.
        """
        if not registered.answers:
            raise Conflict("this table is not open for questions one by one; the steward opens it")
        found = self.ready(registered)
        if found is not None:
            return found
        assert registered.online is not None
        run = registered.online["run"]
        with self._lock:
            lock = self._locks.setdefault(run, threading.Lock())
        with lock:  # opening reads the table: one thread does it, the others wait
            if run not in self._sessions:
                with self._opens(registered) as table:
                    self._sessions[run] = open_session(table, registered)
            return self._sessions[run]

    def ask(
        self, registered: Registered, person: Person, query: str | None, marginal: list[str] | None, key: str | None
    ) -> dict[str, Any]:
        """Answer a question of an analyst; with a key, always the same answer and never paid twice.

        Raises:
            EquipoiseError: it is refused; unless the message says otherwise, nothing was counted.
        """
        registered.require_open()
        session = self.session(registered)
        if query is not None:
            answers = [session.ask(person.id, query, key=key)]
        else:
            assert marginal is not None
            self._require_small(registered, marginal)
            answers = session.ask_many(person.id, [marginal], key=key)
        found = [told(answer) for answer in answers]
        question = new_id() if key is None else hashlib.sha256(f"{person.id} {key}".encode()).hexdigest()[:16]
        self._history.add(
            {
                "id": question,
                "person": person.id,
                "key": key,
                "asks": json.dumps({"query": query, "marginal": marginal}),
                "asked": db.clock(),
                "answers": json.dumps(found),
            }
        )
        if key is not None:
            self._history.flush()
        return {"id": question, "answers": found, "left": answers[-1].left}

    def _require_small(self, registered: Registered, marginal: list[str]) -> None:
        if len(set(marginal)) != len(marginal):
            raise QueryError("a marginal names each column once")
        cells = 1
        for name in marginal:
            cells *= registered.asked.column(name).size
        if cells > self._max_queries:
            raise CapacityError(f"a marginal has at most {self._max_queries:,} cells here; name fewer columns")

    def close(self, registered: Registered) -> dict[str, Any]:
        """End a table's session; returns its statement, of all that was paid for in it.

        Raises:
            Conflict: the table is not open for questions.
        """
        session = self.session(registered)
        session.close()
        self._sessions.pop(session.run, None)
        return session.statement()
