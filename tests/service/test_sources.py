"""Tables in databases and over http: only those that the server's owner listed, and never a word of where they are."""

from __future__ import annotations

import base64
import logging
import os
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest
import sqlalchemy as sa
from tests.service.conftest import TOTAL, Service, running, settings_of
from tests.service.test_jobs import QUICK, until

from equipoise.errors import SettingError
from equipoise.privacy.store import url_of
from equipoise.service.fetched import sweep
from equipoise.service.sources import load

PASSWORD = "hunter2-canary"


@dataclass
class Elsewhere:
    """A web server with one table, for those who know the password."""

    port: int = 0
    table: bytes = b""
    requests: list[str] = field(default_factory=list)


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    found = Elsewhere()
    wanted = "Basic " + base64.b64encode(f"reader:{PASSWORD}".encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.requests.append(self.path)
            status, body = (200, found.table) if self.headers["Authorization"] == wanted else (401, b"")
            if self.path == "/moved.csv":
                status, body = 302, b""
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "/people.csv")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield found
        server.shutdown()
        thread.join()


def listed(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "sources.toml"
    path.write_text(text)
    path.chmod(mode)
    return path


def serving(folder: Path, text: str) -> Iterator[Service]:
    yield from running(settings_of(folder, None, sources=listed(folder, text)))


def registration(source: str) -> dict[str, Any]:
    return {"source": source, "schema_file": "people.toml"} | TOTAL


def test_a_file_over_http_is_read_and_not_kept(
    tmp_path: Path, elsewhere: Elsewhere, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    address = f"127.0.0.1:{elsewhere.port}/people.csv"
    for service in serving(tmp_path, f'[sources.survey]\nurl = "http://reader:{PASSWORD}@{address}"\n'):
        elsewhere.table = (service.settings.root / "people.csv").read_bytes()
        (service.settings.root / "people.csv").unlink()
        assert service.steward.get("files") == {"tables": ["source:survey"], "schemas": ["people.toml"]}
        made = service.steward.post("tables", registration(f"http://{address}"), 201)
        assert made["source"] == "source:survey"
        service.open_for_questions()
        assert service.invite("Ada").post("questions", {"query": "sex = Female"})["left"] == 19
        job = service.steward.post("tables/people/releases", QUICK, 202)["id"]
        done = until(service.steward, job, "done", "failed")
        assert done["state"] == "done", done["message"]
        assert list(service.settings.fetched.iterdir()) == []
        texts = [str(made), str(done), caplog.text]
        texts += [service.steward.call("GET", path).text for path in ("log", "tables", "tables/people/spending")]
        assert not [text for text in texts if PASSWORD in text]
        kept = subprocess.run(["grep", "-rl", PASSWORD, str(service.settings.state)], capture_output=True, check=False)
        assert kept.stdout == b""
    assert set(elsewhere.requests) == {"/people.csv"}


def test_what_cannot_be_fetched_says_nothing_of_its_address(tmp_path: Path, elsewhere: Elsewhere) -> None:
    places = {"moved": f"reader:{PASSWORD}@127.0.0.1:{elsewhere.port}/moved.csv"}
    places |= {
        "wrong": f"reader:no@127.0.0.1:{elsewhere.port}/people.csv",
        "away": f"reader:{PASSWORD}@127.0.0.1:9/a.csv",
    }
    text = "".join(f'[sources.{name}]\nurl = "http://{url}"\n' for name, url in places.items())
    text += f'[sources.none]\nurl = "sqlite:///{tmp_path}/{PASSWORD}.db"\ntable = "people"\n'
    for service in serving(tmp_path, text):
        for name in (*places, "none"):
            refused = service.steward.call("POST", "tables", registration(f"source:{name}"))
            assert refused.status_code == 422
            assert f"source:{name} cannot be read" in refused.text
            assert not [word for word in (PASSWORD, "127.0.0.1", str(tmp_path), "reader") if word in refused.text]
        assert list(service.settings.fetched.iterdir()) == []
        assert service.steward.get("tables") == []
    assert elsewhere.requests == ["/moved.csv", "/people.csv"]  # the redirect was not followed


def test_a_database_is_read_and_let_go_of(tmp_path: Path, postgres_database: str) -> None:
    url = postgres_database.replace("postgres:@", f"postgres:{PASSWORD}@")
    text = f'[sources.census]\nurl = "{url}"\nquery = "select * from census where age >= 0"\n'
    for service in serving(tmp_path, text):
        engine = sa.create_engine(url_of(postgres_database))
        rows = pyarrow.csv.read_csv(service.settings.root / "people.csv").to_pylist()
        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE census (sex text, age int, score float, region text)")
            connection.execute(sa.text("INSERT INTO census VALUES (:sex, :age, :score, :region)"), rows)
        service.steward.post("tables", registration("source:census"), 201)
        service.open_for_questions()
        ada = service.invite("Ada")
        assert ada.get("table")["num_rows"] == 2_000
        answer = ada.post("questions", {"query": "sex = Female"})["answers"][0]
        assert abs(answer["share"] - 0.55) < 0.05 + answer["half_width"]
        job = service.steward.post("tables/people/releases", QUICK, 202)["id"]
        assert until(service.steward, job, "done", "failed")["state"] == "done"
        others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        with engine.connect() as connection:
            assert connection.exec_driver_sql(others).scalar() == 0
            connection.rollback()
        engine.dispose()


def test_nothing_is_connected_to_unless_it_is_listed(small: Service, elsewhere: Elsewhere, tmp_path: Path) -> None:
    host = f"127.0.0.1:{elsewhere.port}"
    for given in (
        f"http://{host}/people.csv",
        f"HTTP://{host}/people.csv",
        f"https://{host}/people.csv",
        f"ftp://{host}/people.csv",
        f"//{host}/people.csv",
        f"file://{host}/people.csv",
        f"postgresql://{host}/people",
        f"sqlite:///{small.settings.state}/service.sqlite",
        f"duckdb:///{tmp_path}/a.duckdb",
        "source:people",
        "source:../people",
    ):
        refused = small.steward.call("POST", "tables", registration(given))
        assert (refused.status_code, given in refused.text) == (422, False), given
    assert elsewhere.requests == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no toml", "not a TOML"),
        ("[sources.a]\nurl = 3", "sources.a.url"),
        (f'[sources.a]\nurl = "ftp://me:{PASSWORD}@h/a.csv"', "begins with"),
        (f'[sources.a]\nurl = "http://me:{PASSWORD}@h/a.exe"', "ends in"),
        (f'[sources.a]\nurl = "http://me:{PASSWORD}@h/a.csv"\ntable = "t"', "database's address"),
        (f'[sources.a]\nurl = "postgresql://me:{PASSWORD}@h/a"', "either a table or a query"),
        (f'[sources.a]\nurl = "http://h/a.csv"\npassword = "{PASSWORD}"', "password"),
    ],
)
def test_a_list_that_is_not_right(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(SettingError) as refused:
        load(listed(tmp_path, text))
    assert words in str(refused.value)
    assert PASSWORD not in str(refused.value)


def test_a_list_with_passwords_is_the_owners_alone(tmp_path: Path) -> None:
    text = f'[sources.a]\nurl = "http://me:{PASSWORD}@h/a.csv"'
    with pytest.raises(SettingError, match="chmod 600"):
        load(listed(tmp_path, text, 0o644))
    (place,) = load(listed(tmp_path, text)).values()
    assert PASSWORD not in repr(place)
    load(listed(tmp_path, text.replace(f"me:{PASSWORD}@", ""), 0o644))
    with pytest.raises(SettingError, match="No such file"):
        load(tmp_path / "absent.toml")


def test_what_a_killed_process_fetched_is_deleted(tmp_path: Path) -> None:
    ended = subprocess.run(["sh", "-c", "echo $$"], capture_output=True, text=True, check=True).stdout.strip()
    for name in (f"{ended}-0", f"{os.getpid()}-0"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "table.csv").write_text("sex\n")
    sweep(tmp_path)
    assert [left.name for left in tmp_path.iterdir()] == [f"{os.getpid()}-0"]
