"""The role check of every route: who is asking, by token or by browser session.

A browser's cookie is sent by the browser whoever wrote the page, so a request that changes something must also carry
the session's CSRF word in a header, which another site's page can neither read nor send.
"""

from __future__ import annotations

import hmac
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool

from equipoise.service.guard import SAFE
from equipoise.service.people import Person, SignedIn
from equipoise.service.problems import Busy, Forbidden, Unknown
from equipoise.service.server import Server, server_of

__all__ = ["CSRF_HEADER", "TOO_MANY", "Analyst", "Anyone", "Steward", "address_of", "cookie_name", "signed_in"]

CSRF_HEADER = "X-Equipoise-CSRF"
COOKIE = "equipoise_session"
TOO_MANY = "too many wrong tokens from this address; wait a minute"

_bearer = HTTPBearer(auto_error=False, description="A token, as shown once when it was made: `Bearer eqp_...`")
_cookie = APIKeyCookie(name=COOKIE, auto_error=False, description="A browser's session, from `POST /v1/session`")


def cookie_name(server: Server) -> str:
    """The cookie's name; over https the prefix makes browsers refuse one that another host has set."""
    return f"__Host-{COOKIE}" if server.settings.secure else COOKIE


def address_of(request: Request) -> str:
    """Where a request comes from; a proxy on this machine says for whom it asks."""
    return request.client.host if request.client else "?"


async def signed_in(request: Request) -> SignedIn | None:
    """The browser session that a request belongs to, or None."""
    server = server_of(request)
    cookie = request.cookies.get(cookie_name(server))
    return None if cookie is None else await run_in_threadpool(server.people.of_cookie, cookie)


async def _person(
    request: Request,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
    _documented: Annotated[str | None, Depends(_cookie)],
) -> Person:
    server = server_of(request)
    if bearer is not None:
        text = bearer.credentials
        person = server.people.known(text) or await run_in_threadpool(server.people.of_token, text)
        if person is None:
            # Only those with wrong tokens ever wait: who comes from the same address with a good one does not.
            if wait := server.failures.wait(address_of(request)):
                raise Busy(TOO_MANY, wait=wait)
            raise Unknown("the token is unknown, expired or revoked; ask the steward for another")
    else:
        session = await signed_in(request)
        if session is None:
            raise Unknown("nobody is signed in: send the header `Authorization: Bearer <token>`, or sign in")
        sent = request.headers.get(CSRF_HEADER, "")
        if request.method not in SAFE and not hmac.compare_digest(sent.encode(), session.csrf.encode()):
            raise Forbidden(f"a browser's request needs the header {CSRF_HEADER}; reload the page")
        person = session.person
    if wait := server.rates.wait(person.id):
        raise Busy("too many requests from this token; wait a moment", wait=wait)
    return person


async def _steward(person: Annotated[Person, Depends(_person)]) -> Person:
    if person.role != "steward":
        raise Forbidden("only a steward may do this")
    return person


async def _analyst(person: Annotated[Person, Depends(_person)]) -> Person:
    if person.role != "analyst":
        raise Forbidden("only an analyst may do this; a steward invites analysts, and may invite themselves")
    return person


Anyone = Annotated[Person, Depends(_person)]
Steward = Annotated[Person, Depends(_steward)]
Analyst = Annotated[Person, Depends(_analyst)]
