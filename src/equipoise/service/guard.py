"""What every request and response passes: limits on size and time, and the headers that browsers obey.

Plain ASGI, not a framework's middleware class: it costs microseconds a request.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.exceptions import HTTPException

from equipoise.service.settings import Settings

__all__ = ["SAFE", "Guard"]

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

# Nothing from elsewhere, nothing inline, no frame around us, no form to elsewhere.
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", CSP.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
]
NO_STORE = (b"cache-control", b"no-store")
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Guard:
    """Wraps the application."""

    def __init__(self, app: Asgi, settings: Settings) -> None:
        self._app, self._settings = app, settings

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = HEADERS if scope["path"].startswith("/console/") else [*HEADERS, NO_STORE]
        started, limit = False, asyncio.timeout(self._settings.seconds)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *headers]}
            await send(message)

        async def sending(message: Message) -> None:
            nonlocal started
            if not started:
                started = True
                limit.reschedule(None)  # a large file may be sent for as long as it takes
            await guarded(message)

        if scope["method"] not in SAFE and _from_elsewhere(scope):
            await _refuse(guarded, 403, "Forbidden", "this request comes from another site's page")
            return
        try:
            async with limit:
                await self._app(scope, _limited(scope, receive, self._settings.max_body), sending)
        except TimeoutError:
            if started:
                raise
            # What was begun goes on in its thread; with the same key the retry finds its answer.
            message = "no answer in time; repeat the request with the same Idempotency-Key"
            await _refuse(guarded, 503, "Busy", message)


def _limited(scope: MutableMapping[str, Any], receive: Receive, most: int) -> Receive:
    left = most

    async def receiving() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise HTTPException(413, f"a body has at most {most:,} bytes")  # the routes pass this one on
        return message

    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value) > most:
            left = -1  # refused at the first read, whatever is sent
    return receiving


def _from_elsewhere(scope: MutableMapping[str, Any]) -> bool:
    """Whether a browser says that another site's page made the request; other programs say nothing."""
    return any(name == b"sec-fetch-site" and value in (b"cross-site", b"same-site") for name, value in scope["headers"])


async def _refuse(send: Send, status: int, kind: str, message: str) -> None:
    body = json.dumps({"error": {"kind": kind, "message": message}}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 503:
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
