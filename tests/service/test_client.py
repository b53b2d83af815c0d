"""The Python client and the shipped demo, against servers started with the command line."""

from __future__ import annotations

import csv
import runpy
import socket
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


def test_the_client_feels_like_the_library(process: Process, tmp_path: Path) -> None:
    with eq.Client(process.address, token=process.token) as steward:
        token = steward.invite("people", "Ada")
        assert "people" in [table["name"] for table in steward.tables()]
        with eq.Client(process.address, token=token) as ada:
            answer = ada.ask("age in 20..59 and sex = Female", key="one")
            assert ada.ask("age in 20..59 and sex = Female", key="one") == answer
            assert answer.left == 11
            assert [cell.left for cell in ada.marginal(["sex", "region"])] == [10, 9, 8, 7, 6, 5]
            assert ada.table()["left"] == 5
            assert (ada.me()["name"], ada.collections()) == ("Ada", [])
            lines = list(csv.DictReader(ada.save_questions(tmp_path / "mine.csv").read_text().splitlines()))
            assert [line["text"] for line in lines][:2] == [answer.text, "sex = Female and region = North"]
            assert (len(lines), float(lines[0]["share"]), lines[0]["source"]) == (7, answer.share, "paid")
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
        told = steward.log("people")[0]
        assert (told["action"], told["name"], told["about"]) == ("revoke", "steward", "Ada")
        assert {"invite"} <= {entry["action"] for entry in steward.log(before=told["id"])}
        renewed = steward.renew("people", who["id"])
        with eq.Client(process.address, token=renewed) as ada:
            assert ada.table()["left"] == 5


def test_a_stewards_work_by_the_client(process: Process, tmp_path: Path) -> None:
    make_table(process.root, "more")
    with eq.Client(process.address, token=process.token) as steward:
        assert "more.csv" in steward.files()["tables"]
        steward.register("more.csv", schema="more.toml", **TOTAL)
        terms = {"epsilon": 1.0, "analyst_epsilon": 1.0, "num_analysts": 2, "queries_each": 5}
        steward.open_for_questions("more", mode="noise", **terms)
        with eq.Client(process.address, token=steward.invite("more", "Bob")) as bob:
            bob.ask("sex = Male")
        assert steward.statement("more")["guarantee"]["epsilon"] == 1.0
        assert steward.close_for_questions("more")["online"] is None
        (kept,) = steward.releases("more")
        (run,) = steward.spending("more")["runs"]
        assert [event["times"] for event in steward.events("more", run["run"])] == [1]
        saved = steward.download(kept["id"], "statement.json", tmp_path / "statement.json")
        assert run["run"] in saved.read_text()
        assert [path.name for path in tmp_path.iterdir()] == ["statement.json"]
        with pytest.raises(eq.OutputError, match="cannot write"):
            steward.download(kept["id"], "statement.json", tmp_path / "nowhere" / "statement.json")
        with pytest.raises(ServiceError, match="too late"):
            steward.cancel(kept["id"])
        collection = steward.open_collection("more", **terms)
        steward.withdraw_collection(collection)
        steward.withdraw_collection(collection)
        assert [found["state"] for found in steward.collections("more")] == ["given up"]
        with pytest.raises(ServiceError, match="too late"):
            steward.resume(kept["id"])


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


def test_the_demo_takes_another_port_when_its_own_is_taken() -> None:
    chosen_port = runpy.run_path(str(ROOT / "examples" / "demo_service.py"))["chosen_port"]
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        assert chosen_port(taken) == 0
    assert chosen_port(taken) in (taken, 0)  # 0 if a third was faster
