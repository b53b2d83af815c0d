"""Work that takes long: kept in the database, done by worker processes, taken up again after any crash.

A worker holds a lock on a file of its job for as long as it lives. So a server that starts anew knows which jobs still
have a worker, and gives the others a new one; the ledger sees to it that nothing is paid for twice.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import sqlalchemy as sa

from equipoise import folder
from equipoise.data.manifest import STATEMENT
from equipoise.data.write import write_bytes
from equipoise.errors import EquipoiseError
from equipoise.releases import is_complete
from equipoise.service import database as db
from equipoise.service import journal
from equipoise.service.problems import Absent, Conflict
from equipoise.service.settings import Settings
from equipoise.service.tokens import new_id

__all__ = ["FILES", "FileName", "Jobs", "lock_of"]

logger = logging.getLogger("equipoise.service")

FileName = Literal[
    "synthetic.csv",
    "synthetic.parquet",
    "synthetic.libsvm",
    "statement.json",
    "report.html",
    "moves.parquet",
    "unbiased.parquet",
    "model.npz",
    "schema.json",
    "workload.json",
    "asked.json",
]
"""What a release folder may hold; nothing else is ever sent."""

FILES: tuple[str, ...] = get_args(FileName)

TICK = 0.25
MOST_PAUSE = 4.0
"""Seconds between two looks: when all is well, and while the database is away."""

MOST_STARTS = 5
"""A worker that dies this often is not started again by itself."""


def lock_of(settings: Settings, job: str) -> Path:
    """The file that a job's worker holds."""
    return settings.releases / f"{job}.lock"


def is_alive(settings: Settings, job: str) -> bool:
    """Whether some worker has the job in hand."""
    descriptor = os.open(lock_of(settings, job), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        return not folder.lock(descriptor)
    finally:
        os.close(descriptor)


class Jobs:
    """The jobs of a server, and the thread that sees to them."""

    def __init__(self, engine: sa.Engine, settings: Settings) -> None:
        self._engine, self._settings = engine, settings
        self._workers: dict[str, subprocess.Popen[bytes]] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="jobs", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop watching; workers finish by themselves."""
        self._stop.set()
        self._thread.join(30)
        for worker in self._workers.values():
            if worker.poll() is None:
                worker.returncode = 0  # no longer ours to wait for: the next server knows it by its lock

    def add(
        self,
        connection: sa.Connection,
        *,
        actor: str,
        table: str,
        kind: str,
        key: str | None,
        request: Mapping[str, Any],
        shared: bool = False,
    ) -> str:
        """Put a job in the queue; with the key of an earlier one, that one.

        Raises:
            Conflict: the key was used for another request.
        """
        job = new_id()
        unique, body = f"{actor} {key or job}", json.dumps(request, sort_keys=True)
        found = connection.execute(sa.select(db.jobs).where(db.jobs.c.key == unique)).one_or_none()
        if found is not None:
            if (found.table, found.kind, found.request) != (table, kind, body):
                raise Conflict("this Idempotency-Key was used for another request; choose a new one")
            return str(found.id)
        values = {"id": job, "table": table, "kind": kind, "key": unique, "request": body, "state": "waiting"}
        rest = {"step": "", "done": 0.0, "message": "", "starts": 0, "shared": shared, "created": db.clock()}
        connection.execute(sa.insert(db.jobs).values(**values, **rest))
        # A collection is known by its own id: whoever reads the log saw it when the collection was opened.
        action, about = ("close collection", request["collection"]) if kind == "collection" else (f"start {kind}", job)
        journal.note(connection, actor, action, table=table, detail=about)
        return job

    def keep(
        self, actor: str, *, table: str, run: str, request: Mapping[str, Any], statement: Mapping[str, Any]
    ) -> None:
        """Keep the statement of a session that has ended, to be downloaded like a release's. Once more changes nothing.

        The job's id is the beginning of the session's, so that a repeated request finds it.
        """
        job, now = run[:16], db.clock()
        target = self._settings.releases / job
        target.mkdir(exist_ok=True)
        write_bytes((json.dumps(statement, indent=2) + "\n").encode(), target / STATEMENT)
        values = {"id": job, "table": table, "kind": "questions", "key": f"{actor} {run}", "state": "done"}
        rest = {"step": "Done", "done": 1.0, "message": "", "starts": 0, "shared": False, "created": now, "ended": now}
        with db.write(self._engine) as connection:
            if connection.execute(sa.select(db.jobs.c.id).where(db.jobs.c.id == job)).one_or_none() is None:
                body = json.dumps(request, sort_keys=True)
                connection.execute(sa.insert(db.jobs).values(**values, **rest, request=body))

    def has(self, actor: str, key: str | None) -> bool:
        """Whether somebody has used a key already."""
        chosen = sa.select(sa.func.count()).where(db.jobs.c.key == f"{actor} {key}")
        with db.read(self._engine) as connection:
            return key is not None and bool(connection.execute(chosen).scalar_one())

    def get(self, job: str, *, table: str | None = None) -> Any:
        """A job's row.

        Raises:
            Absent: there is none of that id (of that table).
        """
        with db.read(self._engine) as connection:
            row = connection.execute(sa.select(db.jobs).where(db.jobs.c.id == job)).one_or_none()
        if row is None or (table is not None and row.table != table):
            raise Absent("there is no such job")
        return row

    def of_table(self, table: str, *, shared: bool = False) -> list[Any]:
        """The jobs of a table, newest first; with `shared`, the finished releases that its analysts may see."""
        chosen = sa.select(db.jobs).where(db.jobs.c.table == table).order_by(db.jobs.c.created.desc())
        if shared:
            chosen = chosen.where(db.jobs.c.shared, db.jobs.c.state == "done", db.jobs.c.kind == "release")
        with db.read(self._engine) as connection:
            return list(connection.execute(chosen))

    def cancel(self, actor: str, job: str) -> None:
        """Have a job stopped; what it has spent stays spent, the rest of its reservation is freed."""
        self._move(actor, job, "cancel", ("waiting", "working", "failed"), {"state": "cancelling"})

    def resume(self, actor: str, job: str) -> None:
        """Have a failed job tried again; what it paid for is not paid for again."""
        values = {"state": "waiting", "starts": 0, "message": "", "ended": None}
        self._move(actor, job, "resume", ("failed",), values)

    def _move(self, actor: str, job: str, action: str, states: tuple[str, ...], values: dict[str, Any]) -> None:
        row = self.get(job)
        chosen = (db.jobs.c.id == job) & db.jobs.c.state.in_(states)
        with db.write(self._engine) as connection:
            if connection.execute(sa.update(db.jobs).where(chosen).values(**values)).rowcount == 0:
                raise Conflict(f"this job is {self.get(job).state}: it is too late to {action} it")
            journal.note(connection, actor, f"{action} {row.kind}", table=row.table, detail=job)

    def worker(self, job: str) -> int | None:
        """The process that this server has given a job to, while it runs."""
        found = self._workers.get(job)
        return found.pid if found is not None and found.poll() is None else None

    def files(self, job: str) -> list[str]:
        """The files of a finished release."""
        target = self._settings.releases / job
        return [name for name in FILES if (target / name).is_file()] if is_complete(target) else []

    def file(self, job: str, name: str) -> Path:
        """A file of a finished release.

        Raises:
            Absent: the release is not finished, or has no such file.
        """
        if name not in self.files(job):
            raise Absent("there is no such file")
        return self._settings.releases / job / name

    def _watch(self) -> None:
        pause = TICK
        while not self._stop.wait(pause):
            try:
                self._tick()
                pause = TICK
                continue
            except EquipoiseError as error:
                logger.warning("jobs: %s", error)
            except Exception as error:  # the thread must outlive a full disk; the message may quote what it should not
                logger.error("jobs: unexpected %s", type(error).__name__)
            pause = min(2 * pause, MOST_PAUSE)

    def _tick(self) -> None:
        for job, worker in list(self._workers.items()):
            if worker.poll() is not None:
                del self._workers[job]
        unfinished = db.jobs.c.state.in_(("waiting", "working", "cancelling"))
        with db.read(self._engine) as connection:
            rows = list(connection.execute(sa.select(db.jobs).where(unfinished).order_by(db.jobs.c.created)))
        for row in rows:
            if row.id in self._workers or is_alive(self._settings, row.id):
                continue
            if len(self._workers) < self._settings.workers:
                self._start(row)

    def _start(self, row: Any) -> None:
        """Give a job a worker: a new job, one whose worker died, or one to be cancelled."""
        values: dict[str, Any] = {"starts": row.starts + 1}
        if row.state != "cancelling":
            values["state"] = "working"
            if row.starts >= MOST_STARTS:
                message = f"its worker stopped {MOST_STARTS} times; look at the machine's memory, then resume it"
                values = {"state": "failed", "message": message, "ended": db.clock()}
        with db.write(self._engine) as connection:
            same = (db.jobs.c.id == row.id) & (db.jobs.c.state == row.state)
            if not connection.execute(sa.update(db.jobs).where(same).values(**values)).rowcount:
                return
        if values.get("state") == "failed":
            return
        # The database's address may hold a password: it goes through a pipe, not on the command line.
        worker = subprocess.Popen(
            [sys.executable, "-m", "equipoise.service.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt of the server is not one of the worker
        )
        assert worker.stdin is not None
        told = {
            "job": row.id,
            "root": str(self._settings.root.resolve()),
            "state": str(self._settings.state.resolve()),
            "database": self._settings.database,
            "sources": None if self._settings.sources is None else str(self._settings.sources.resolve()),
        }
        with worker.stdin as pipe:
            pipe.write(json.dumps(told).encode())
        self._workers[row.id] = worker
