"""How refusals are told: what a database's driver says stays on the server."""

import asyncio

import httpx
import sqlalchemy as sa
from fastapi import FastAPI

from equipoise.privacy.store import read
from equipoise.service.problems import handle


def test_a_lost_database_is_told_without_its_address() -> None:
    app = FastAPI()
    handle(app)

    @app.get("/looked")
    def looked() -> None:
        with read(sa.create_engine("sqlite:////nowhere/secret-host.sqlite")):
            pass

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
            return await client.get("/looked")

    told = asyncio.run(ask())
    assert told.status_code == 503
    assert told.json()["error"]["kind"] == "LedgerError"
    assert "same key" in told.text
    assert "unable to open" not in told.text
    assert "secret" not in told.text
