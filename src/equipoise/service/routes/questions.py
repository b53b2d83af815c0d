"""The analyst's routes: the schema, asking, one's own history, the shared synthetic data."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
import pyarrow.csv as pa_csv
import sqlalchemy as sa
from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.concurrency import run_in_threadpool

from equipoise.data.encoding import decode
from equipoise.queries.text import describe, parse
from equipoise.service import database as db
from equipoise.service import spending
from equipoise.service.access import Analyst
from equipoise.service.journal import when
from equipoise.service.models.questions import (
    AnalystTable,
    AnswerReply,
    Answers,
    ColumnReply,
    QuestionReply,
    QuestionRequest,
    TextReply,
    TextRequest,
)
from equipoise.service.problems import Conflict, refusals
from equipoise.service.routes.releases import Key
from equipoise.service.server import server_of

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["Analyst: questions"])


@router.get("/table", operation_id="my_table", responses=refusals(409))
def my_table(request: Request, person: Analyst) -> AnalystTable:
    """Your table: columns with all values they can have, and what you may still ask."""
    server = server_of(request)
    registered = server.registry.get(str(person.table))
    left = server.desks.session(registered).left(person.id) if registered.answers else None
    return AnalystTable(
        name=registered.name,
        num_rows=server.registry.num_rows(registered),
        columns=[
            ColumnReply(name=column.name, kind=column.kind, ordered=column.ordinal, labels=list(column.labels))
            for column in registered.asked.columns
        ],
        frozen=registered.frozen,
        online=spending.online_reply(registered.online),
        left=left,
    )


@router.post("/text", operation_id="read_text", responses=refusals(400, 413, 422))
def read_text(request: Request, person: Analyst, body: TextRequest) -> TextReply:
    """A query in its normal form, or what is wrong with it. Asks nothing and costs nothing."""
    schema = server_of(request).registry.get(str(person.table)).asked
    return TextReply(text=describe(parse(body.query, schema), schema))


@router.post("/questions", operation_id="ask", response_model=Answers, responses=refusals(400, 409, 413, 422))
async def ask(request: Request, person: Analyst, body: QuestionRequest, key: Key = None) -> Response:
    """Ask one question. With an Idempotency-Key a repeated request gets the same answer and never pays twice."""
    # Most requests are these: what was just made as plain values is not checked against its model once more.
    return JSONResponse(await run_in_threadpool(_ask, request, person, body, key))


def _ask(request: Request, person: Analyst, body: QuestionRequest, key: str | None) -> dict[str, Any]:
    server = server_of(request)
    registered = server.registry.get(str(person.table))
    return server.desks.ask(registered, person, body.query, body.marginal, key)


@router.get("/questions", operation_id="my_questions", responses=refusals(422))
def my_questions(
    request: Request,
    person: Analyst,
    most: Annotated[int, Query(ge=1, le=1000, examples=[50], description="How many questions.")] = 50,
) -> list[QuestionReply]:
    """Your own questions and answers, newest first."""
    server = server_of(request)
    server.history.flush()  # the last ones may not be written yet
    chosen = (
        sa.select(db.questions)
        .where(db.questions.c.person == person.id)
        .order_by(db.questions.c.asked.desc(), db.questions.c.id)
        .limit(most)
    )
    with db.read(server.engine) as connection:
        rows = list(connection.execute(chosen))
    return [
        QuestionReply(id=row.id, asked=when(row.asked), **json.loads(row.asks), answers=json.loads(row.answers))
        for row in rows
    ]


@router.get(
    "/questions.csv",
    operation_id="download_questions",
    response_class=Response,
    responses={**refusals(), 200: {"description": "A line for each answer.", "content": {"text/csv": {}}}},
)
def download_questions(request: Request, person: Analyst) -> Response:
    """All your answers as a table, oldest first; every cell of a marginal is a line."""
    server = server_of(request)
    server.history.flush()
    chosen = sa.select(db.questions).where(db.questions.c.person == person.id)

    def lines() -> Iterator[str]:
        yield ",".join(("asked", *AnswerReply.model_fields)) + "\n"
        with db.read(server.engine) as connection:
            ordered = chosen.order_by(db.questions.c.asked, db.questions.c.id)
            for row in connection.execution_options(yield_per=1_000).execute(ordered):
                text = io.StringIO()
                writer = csv.writer(text, lineterminator="\n")
                for answer in json.loads(row.answers):
                    told = (answer[name] for name in AnswerReply.model_fields)
                    writer.writerow((when(row.asked).isoformat(), *told))
                yield text.getvalue()

    headers = {"Content-Disposition": f'attachment; filename="{person.table}-answers.csv"'}
    return StreamingResponse(lines(), media_type="text/csv", headers=headers)


@router.get(
    "/synthetic.csv",
    operation_id="download_synthetic",
    response_class=Response,
    responses={**refusals(409, 422), 200: {"description": "Synthetic rows.", "content": {"text/csv": {}}}},
)
def download_synthetic(
    request: Request,
    person: Analyst,
    rows: Annotated[int, Query(ge=1, le=100_000, examples=[1_000], description="How many rows.")] = 1_000,
) -> Response:
    """Rows drawn from the shared synthetic data that free answers come from. Costs nothing."""
    server = server_of(request)
    registered = server.registry.get(str(person.table))
    session = server.desks.session(registered)
    if session.plan.mode == "noise":
        raise Conflict("every answer of this table has noise of its own: there is no shared synthetic data")
    hypothesis = session.hypothesis()
    rng = np.random.default_rng()
    table = decode(hypothesis.sample(rng, rows), registered.asked, rng)
    buffer = io.BytesIO()
    pa_csv.write_csv(table, buffer)
    headers = {"Content-Disposition": f'attachment; filename="{registered.name}-synthetic.csv"'}
    return Response(buffer.getvalue(), media_type="text/csv", headers=headers)
