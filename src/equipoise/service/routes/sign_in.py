"""Signing in and out, and whether the server is well."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from equipoise.service.access import TOO_MANY, Anyone, address_of, cookie_name, signed_in
from equipoise.service.journal import when
from equipoise.service.models.sign_in import Health, Me, SignIn
from equipoise.service.people import Person, SignedIn
from equipoise.service.problems import Busy, Unknown, refusals
from equipoise.service.server import server_of

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["Signing in"])


@router.get("/health", operation_id="health")
def health() -> Health:
    """Whether the server works. For everybody."""
    return Health(version=version("equipoise"))


@router.post("/session", operation_id="sign_in", responses=refusals(400, 413, 422), openapi_extra={"security": []})
def sign_in(request: Request, response: Response, body: SignIn) -> Me:
    """Open a browser's session with a token. For everybody; a few wrong tokens a minute."""
    server = server_of(request)
    address = address_of(request)
    if wait := server.failures.wait(address, take=False):
        raise Busy(TOO_MANY, wait=wait)
    person = server.people.of_token(body.token.strip())
    if person is None:
        server.failures.wait(address)
        raise Unknown("the token is unknown, expired or revoked; ask the steward for another")
    cookie, session = server.people.sign_in(person, hours=server.settings.session_hours)
    response.set_cookie(
        cookie_name(server),
        cookie,
        max_age=int(server.settings.session_hours * 3600),
        path="/",
        secure=server.settings.secure,
        httponly=True,
        samesite="strict",
    )
    return _me(person, session.csrf)


@router.get("/session", operation_id="me", responses=refusals())
async def me(person: Anyone, session: Annotated[SignedIn | None, Depends(signed_in)]) -> Me:
    """Who is signed in."""
    return _me(person, session.csrf if session is not None and session.person.id == person.id else None)


@router.delete("/session", operation_id="sign_out", status_code=204, responses=refusals())
def sign_out(request: Request, response: Response, person: Anyone) -> None:
    """End a browser's session."""
    server = server_of(request)
    cookie = request.cookies.get(cookie_name(server))
    if cookie is not None:
        server.people.sign_out(cookie)
    response.delete_cookie(cookie_name(server), path="/", secure=server.settings.secure, httponly=True)


def _me(person: Person, csrf: str | None) -> Me:
    return Me(
        id=person.id, name=person.name, role=person.role, table=person.table, expires=when(person.expires), csrf=csrf
    )
