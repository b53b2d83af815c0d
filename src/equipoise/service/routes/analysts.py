"""The steward's analysts: inviting, renewing and revoking tokens."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request

from equipoise.service import database as db
from equipoise.service import journal, spending
from equipoise.service.access import Steward
from equipoise.service.models.analysts import Analyst, Invitation, Invited, Renewal
from equipoise.service.problems import Conflict, refusals
from equipoise.service.routes.tables import TableName
from equipoise.service.server import server_of

__all__ = ["router"]

router = APIRouter(prefix="/v1/tables/{table}/analysts", tags=["Steward: analysts"])

AnalystId = Annotated[
    str, Path(pattern=r"^[0-9a-f]{16}$", examples=["0123456789abcdef"], description="Id of an analyst of the table.")
]


@router.get("", operation_id="list_analysts", responses=refusals(404, 422))
def list_analysts(request: Request, person: Steward, table: TableName) -> list[Analyst]:
    """The analysts of a table and what they have used; never what they asked."""
    server = server_of(request)
    used = server.registry.used(server.registry.get(table))
    return [spending.analyst(found, used) for found in server.people.of_table(table)]


@router.post("", operation_id="invite_analyst", status_code=201, responses=refusals(400, 404, 409, 413, 422))
def invite_analyst(request: Request, person: Steward, table: TableName, body: Invitation) -> Invited:
    """Invite an analyst. The token in the reply is shown once."""
    server = server_of(request)
    registered = server.registry.get(table)
    if registered.online is not None and len(server.people.of_table(table)) >= registered.online["num_analysts"]:
        raise Conflict(f"all {registered.online['num_analysts']} places of this table are taken")
    with db.write(server.engine) as connection:
        made, token = server.people.add(connection, body.name, role="analyst", table=table, days=body.days)
        journal.note(connection, person.id, "invite", table=table, detail=made.id)
    return Invited(id=made.id, token=str(token), expires=journal.when(made.expires))


@router.post("/{analyst}/renew", operation_id="renew_analyst", responses=refusals(400, 404, 413, 422))
def renew_analyst(request: Request, person: Steward, table: TableName, analyst: AnalystId, body: Renewal) -> Invited:
    """A new token for an analyst; the old one stops at once. Their allowance stays what is left of it."""
    server = server_of(request)
    server.people.get(analyst, table=table)
    with db.write(server.engine) as connection:
        token = server.people.renew(connection, analyst, days=body.days)
        journal.note(connection, person.id, "renew", table=table, detail=analyst)
    server.people.forget(analyst)
    return Invited(id=analyst, token=str(token), expires=journal.when(server.people.get(analyst, table=table).expires))


@router.post("/{analyst}/revoke", operation_id="revoke_analyst", status_code=204, responses=refusals(404, 422))
def revoke_analyst(request: Request, person: Steward, table: TableName, analyst: AnalystId) -> None:
    """Make an analyst's token useless, at once."""
    server = server_of(request)
    server.people.get(analyst, table=table)
    with db.write(server.engine) as connection:
        server.people.revoke(connection, analyst)
        journal.note(connection, person.id, "revoke", table=table, detail=analyst)
    server.people.forget(analyst)
