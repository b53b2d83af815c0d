"""The service in this process, without a network, to be sent bodies that someone else may have written.

Only the bodies are made up: who asks, and for what, is as it should be. The second table's total is next to nothing, so
that no body starts a release.
"""

from __future__ import annotations

import asyncio
import functools
import tempfile
from pathlib import Path
from typing import Any

import httpx
from tests.schemas import AGE, SEX, declared

from equipoise.errors import DataError, LedgerError

__all__ = ["ROUTES", "SEEDS", "post"]

TOTAL = b'"epsilon": %s, "delta": 1e-6, "analyst_epsilon": 20.0, "analyst_delta": 1e-6'
ROUTES = (
    ("analyst", "POST", "text"),
    ("analyst", "POST", "questions"),
    ("analyst", "PUT", "collections/{collection}/batch"),
    ("steward", "POST", "tables"),
    ("steward", "POST", "tables/people/online"),
    ("steward", "POST", "tables/people/analysts"),
    ("steward", "POST", "tables/people/analysts/{other}/renew"),
    ("steward", "POST", "tables/spent/releases"),
    ("steward", "POST", "tables/spent/collections"),
    ("steward", "POST", "session"),
)
SEEDS = (
    b'\x00{"query": "sex = Female and age in 20..39"}',
    b'\x01{"query": "sex = Male"}',
    b'\x01{"marginal": ["sex", "age"]}',
    b'\x01{"queries": ["sex = Male", "age >= 40"]}',
    b'\x02{"queries": ["sex = Female", ["sex", "age"]]}',
    b'\x03{"source": "people.csv", "schema_file": "people.toml", ' + TOTAL % b"20.0" + b"}",
    b'\x04{"mode": "noise", "epsilon": 5.0, "analyst_epsilon": 1.0, "num_analysts": 4, "queries_each": 9}',
    b'\x05{"name": "Eve"}',
    b'\x06{"name": "Bob", "days": 3}',
    b'\x07{"epsilon": 1.0, "workload": "2-way", "method": "mwem", "columns": ["sex", "age"]}',
    b'\x08{"epsilon": 2.0, "analyst_epsilon": 1.0, "num_analysts": 2, "queries_each": 9}',
    b'\x09{"token": "eqp_nobody"}',
)


class _Service:
    """The application, called directly, and those who may call it."""

    def __init__(self) -> None:
        # Here, because the other targets need nothing of it.
        from equipoise.service.app import create
        from equipoise.service.server import start
        from equipoise.service.settings import Settings

        folder = Path(tempfile.mkdtemp(prefix="fuzz-http-"))
        (folder / "root").mkdir()
        for name in ("people", "spent"):
            (folder / "root" / f"{name}.toml").write_text(declared(SEX, AGE, name=name))
            rows = [f"{'Female' if i % 3 else 'Male'},{i % 100}" for i in range(300)]
            (folder / "root" / f"{name}.csv").write_text("\n".join(["sex,age", *rows]) + "\n")
        self._server = start(Settings(folder / "root", folder / "state", rate=1e9, burst=10**9, sign_ins=10**9))
        self._loop = asyncio.new_event_loop()
        transport = httpx.ASGITransport(create(self._server))  # type: ignore[arg-type]
        self._http = httpx.AsyncClient(transport=transport, base_url="http://service.test")
        self._tokens = {"steward": self._server.new_steward("Grace", days=1)}
        for name, epsilon in (("people", b"20.0"), ("spent", b"1e-9")):
            source = b'{"source": "%s.csv", "schema_file": "%s.toml", ' % (name.encode(), name.encode())
            self.made("steward", "POST", "tables", source + TOTAL % epsilon + b"}")
        online = SEEDS[6][1:].replace(b'"queries_each": 9', b'"queries_each": 1000000')
        self.made("steward", "POST", "tables/people/online", online)
        ada, bob = (self.made("steward", "POST", "tables/people/analysts", b'{"name": "%s"}' % n) for n in (b"A", b"B"))
        self._tokens["analyst"] = ada["token"]
        opened = self.made("steward", "POST", "tables/people/collections", SEEDS[10][1:])
        self._named = {"collection": opened["id"], "other": bob["id"]}

    def made(self, role: str, method: str, path: str, body: bytes) -> Any:
        """What an operation replies that must succeed."""
        reply = self.call(role, method, path, body)
        assert reply.is_success, reply.text
        return reply.json()

    def send(self, number: int, body: bytes) -> httpx.Response:
        """Send a body to one of the routes."""
        role, method, path = ROUTES[number % len(ROUTES)]
        return self.call(role, method, path.format(**self._named), body)

    def call(self, role: str, method: str, path: str, body: bytes) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self._tokens[role]}", "Content-Type": "application/json"}
        return self._loop.run_until_complete(self._http.request(method, f"/v1/{path}", content=body, headers=headers))


@functools.cache
def _service() -> _Service:
    return _Service()


def post(data: bytes) -> None:
    """Send a body, after a byte that chooses the route.

    Raises:
        DataError: it was refused, with an explanation; the ledger's refusals have the status 503.
        RuntimeError: the service failed.
    """
    reply = _service().send(data[0] if data else 0, data[1:])
    if reply.status_code < 400:
        return
    told = reply.json()["error"]
    if not told["message"] or (reply.status_code >= 500 and told["kind"] != LedgerError.__name__):
        raise RuntimeError(f"status {reply.status_code}")
    raise DataError("refused")
