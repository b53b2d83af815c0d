"""Collections: the steward calls for batches, analysts hand them in, all are answered at once."""

from __future__ import annotations

import json
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import APIRouter, Path, Request

from equipoise.errors import CapacityError, QueryError
from equipoise.queries.text import describe, parse
from equipoise.service import database as db
from equipoise.service import journal
from equipoise.service.access import Analyst, Anyone, Steward
from equipoise.service.models.collections import BatchReply, BatchRequest, CollectionReply, CollectionRequest
from equipoise.service.people import Person
from equipoise.service.problems import Absent, Conflict, refusals
from equipoise.service.registry import Registered
from equipoise.service.routes.tables import TableName
from equipoise.service.server import Server, server_of
from equipoise.service.tokens import new_id

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["Collections of batches"])

CollectionId = Annotated[
    str, Path(pattern=r"^[0-9a-f]{16}$", examples=["0123456789abcdef"], description="Id of a collection.")
]


@router.post(
    "/tables/{table}/collections",
    operation_id="open_collection",
    status_code=201,
    responses=refusals(400, 404, 409, 413, 422),
)
def open_collection(request: Request, person: Steward, table: TableName, body: CollectionRequest) -> CollectionReply:
    """Call for batches. Nothing is spent until the collection is closed."""
    server = server_of(request)
    registered = server.registry.get(table)
    registered.require_open()
    if body.columns is not None:
        registered.schema.select(body.columns)  # unknown names are refused here
    values = {"id": new_id(), "table": table, "request": json.dumps(body.model_dump()), "state": "open"}
    with db.write(server.engine) as connection:
        connection.execute(sa.insert(db.collections).values(**values, created=db.clock()))
        journal.note(connection, person.id, "open collection", table=table, detail=values["id"])
    return _reply(_row(server, values["id"]), person)


@router.get("/tables/{table}/collections", operation_id="list_collections", responses=refusals(403, 404, 422))
def list_collections(request: Request, person: Anyone, table: TableName) -> list[CollectionReply]:
    """The collections of a table, newest first. For the steward and the table's analysts."""
    server = server_of(request)
    if person.role == "analyst" and person.table != table:
        raise Absent("there is no such table")
    server.registry.get(table)
    chosen = sa.select(db.collections).where(db.collections.c.table == table)
    with db.read(server.engine) as connection:
        rows = list(connection.execute(chosen.order_by(db.collections.c.created.desc())))
    return [_reply(row, person) for row in rows]


@router.post("/collections/{collection}/close", operation_id="close_collection", responses=refusals(404, 409, 422))
def close_collection(request: Request, person: Steward, collection: CollectionId) -> CollectionReply:
    """Take no more batches and answer all of them, in a worker. Asked again, it shows the same job."""
    server = server_of(request)
    row = _row(server, collection)
    if row.state != "open":
        return _reply(row, person)
    server.registry.get(row.table).require_open()
    asked = {**json.loads(row.request), "collection": collection}
    with db.write(server.engine) as connection:
        here = sa.select(sa.func.count()).where(db.batches.c.collection == collection)
        if not connection.execute(here).scalar_one():
            raise Conflict("nobody has handed in a batch yet")
        is_open = (db.collections.c.id == collection) & (db.collections.c.state == "open")
        if not connection.execute(sa.update(db.collections).where(is_open).values(state="answering")).rowcount:
            return _reply(_row(server, collection), person)  # another copy of this request was faster
        job = server.jobs.add(
            connection, actor=person.id, table=row.table, kind="collection", key=collection, request=asked
        )
        kept = json.dumps({**json.loads(row.request), "job": job})
        connection.execute(sa.update(db.collections).where(db.collections.c.id == collection).values(request=kept))
    return _reply(_row(server, collection), person)


@router.post(
    "/collections/{collection}/withdraw", operation_id="withdraw_collection", responses=refusals(404, 409, 422)
)
def withdraw_collection(request: Request, person: Steward, collection: CollectionId) -> CollectionReply:
    """Take back a call for batches that is still open. Nothing was spent; nothing is answered."""
    server = server_of(request)
    row = _row(server, collection)
    if row.state == "given up":
        return _reply(row, person)
    is_open = (db.collections.c.id == collection) & (db.collections.c.state == "open")
    with db.write(server.engine) as connection:
        if not connection.execute(sa.update(db.collections).where(is_open).values(state="given up")).rowcount:
            raise Conflict(f"this collection is {_row(server, collection).state}: it is too late to withdraw it")
        journal.note(connection, person.id, "withdraw collection", table=row.table, detail=collection)
    return _reply(_row(server, collection), person)


@router.put("/collections/{collection}/batch", operation_id="hand_in", responses=refusals(400, 404, 409, 413, 422))
def hand_in(request: Request, person: Analyst, collection: CollectionId, body: BatchRequest) -> BatchReply:
    """Hand in your batch, or replace it while the collection is open."""
    server = server_of(request)
    row = _row(server, collection, of=person)
    registered = server.registry.get(row.table)
    asked = json.loads(row.request)
    # By when they were invited, not by who has handed in: whether there is a place says nothing of others' batches.
    if all(found.id != person.id for found in server.people.of_table(row.table)[: asked["num_analysts"]]):
        raise Conflict(f"this collection has places for the {asked['num_analysts']} analysts who were invited first")
    queries = _checked(registered, body, columns=asked["columns"], most=asked["queries_each"])
    which = (db.batches.c.collection == collection) & (db.batches.c.person == person.id)
    with db.write(server.engine) as connection:
        held = sa.select(db.collections.c.state).where(db.collections.c.id == collection).with_for_update()
        if connection.execute(held).scalar() != "open":
            raise Conflict("this collection is closed")
        connection.execute(sa.delete(db.batches).where(which))
        values = {"collection": collection, "person": person.id, "queries": json.dumps(queries)}
        connection.execute(sa.insert(db.batches).values(**values, submitted=db.clock()))
    return BatchReply(collection=collection, queries=queries, answers=None)


@router.get("/collections/{collection}/batch", operation_id="my_batch", responses=refusals(404, 422))
def my_batch(request: Request, person: Analyst, collection: CollectionId) -> BatchReply:
    """Your batch, and its answers once all are answered."""
    server = server_of(request)
    _row(server, collection, of=person)
    which = (db.batches.c.collection == collection) & (db.batches.c.person == person.id)
    with db.read(server.engine) as connection:
        row = connection.execute(sa.select(db.batches).where(which)).one_or_none()
    if row is None:
        raise Absent("you have handed in no batch")
    answers = None if row.answers is None else json.loads(row.answers)
    return BatchReply(collection=collection, queries=json.loads(row.queries), answers=answers)


def _row(server: Server, collection: str, *, of: Person | None = None) -> Any:
    with db.read(server.engine) as connection:
        row = connection.execute(sa.select(db.collections).where(db.collections.c.id == collection)).one_or_none()
    if row is None or (of is not None and row.table != of.table):
        raise Absent("there is no such collection")
    return row


def _reply(row: Any, person: Person) -> CollectionReply:
    asked = json.loads(row.request)
    return CollectionReply(
        id=row.id,
        table=row.table,
        mode=asked["mode"],
        num_analysts=asked["num_analysts"],
        queries_each=asked["queries_each"],
        columns=asked["columns"],
        state=row.state,
        created=journal.when(row.created),
        job=asked.get("job") if person.role == "steward" else None,
    )


def _checked(
    registered: Registered, body: BatchRequest, *, columns: list[str] | None, most: int
) -> list[str | list[str]]:
    """The batch in normal form; refused here rather than when everybody's are answered."""
    schema, number = registered.schema if columns is None else registered.schema.select(columns), 0
    found: list[str | list[str]] = []
    for query in body.queries:
        if isinstance(query, str):
            found.append(describe(parse(query, schema), schema))
            number += 1
            continue
        if not query or len(set(query)) != len(query):
            raise QueryError("a marginal names at least one column, and each once")
        cells = 1
        for name in query:
            cells *= schema.column(name).size
        number += cells
        found.append(query)
    if number > most:
        raise CapacityError(f"a batch of this collection has at most {most:,} queries, a marginal's cells counted")
    return found
