"""The Python client and the shipped demo, against servers started with the command line."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.service.conftest import TOTAL, make_table
from tests.service.processes import Process

import equipoise as eq
from equipoise.service.client import ServiceError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    folder = tmp_path_factory.mktemp("client")
    make_table(folder / "root")
    started = Process(folder / "root", folder / "state").start()
    with eq.Client(started.address, token=started.token) as steward:
        steward.register("people.csv", schema="people.toml", **TOTAL)
        steward.open_for_questions(
            "people", mode="noise", epsilon=5.0, analyst_epsilon=1.0, num_analysts=9, queries_each=12
        )
    yield started
    started.stop()


def test_the_client_feels_like_the_library(process: Process) -> None:
    with eq.Client(process.address, token=process.token) as steward:
        token = steward.invite("people", "Ada")
        assert [table["name"] for table in steward.tables()] == ["people"]
        with eq.Client(process.address, token=token) as ada:
            answer = ada.ask("age in 20..59 and sex = Female", key="one")
            assert ada.ask("age in 20..59 and sex = Female", key="one") == answer
            assert len(ada.marginal(["sex", "region"])) == 6
            assert ada.table()["left"] == 5
            assert ada.normal_form("sex != Male") == "sex = Female"
            with pytest.raises(eq.QueryError, match="expected a column"):
                ada.ask("sx = Male")
            with pytest.raises(eq.BudgetError):
                ada.marginal(["region", "sex"])
            with pytest.raises(ServiceError, match="only a steward"):
                ada.tables()
        (who,) = steward.analysts("people")
        assert (who["name"], who["asked"]) == ("Ada", 7)
        steward.revoke("people", who["id"])
        with eq.Client(process.address, token=token) as ada, pytest.raises(ServiceError, match="revoked"):
            ada.table()
        assert steward.spending("people")["analysts"][0]["state"] == "revoked"
        assert {"invite", "revoke"} <= {entry["action"] for entry in steward.log()}


def test_no_server() -> None:
    client = eq.Client("http://127.0.0.1:9", token="eqp_x", patience=0.1)
    with pytest.raises(ServiceError, match="cannot be reached"):
        client.table()
    client.close()


class Overloaded(BaseHTTPRequestHandler):
    """Never answers in time, and remembers what it was asked."""

    seen: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        self.seen.append(self.path)
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


def test_what_a_busy_server_may_have_done_is_repeated_only_where_that_is_safe() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Overloaded) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with eq.Client(f"http://127.0.0.1:{server.server_address[1]}", token="eqp_x", patience=2.0) as client:
                for action in (lambda: client.invite("t", "Ada"), lambda: client.freeze("t"), lambda: client.ask("q")):
                    with pytest.raises(ServiceError, match="503"):
                        action()
        finally:
            server.shutdown()
            thread.join()
    times = {path: Overloaded.seen.count(path) for path in Overloaded.seen}
    assert times.pop("/v1/tables/t/analysts") == 1
    assert all(number > 1 for number in times.values())
    assert len(times) == 2


@pytest.mark.slow
def test_the_demo_of_the_service_runs(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "examples" / "demo_service.py"), str(tmp_path), "--stop"]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert found.returncode == 0, found.stderr
    for words in ("/console/", "steward's token", "Ada's token", "Bob's token", "of the records, ±"):
        assert words in found.stdout
