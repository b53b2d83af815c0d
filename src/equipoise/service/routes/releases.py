"""Releases made in workers: starting, watching, cancelling, resuming, downloading."""

from __future__ import annotations

import json
from pathlib import Path as FilePath
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Request
from fastapi.responses import FileResponse
from sqlalchemy.exc import IntegrityError

from equipoise import pipeline
from equipoise.privacy.ledger import Ledger
from equipoise.service import database as db
from equipoise.service.access import Analyst, Steward
from equipoise.service.jobs import FileName
from equipoise.service.journal import when
from equipoise.service.models.releases import Job, ReleaseRequest
from equipoise.service.problems import Absent, refusals
from equipoise.service.routes.tables import TableName
from equipoise.service.server import Server, server_of

__all__ = ["Key", "job_reply", "router"]

router = APIRouter(prefix="/v1", tags=["Releases"])

JobId = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$", examples=["0123456789abcdef"], description="Id of a job.")]
Name = Annotated[FileName, Path(examples=["statement.json"], description="A file, as `files` of the job lists it.")]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=100,
        pattern=r"^[\x21-\x7e]+$",
        examples=["5f0c1e9a"],
        description="Repeat a request with the same key and it is answered again, never done or paid for again.",
    ),
]
DOWNLOAD: dict[int | str, dict[str, Any]] = {
    200: {"description": "The file.", "content": {"application/octet-stream": {}}}
}


@router.post(
    "/tables/{table}/releases",
    operation_id="start_release",
    status_code=202,
    responses=refusals(400, 404, 409, 413, 422),
)
def start_release(request: Request, person: Steward, table: TableName, body: ReleaseRequest, key: Key = None) -> Job:
    """Make a release in a worker process. What would be refused is refused here, before anything is spent."""
    server = server_of(request)
    registered = server.registry.get(table)
    asked = body.model_dump(exclude={"shared"})
    if not server.jobs.has(person.id, key):
        registered.require_open()
        with server.registry.opened(registered) as found:
            chosen = found if body.columns is None else found.select(body.columns)
            wanted = pipeline.Request(chosen, epsilon=body.epsilon, workload=body.workload, method=body.method)
            prepared = pipeline.prepare(wanted)
        account = Ledger(registered.ledger).existing(table)
        if account is not None:
            account.check(prepared.plan.reserve)
    for last in (False, True):
        try:
            with db.write(server.engine) as connection:
                job = server.jobs.add(
                    connection, actor=person.id, table=table, kind="release", key=key, request=asked, shared=body.shared
                )
            break
        except IntegrityError:  # another copy of this request was faster: its job is there now
            if last:
                raise
    return job_reply(server, server.jobs.get(job))


@router.get("/tables/{table}/releases", operation_id="list_releases", responses=refusals(404, 422))
def list_releases(request: Request, person: Steward, table: TableName) -> list[Job]:
    """Every job of a table, newest first."""
    server = server_of(request)
    server.registry.get(table)
    return [job_reply(server, row) for row in server.jobs.of_table(table)]


@router.get("/releases/{job}", operation_id="show_release", responses=refusals(404, 422))
def show_release(request: Request, person: Steward, job: JobId) -> Job:
    """How far a job is."""
    server = server_of(request)
    return job_reply(server, server.jobs.get(job))


@router.post("/releases/{job}/cancel", operation_id="cancel_release", responses=refusals(404, 409, 422))
def cancel_release(request: Request, person: Steward, job: JobId) -> Job:
    """Stop a job. What it has spent stays spent; the rest of what it reserved is free again."""
    server = server_of(request)
    server.jobs.cancel(person.id, job)
    return job_reply(server, server.jobs.get(job))


@router.post("/releases/{job}/resume", operation_id="resume_release", responses=refusals(404, 409, 422))
def resume_release(request: Request, person: Steward, job: JobId) -> Job:
    """Try a failed job again; what it paid for is not paid for again."""
    server = server_of(request)
    server.registry.get(server.jobs.get(job).table).require_open()
    server.jobs.resume(person.id, job)
    return job_reply(server, server.jobs.get(job))


@router.get(
    "/releases/{job}/{name}",
    operation_id="download_release",
    response_class=FileResponse,
    responses={**refusals(404, 422), **DOWNLOAD},
)
def download_release(request: Request, person: Steward, job: JobId, name: Name) -> FileResponse:
    """A file of a finished release."""
    return _file(server_of(request).jobs.file(job, name))


@router.get("/shared", operation_id="list_shared", responses=refusals())
def list_shared(request: Request, person: Analyst) -> list[Job]:
    """Releases of your table that the steward shares with its analysts."""
    server = server_of(request)
    return [job_reply(server, row) for row in server.jobs.of_table(str(person.table), shared=True)]


@router.get(
    "/shared/{job}/{name}",
    operation_id="download_shared",
    response_class=FileResponse,
    responses={**refusals(404, 422), **DOWNLOAD},
)
def download_shared(request: Request, person: Analyst, job: JobId, name: Name) -> FileResponse:
    """A file of a release that is shared with you."""
    server = server_of(request)
    row = server.jobs.get(job, table=person.table)
    if not row.shared or row.kind != "release":
        raise Absent("there is no such job")
    return _file(server.jobs.file(job, name))


def _file(path: FilePath) -> FileResponse:
    # Always saved, never shown: no file of a release runs as a page of this server.
    return FileResponse(path, filename=path.name, media_type="application/octet-stream")


def job_reply(server: Server, row: Any) -> Job:
    """A job in the words of the API."""
    return Job(
        id=row.id,
        table=row.table,
        kind=row.kind,
        state=row.state,
        step=row.step,
        progress=row.done,
        message=row.message,
        shared=bool(row.shared),
        created=when(row.created),
        ended=None if row.ended is None else when(row.ended),
        request=json.loads(row.request),
        files=server.jobs.files(row.id),
    )
