"""The parts of a running server, in one place."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from equipoise.errors import OutputError, SettingError
from equipoise.service import database as db
from equipoise.service import journal
from equipoise.service.desk import Desks
from equipoise.service.fetched import sweep
from equipoise.service.history import History
from equipoise.service.jobs import Jobs
from equipoise.service.people import People
from equipoise.service.rates import Rates
from equipoise.service.registry import Registry
from equipoise.service.settings import Settings

if TYPE_CHECKING:
    import sqlalchemy as sa
    from fastapi import Request

__all__ = ["Server", "server_of", "start"]


@dataclass(frozen=True)
class Server:
    """Everything that routes use."""

    settings: Settings
    engine: sa.Engine
    people: People
    registry: Registry
    history: History
    desks: Desks
    jobs: Jobs
    rates: Rates
    failures: Rates
    held: int

    def close(self) -> None:
        """Stop what runs; workers go on, and the next server finds them."""
        self.jobs.close()
        self.history.close()
        self.engine.dispose()
        os.close(self.held)

    def new_steward(self, name: str, *, days: float) -> str:
        """A steward's token, for whoever can start the server."""
        with db.write(self.engine) as connection:
            person, token = self.people.add(connection, name, role="steward", table=None, days=days)
            journal.note(connection, journal.SERVER, "new steward", detail=person.id)
        return str(token)


def start(settings: Settings) -> Server:
    """Open the database, make the folders, and take up what an earlier server left.

    Raises:
        SettingError: the root is not a folder, or the list of sources is not right.
        OutputError: another server uses the same state folder.
        LedgerError: the database cannot be opened.
    """
    if not settings.root.is_dir():
        raise SettingError(f"--root {settings.root}: there is no such folder; it is where the tables are")
    held = _hold(settings.state)
    try:
        engine = db.connect(settings.location)
        registry = Registry(engine, settings)
    except BaseException:
        os.close(held)
        raise
    sweep(settings.fetched)
    history = History(engine)
    return Server(
        settings,
        engine,
        People(engine),
        registry,
        history,
        Desks(registry.opened, history, max_queries=settings.max_queries),
        Jobs(engine, settings),
        Rates(rate=settings.rate, burst=settings.burst),
        Rates(rate=settings.sign_ins / 60, burst=settings.sign_ins),
        held,
    )


def _hold(state: Path) -> int:
    """Keep every other server out of the state folder, for as long as this process lives."""
    from equipoise.folder import lock

    try:
        state.mkdir(parents=True, exist_ok=True)
        (state / "releases").mkdir(exist_ok=True)
        if sys.platform != "win32":
            state.chmod(0o700)
        descriptor = os.open(state / "server.lock", os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise OutputError(f"cannot write to {state}: {error.strerror}; choose another folder with --state") from error
    if not lock(descriptor):
        os.close(descriptor)
        raise OutputError(f"another server is at work in {state}; stop it, or choose another folder with --state")
    return descriptor


def server_of(request: Request) -> Server:
    """The server that a request came to."""
    return cast(Server, request.app.state.server)
