"""A worker process: does one job and ends. Started by the server (`jobs.py`), which need not live as long."""

from __future__ import annotations

import _thread
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from equipoise import folder, pipeline
from equipoise.analysts import answer_round
from equipoise.core import Progress
from equipoise.data.manifest import STATEMENT
from equipoise.data.write import write_bytes
from equipoise.errors import EquipoiseError, LedgerError
from equipoise.pipeline import Steps, no_progress
from equipoise.privacy.analyst_opening import analysts_name, give_up
from equipoise.privacy.ledger import Ledger
from equipoise.releases import is_complete
from equipoise.service import database as db
from equipoise.service.desk import narrowed, terms_of, told
from equipoise.service.jobs import lock_of
from equipoise.service.registry import Registered, Registry
from equipoise.service.settings import Settings

__all__ = ["main"]

BEAT = 0.3


class Reporter:
    """Tells the database how far the job is, and hears from it when the job is cancelled."""

    def __init__(self, engine: sa.Engine, job: str) -> None:
        self._engine, self._job = engine, job
        self._step, self._done = "Opening", 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    @contextmanager
    def steps(self, name: str) -> Iterator[Progress]:
        """The `Steps` of the pipeline."""
        self._step, self._done = name, 0.0

        def progress(done: float, total: float) -> None:
            self._done = done / total if total else 0.0

        yield progress

    def _beat(self) -> None:
        while not self._stop.wait(BEAT):
            with suppress(LedgerError), db.write(self._engine) as connection:
                here = db.jobs.c.id == self._job
                connection.execute(sa.update(db.jobs).where(here).values(step=self._step, done=self._done))
                if connection.execute(sa.select(db.jobs.c.state).where(here)).scalar() == "cancelling":
                    _thread.interrupt_main()
                    return

    def close(self) -> None:
        """Tell nothing more."""
        self._stop.set()
        self._thread.join(10)


class Worker:
    """One job, with what it needs."""

    def __init__(self, settings: Settings, job: str) -> None:
        self._settings, self._engine = settings, db.connect(settings.location)
        self._registry = Registry(self._engine, settings)
        with db.read(self._engine) as connection:
            self._row: Any = connection.execute(sa.select(db.jobs).where(db.jobs.c.id == job)).one()

    @property
    def _folder(self) -> Path:
        return self._settings.releases / str(self._row.id)

    def work(self) -> None:
        """Do the job, or end it."""
        registered = self._registry.get(self._row.table)
        if self._row.state == "cancelling":
            self._give_up(registered)
            return
        if self._row.state != "working":
            return
        reporter = Reporter(self._engine, self._row.id)
        try:
            registered.require_open()
            if self._row.kind == "release":
                self._release(registered, reporter)
            else:
                self._answer(registered, reporter.steps)
            reporter.close()
        except KeyboardInterrupt:
            reporter.close()
            self._give_up(registered)
        except EquipoiseError as error:
            reporter.close()
            self._end("failed", message=str(error))
        except Exception as error:  # its words may quote private data
            reporter.close()
            self._end("failed", message=f"unexpected {type(error).__name__}; nothing is lost: resume it, or cancel it")

    def _end(self, state: str, *, message: str = "") -> None:
        with db.write(self._engine) as connection:
            self._mark(connection, state, message)

    def _mark(self, connection: sa.Connection, state: str, message: str = "") -> None:
        values: dict[str, Any] = {"state": state, "message": message, "ended": db.clock()}
        if state == "done":
            values |= {"step": "Done", "done": 1.0}
        connection.execute(sa.update(db.jobs).where(db.jobs.c.id == self._row.id).values(**values))
        if self._row.kind == "collection" and state in ("done", "cancelled"):
            words = "answered" if state == "done" else "given up"
            which = db.collections.c.id == json.loads(self._row.request)["collection"]
            connection.execute(sa.update(db.collections).where(which).values(state=words))

    def _release(self, registered: Registered, reporter: Reporter) -> None:
        if not is_complete(self._folder):  # else an earlier worker died between writing it and saying so
            asked = json.loads(self._row.request)
            with self._registry.opened(registered) as table:
                request = pipeline.Request(
                    narrowed(table, asked),
                    epsilon=asked["epsilon"],
                    workload=asked["workload"],
                    method=asked["method"],
                    num_rows=asked["rows"],
                    ledger=registered.ledger,
                )
                pipeline.run(request, self._folder, steps=reporter.steps)
        self._end("done")

    def _answer(self, registered: Registered, steps: Steps = no_progress) -> None:
        asked = json.loads(self._row.request)
        chosen = (
            sa.select(db.batches).where(db.batches.c.collection == asked["collection"]).order_by(db.batches.c.person)
        )
        with db.read(self._engine) as connection:
            batches = {row.person: json.loads(row.queries) for row in connection.execute(chosen)}
        with self._registry.opened(registered) as table:
            made = answer_round(
                narrowed(table, asked),
                batches,
                run=asked["collection"],
                steps=steps,
                **terms_of(asked, registered),
            )
        self._folder.mkdir(exist_ok=True)
        write_bytes((json.dumps(made.statement, indent=2) + "\n").encode(), self._folder / STATEMENT)
        with db.write(self._engine) as connection:
            for person, answers in made.answers.items():
                which = (db.batches.c.collection == asked["collection"]) & (db.batches.c.person == person)
                body = json.dumps([told(answer) for answer in answers])
                connection.execute(sa.update(db.batches).where(which).values(answers=body))
            self._mark(connection, "done", made.reason)

    def _give_up(self, registered: Registered) -> None:
        """Free what the job reserved and did not spend; what is paid for and finished is handed over all the same."""
        account = Ledger(registered.ledger).existing(registered.name)
        if self._row.kind == "collection":
            run: str | None = json.loads(self._row.request)["collection"]
            found = None if account is None or run is None else account.run(run)
            if found is not None and found.status == "done":
                self._answer(registered)
                return
        else:
            if is_complete(self._folder):
                self._end("done")
                return
            run = folder.run_of(self._folder) if folder.is_unfinished(self._folder) else None
        if run is not None and account is not None:
            give_up(account, Ledger.sharing(account).existing(analysts_name(registered.name)), run)
        self._end("cancelled")


def main() -> None:
    """Read which job it is from standard input, and do it unless another worker has it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    given = json.load(sys.stdin)
    listed = None if given["sources"] is None else Path(given["sources"])
    settings = Settings(Path(given["root"]), Path(given["state"]), given["database"], listed)
    descriptor = os.open(lock_of(settings, given["job"]), os.O_CREAT | os.O_RDWR, 0o600)
    if folder.lock(descriptor):
        Worker(settings, given["job"]).work()


if __name__ == "__main__":
    main()
