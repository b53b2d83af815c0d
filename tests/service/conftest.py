"""A service in this process, on each of the two databases, with a steward and a small made-up table."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from tests.cli.conftest import HEADER, rows
from tests.schemas import AGE, REGION, SCORE, SEX, declared

from equipoise.service.app import create
from equipoise.service.client import Client
from equipoise.service.server import Server, start
from equipoise.service.settings import Settings

TOTAL = {"epsilon": 20.0, "delta": 1e-6, "analyst_epsilon": 20.0, "analyst_delta": 1e-6}
ONLINE = {"mode": "noise", "epsilon": 5.0, "analyst_epsilon": 1.0, "num_analysts": 4, "queries_each": 20}


def make_table(root: Path, name: str = "people", num_rows: int = 2_000) -> None:
    """A table and its schema, with no total and no ledger of their own."""
    root.mkdir(exist_ok=True)
    (root / f"{name}.csv").write_text("\n".join([HEADER, *rows(num_rows)]) + "\n")
    (root / f"{name}.toml").write_text(declared(SEX, AGE, SCORE, REGION, name=name))


def invite_ada(steward: Client) -> str:
    """Open the table for a few questions, and give the token of the analyst who may ask them."""
    steward.register("people.csv", schema="people.toml", **TOTAL)
    terms = {"epsilon": 1.0, "analyst_epsilon": 1.0, "num_analysts": 2, "queries_each": 5}
    steward.open_for_questions("people", mode="noise", **terms)
    return steward.invite("people", "Ada")


@dataclass
class Visitor:
    """Somebody with a token."""

    http: httpx.Client
    token: str
    id: str = ""

    def call(self, method: str, path: str, body: Any = None, *, key: str | None = None, **headers: str) -> Any:
        sent = {"Authorization": f"Bearer {self.token}"} | headers
        if key is not None:
            sent["Idempotency-Key"] = key
        return self.http.request(method, f"/v1/{path}", json=body, headers=sent)

    def get(self, path: str, status: int = 200) -> Any:
        return self._body(self.call("GET", path), status)

    def post(self, path: str, body: Any = None, status: int = 200, key: str | None = None) -> Any:
        return self._body(self.call("POST", path, body, key=key), status)

    @staticmethod
    def _body(response: Any, status: int) -> Any:
        assert response.status_code == status, response.text
        return response.json() if response.content else None


@dataclass
class Service:
    """A running service."""

    settings: Settings
    server: Server
    http: httpx.Client
    steward: Visitor
    analysts: dict[str, Visitor] = field(default_factory=dict)

    def register(self, name: str = "people", **changes: Any) -> Any:
        body = {"source": f"{name}.csv", "schema_file": f"{name}.toml"} | TOTAL | changes
        return self.steward.post("tables", body, 201)

    def invite(self, name: str, table: str = "people") -> Visitor:
        made = self.steward.post(f"tables/{table}/analysts", {"name": name}, 201)
        self.analysts[name] = Visitor(self.http, made["token"], made["id"])
        return self.analysts[name]

    def open_for_questions(self, table: str = "people", **changes: Any) -> Any:
        return self.steward.post(f"tables/{table}/online", ONLINE | changes)


def settings_of(folder: Path, database: str | None, **changes: Any) -> Settings:
    make_table(folder / "root")
    return Settings(
        folder / "root", folder / "state", database, **{"rate": 1e6, "burst": 10**6, "sign_ins": 1000} | changes
    )


@pytest.fixture
def database(ledger_location: str) -> str | None:
    """A database of each kind."""
    return ledger_location if "://" in ledger_location else None


@pytest.fixture
def service(tmp_path: Path, database: str | None) -> Iterator[Service]:
    yield from running(settings_of(tmp_path, database))


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Service]:
    """A service on SQLite alone, for what has nothing to do with the database."""
    yield from running(settings_of(tmp_path, None))


def running(settings: Settings) -> Iterator[Service]:
    """A real server in a thread of this process, on a free port of 127.0.0.1."""
    server = start(settings)
    token = server.new_steward("Grace", days=1)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        host = uvicorn.Server(uvicorn.Config(create(server), log_level="error", access_log=False))
        thread = threading.Thread(target=host.run, args=([listening],))
        thread.start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        try:
            with httpx.Client(base_url=address, timeout=60, trust_env=False) as http:
                yield Service(settings, server, http, Visitor(http, token))
        finally:
            host.should_exit = True
            thread.join(30)
