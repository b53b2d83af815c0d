"""What goes wrong, as HTTP says it: one form for every refusal, with nothing in it that a message may not hold."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException

from equipoise.errors import (
    BudgetError,
    CapacityError,
    CertificateError,
    DataError,
    EquipoiseError,
    LedgerConflict,
    LedgerError,
    OutputError,
    QueryError,
    SchemaError,
    SettingError,
)

__all__ = ["Absent", "Busy", "Conflict", "Forbidden", "Problem", "Unknown", "handle", "refusals"]

logger = logging.getLogger("equipoise.service")


class Unknown(EquipoiseError):
    """Nobody is signed in, or the token is not good."""


class Forbidden(EquipoiseError):
    """Signed in, but not as somebody who may do this."""


class Absent(EquipoiseError):
    """There is no such thing, or it is not this person's: the two are not told apart."""


class Conflict(EquipoiseError):
    """It cannot be done in the state things are in."""


class Busy(EquipoiseError):
    """Too many requests, or the server cannot answer in time: the same request may be repeated later."""

    def __init__(self, message: str, *, wait: float = 1.0, status: int = 429) -> None:
        super().__init__(message)
        self.wait, self.status = wait, status


STATUS: dict[type[EquipoiseError], int] = {
    Unknown: 401,
    Forbidden: 403,
    Absent: 404,
    Conflict: 409,
    BudgetError: 409,
    OutputError: 409,
    SettingError: 422,
    SchemaError: 422,
    DataError: 422,
    QueryError: 422,
    CapacityError: 422,
    CertificateError: 409,
    LedgerConflict: 409,
    LedgerError: 503,
}


class Detail(BaseModel):
    """What went wrong."""

    model_config = ConfigDict(extra="forbid")

    kind: str = Field(examples=["QueryError"], description="The class of the library's error, where it is one.")
    message: str = Field(examples=["at character 1: there is no column 'sx'; the columns are sex, age"])


class Problem(BaseModel):
    """Every refusal."""

    model_config = ConfigDict(extra="forbid")

    error: Detail


_MEANINGS = {
    400: "The body is not JSON.",
    401: "Nobody is signed in, or the token is unknown, expired or revoked.",
    403: "Not for this role; or a browser's request without its CSRF header.",
    404: "There is no such thing, or it is not yours.",
    409: "Not in this state: frozen, the budget does not cover it, or a key was used for another request.",
    413: "The body is too large.",
    422: "Something in the request is not right.",
    429: "Too many requests; `Retry-After` says how long to wait.",
    503: "The database or the mechanism did not answer in time; repeat the request with the same key.",
}


def refusals(*more: int) -> dict[int | str, dict[str, Any]]:
    """The refusals to document for a route: those of every route that needs a token, and more."""
    return {code: {"model": Problem, "description": _MEANINGS[code]} for code in sorted({401, 403, 429, 503, *more})}


def _answer(status: int, kind: str, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": {"kind": kind, "message": message}}, status, headers)


def handle(app: FastAPI) -> None:
    """Answer every failure in the one form."""

    @app.exception_handler(EquipoiseError)
    async def _ours(request: Request, error: EquipoiseError) -> JSONResponse:
        kind = type(error).__name__
        if isinstance(error, Busy):
            return _answer(error.status, kind, str(error), {"Retry-After": str(max(1, round(error.wait)))})
        status = next((STATUS[cls] for cls in type(error).__mro__ if cls in STATUS), 409)
        headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
        if isinstance(error.__cause__, SQLAlchemyError):
            # A driver's own words name hosts, sockets and users, which are nobody's business but the owner's.
            logger.warning("%s in %s %s", type(error.__cause__).__name__, request.method, _route(request))
            return _answer(status, kind, "the database did not answer; repeat the request with the same key", headers)
        return _answer(status, kind, str(error), headers)

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            return _answer(400, "SettingError", "the body is not JSON")
        where = ".".join(str(part) for part in first["loc"] if part != "body")
        # Pydantic's words name the rule; the value that broke it is left out, as it might be a token.
        return _answer(422, "SettingError", f"{where or 'the body'}: {first['msg']}")

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> JSONResponse:
        headers = dict(error.headers) if error.headers else None
        return _answer(error.status_code, "HTTP", str(error.detail), headers)

    @app.exception_handler(Exception)
    async def _unexpected(request: Request, error: Exception) -> JSONResponse:
        # The message may quote private data: only the type is told and logged.
        logger.error("unexpected %s in %s %s", type(error).__name__, request.method, _route(request))
        return _answer(500, type(error).__name__, "unexpected; its message is not shown, as it may quote private data")


def _route(request: Request) -> str:
    return str(getattr(request.scope.get("route"), "path", "(no route)"))
