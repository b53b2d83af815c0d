"""The application: routes, console, guard."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from importlib.resources import files

from fastapi import FastAPI
from fastapi.responses import RedirectResponse
from starlette.staticfiles import StaticFiles

from equipoise.errors import EquipoiseError
from equipoise.service.guard import Guard
from equipoise.service.problems import handle
from equipoise.service.routes import analysts, collections, questions, releases, sign_in, tables
from equipoise.service.server import Server

__all__ = ["create"]

DESCRIPTION = """
Private answers and synthetic data from a sensitive table.

A *steward* registers tables, sets budgets, invites analysts and makes releases. An *analyst* asks about one table: in
the text form (`sex = Female and age in 30..39`) or as a marginal. Send the token as `Authorization: Bearer eqp_...`.
Send an `Idempotency-Key` with whatever costs: a repeated request gets the same answer and never pays twice.
"""


def create(server: Server) -> Guard:
    """The application of a server, to be run by an ASGI server, which also ends it."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        threading.Thread(target=_open_sessions, args=(server,), name="sessions", daemon=True).start()
        yield
        server.close()

    app = FastAPI(
        title="Equipoise",
        version=version("equipoise"),
        description=DESCRIPTION,
        openapi_url="/v1/openapi.json",
        docs_url=None,  # they would load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.server = server
    handle(app)
    for part in (questions, sign_in, tables, analysts, releases, collections):  # the busiest is matched first
        app.include_router(part.router)
    console = files("equipoise.service") / "console"
    app.mount("/console", StaticFiles(directory=str(console), html=True), name="console")

    @app.get("/", include_in_schema=False)
    def _home() -> RedirectResponse:
        return RedirectResponse("/console/")

    return Guard(app, server.settings)


def _open_sessions(server: Server) -> None:
    """Read the tables that are open for questions now, rather than when the first analyst waits."""
    with suppress(EquipoiseError):
        for registered in server.registry.all():
            if registered.answers and not registered.frozen:
                server.desks.session(registered)
