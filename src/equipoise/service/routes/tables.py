"""The steward's tables: registering, budgets, opening for questions, freezing; the audit log."""

from __future__ import annotations

import json
import secrets
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request

from equipoise.errors import EquipoiseError, LedgerError
from equipoise.privacy.ledger import Ledger
from equipoise.service import journal, spending
from equipoise.service.access import Steward
from equipoise.service.desk import open_session
from equipoise.service.models.tables import Event, Files, LogEntry, OnlineRequest, Registration, Spending, TableReply
from equipoise.service.problems import Absent, Conflict, refusals
from equipoise.service.registry import Registered
from equipoise.service.server import Server, server_of

__all__ = ["TableName", "router"]

router = APIRouter(prefix="/v1", tags=["Steward: tables"])

RunId = Annotated[
    str, Path(pattern=r"^[0-9a-f]{1,64}$", examples=["0123456789abcdef"], description="Id of an entry of the ledger.")
]
TableName = Annotated[
    str,
    Path(
        min_length=1,
        max_length=64,
        pattern=r"^[A-Za-z0-9._-]+$",
        examples=["people"],
        description="The table's name, as its schema has it.",
    ),
]


@router.get("/files", operation_id="list_files", responses=refusals())
def list_files(request: Request, person: Steward) -> Files:
    """What could be registered: tables and schemas under the root folder, and the sources that the owner listed."""
    tables, schemas = server_of(request).registry.listed()
    return Files(tables=tables, schemas=schemas)


@router.get("/tables", operation_id="list_tables", responses=refusals())
def list_tables(request: Request, person: Steward) -> list[TableReply]:
    """Every registered table."""
    server = server_of(request)
    return [_reply(server, registered) for registered in server.registry.all()]


@router.post("/tables", operation_id="register_table", status_code=201, responses=refusals(400, 409, 413, 422))
def register_table(request: Request, person: Steward, body: Registration) -> TableReply:
    """Register a table with its total budgets. Nothing is uploaded and nothing is spent."""
    server = server_of(request)
    return _reply(server, server.registry.register(person, **body.model_dump()))


@router.get("/tables/{table}", operation_id="show_table", responses=refusals(404, 422))
def show_table(request: Request, person: Steward, table: TableName) -> TableReply:
    """A registered table."""
    server = server_of(request)
    return _reply(server, server.registry.get(table))


@router.post("/tables/{table}/online", operation_id="open_for_questions", responses=refusals(400, 404, 409, 413, 422))
def open_for_questions(request: Request, person: Steward, table: TableName, body: OnlineRequest) -> TableReply:
    """Open a table for questions one by one. The whole cost is taken from the budgets now, and once."""
    server = server_of(request)
    registered = server.registry.get(table)
    registered.require_open()
    before, wanted = registered.online or {}, body.model_dump()
    if before.get("plan") is not None:
        if wanted != {name: before[name] for name in wanted}:
            raise Conflict("this table is open for questions already, on other terms; close it first")
        return _reply(server, registered)  # the same request once more: its reply was lost
    # The id is kept before the ledger is charged: after a crash in between, repeating this finds the same session.
    online: dict[str, Any] = {**wanted, "run": before.get("run") or secrets.token_hex(16), "plan": None}
    server.registry.change(person, table, "prepare questions", online=json.dumps(online))
    try:
        with server.registry.opened(registered) as found:
            session = open_session(found, replace(registered, online=online))
    except LedgerError:
        raise  # it may have been charged before the connection broke: the id is kept
    except EquipoiseError:
        server.registry.change(person, table, "questions refused", online=None)
        raise
    plan = session.plan
    facts = ("mode", "reason", "half_width", "paid_half_width", "protects_analysts")
    online["plan"] = {name: getattr(plan, name) for name in facts}
    return _reply(server, server.registry.change(person, table, "open for questions", online=json.dumps(online)))


@router.post("/tables/{table}/online/close", operation_id="close_for_questions", responses=refusals(404, 409, 422))
def close_for_questions(request: Request, person: Steward, table: TableName) -> TableReply:
    """End a table's questions for everybody; what was not spent is free again, and it may be opened anew.

    The statement of what was answered is kept beside the table's releases.
    """
    server = server_of(request)
    registered = server.registry.get(table)
    statement = server.desks.close(registered)
    assert registered.online is not None
    asked = {name: registered.online[name] for name in OnlineRequest.model_fields}
    server.jobs.keep(person.id, table=table, run=registered.online["run"], request=asked, statement=statement)
    return _reply(server, server.registry.change(person, table, "close for questions", online=None))


@router.post("/tables/{table}/freeze", operation_id="freeze_table", responses=refusals(404, 422))
def freeze_table(request: Request, person: Steward, table: TableName) -> TableReply:
    """Stop everything that would ask or release more from a table. What exists stays to be downloaded."""
    server = server_of(request)
    server.registry.get(table)
    return _reply(server, server.registry.change(person, table, "freeze", frozen=True))


@router.post("/tables/{table}/unfreeze", operation_id="unfreeze_table", responses=refusals(404, 422))
def unfreeze_table(request: Request, person: Steward, table: TableName) -> TableReply:
    """Let a frozen table be asked and released again."""
    server = server_of(request)
    server.registry.get(table)
    return _reply(server, server.registry.change(person, table, "unfreeze", frozen=False))


@router.get("/tables/{table}/spending", operation_id="show_spending", responses=refusals(404, 409, 422))
def show_spending(request: Request, person: Steward, table: TableName) -> Spending:
    """What was spent: in total, by run, by analyst."""
    server = server_of(request)
    registered = server.registry.get(table)
    budget, account = server.registry.budget(registered), Ledger(registered.ledger).existing(table)
    second = server.registry.analyst_budget(registered)
    used = {} if account is None else account.analysts()
    return Spending(
        budget=spending.budget_reply(budget),
        analyst_budget=None if second is None else spending.budget_reply(second),
        runs=[] if account is None else spending.runs(account),
        analysts=[spending.analyst(found, used) for found in server.people.of_table(table)],
        history=[] if account is None else spending.history(account, budget),
    )


@router.get("/tables/{table}/spending/{run}", operation_id="show_events", responses=refusals(404, 422))
def show_events(request: Request, person: Steward, table: TableName, run: RunId) -> list[Event]:
    """What an entry of the ledger was charged for."""
    registered = server_of(request).registry.get(table)
    account = Ledger(registered.ledger).existing(table)
    if account is None:
        raise Absent("there is no such entry")
    return spending.events(account, run)


@router.get("/tables/{table}/statement", operation_id="download_statement", responses=refusals(404, 409, 422))
def download_statement(request: Request, person: Steward, table: TableName) -> dict[str, Any]:
    """The guarantee of a table's questions, machine-readable."""
    server = server_of(request)
    registered = server.registry.get(table)
    if registered.online is None:
        raise Absent("this table is not open for questions: it has no statement of them")
    return server.desks.session(registered).statement()


@router.get("/log", operation_id="read_log", responses=refusals(422))
def read_log(
    request: Request,
    person: Steward,
    table: Annotated[
        str | None,
        Query(max_length=64, pattern=r"^[A-Za-z0-9._-]*$", examples=["people"], description="Of this table only."),
    ] = None,
    before: Annotated[
        int | None, Query(ge=0, le=2**31 - 1, examples=[201], description="Lines before the one with this id.")
    ] = None,
) -> list[LogEntry]:
    """The audit log, newest first, two hundred lines at a time."""
    server = server_of(request)
    names = server.people.names()
    return [
        LogEntry(
            id=row.id,
            at=journal.when(row.at),
            actor=row.actor,
            name=names.get(row.actor),
            action=row.action,
            table=row.table,
            detail=row.detail,
            about=names.get(row.detail),
        )
        for row in journal.entries(server.engine, table=table or None, before=before)
    ]


def _reply(server: Server, registered: Registered) -> TableReply:
    return TableReply(
        name=registered.name,
        source=registered.source,
        schema_file=registered.schema_file,
        frozen=registered.frozen,
        created=journal.when(registered.created),
        budget=spending.budget_reply(server.registry.budget(registered)),
        analyst_epsilon=registered.analyst_total[0],
        analyst_delta=registered.analyst_total[1],
        online=spending.online_reply(registered.online),
        num_analysts=len(server.people.of_table(registered.name)),
    )
