"""Releases in worker processes: finished, cancelled, killed with the server or alone; never paid for twice."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.service.conftest import Service, Visitor, running, settings_of

from equipoise.privacy.ledger import Ledger

QUICK = {"epsilon": 1.0, "workload": "2-way", "method": "mwem", "columns": ["sex", "age", "region"], "rows": 100}
LONG = {"epsilon": 1.0, "workload": "3-way", "method": "pep"}


def until(steward: Visitor, job: str, *states: str) -> Any:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        found = steward.get(f"releases/{job}")
        if found["state"] in states:
            return found
        assert found["state"] in ("waiting", "working", "cancelling"), found
        time.sleep(0.05)
    raise AssertionError(f"still {found}")


def spent(service: Service) -> Fraction:
    account = Ledger(service.server.registry.get("people").ledger).existing("people")
    assert account is not None
    account.verify()
    return account.held().rho


def test_a_release_is_made_shared_and_downloaded(service: Service) -> None:
    service.register()
    ada = service.invite("Ada")
    job = service.steward.post("tables/people/releases", {**QUICK, "shared": True}, 202, key="k1")["id"]
    assert service.steward.post("tables/people/releases", {**QUICK, "shared": True}, 202, key="k1")["id"] == job
    assert service.steward.call("POST", "tables/people/releases", {**QUICK, "rows": 7}, key="k1").status_code == 409
    done = until(service.steward, job, "done")
    assert {"synthetic.csv", "statement.json", "report.html"} <= set(done["files"])
    statement = service.steward.get(f"releases/{job}/statement.json")
    assert statement["guarantee"]["epsilon"] == 1.0
    rows = service.steward.call("GET", f"releases/{job}/synthetic.csv").text.splitlines()
    assert len(rows) == 101
    assert [found["id"] for found in ada.get("shared")] == [job]
    assert ada.get(f"shared/{job}/statement.json") == statement
    private = service.steward.post("tables/people/releases", QUICK, 202)["id"]
    until(service.steward, private, "done")
    assert [found["id"] for found in ada.get("shared")] == [job]
    assert ada.call("GET", f"shared/{private}/statement.json").status_code == 404
    assert len(service.steward.get("tables/people/spending")["runs"]) == 2


def test_a_failed_release_can_be_tried_again(small: Service) -> None:
    small.register()
    table = small.settings.root / "people.csv"
    whole = table.read_text()
    table.write_text(whole + "Female,30,5.0,Elsewhere\n")
    job = small.steward.post("tables/people/releases", QUICK, 202)["id"]
    assert "region" in until(small.steward, job, "failed")["message"]
    table.write_text(whole)
    small.steward.post(f"releases/{job}/resume")
    assert until(small.steward, job, "done")["message"] == ""
    assert small.steward.call("POST", f"releases/{job}/resume").status_code == 409
    assert spent(small) > 0


def test_nothing_is_released_from_a_frozen_table(small: Service) -> None:
    small.register()
    job = small.steward.post("tables/people/releases", QUICK, 202)["id"]
    small.steward.post("tables/people/freeze")  # before the worker, which takes a second to start, is there
    assert "frozen" in until(small.steward, job, "failed")["message"]
    assert small.steward.call("POST", f"releases/{job}/resume").status_code == 409
    assert small.steward.get("tables/people/spending")["runs"] == []
    small.steward.post("tables/people/unfreeze")
    small.steward.post(f"releases/{job}/resume")
    until(small.steward, job, "done")


def test_copies_of_a_request_at_once_are_one_job(service: Service) -> None:
    service.register()
    found: list[Any] = []
    path = "tables/people/releases"

    def start() -> None:
        found.append(service.steward.call("POST", path, QUICK, key="k"))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer.status_code for answer in found] == [202] * 8
    (job,) = {answer.json()["id"] for answer in found}
    assert [one["id"] for one in service.steward.get(path)] == [job]
    service.steward.call("POST", f"releases/{job}/cancel")
    until(service.steward, job, "cancelled", "done")


def test_what_cannot_be_released_is_refused_at_once(small: Service) -> None:
    small.register()
    for change, status in (
        ({"workload": "nonsense"}, 422),
        ({"method": "nonsense"}, 422),
        ({"columns": ["nonsense"]}, 422),
        ({"epsilon": 25.0}, 409),
    ):
        assert small.steward.call("POST", "tables/people/releases", QUICK | change).status_code == status
    small.steward.post("tables/people/freeze")
    assert small.steward.call("POST", "tables/people/releases", QUICK).status_code == 409
    assert small.steward.get("tables/people/releases") == []


def worker_of(service: Service, job: str) -> int:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        worker = service.server.jobs.worker(job)
        if worker is not None and (service.settings.releases / job / ".run.json").is_file():
            return worker
        time.sleep(0.02)
    raise AssertionError("no worker")


def cancelled(service: Service) -> str:
    """A release that was cancelled in the middle; on a busy machine it may be done before its worker hears of it."""
    for _ in range(4):
        job = str(service.steward.post("tables/people/releases", LONG, 202)["id"])
        worker = worker_of(service, job)
        os.kill(worker, signal.SIGSTOP)
        service.steward.post(f"releases/{job}/cancel")
        os.kill(worker, signal.SIGCONT)
        if until(service.steward, job, "cancelled", "done")["state"] == "cancelled":
            return job
    raise AssertionError("always too late")


def test_a_cancelled_release_frees_what_it_did_not_spend(small: Service) -> None:
    small.register()
    job = cancelled(small)
    runs = small.steward.get("tables/people/spending")["runs"]
    assert [run["state"] for run in runs if run["state"] != "done"] in ([], ["closed"])
    assert small.steward.call("POST", f"releases/{job}/cancel").status_code == 409
    assert small.steward.call("GET", f"releases/{job}/statement.json").status_code == 404


@pytest.mark.parametrize("server_too", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_killed_worker_is_replaced_and_nothing_is_paid_twice(tmp_path: Path, server_too: bool) -> None:
    settings = settings_of(tmp_path, None)
    for service in running(settings):
        service.register()
        job = service.steward.post("tables/people/releases", LONG, 202)["id"]
        worker = worker_of(service, job)
        if server_too:
            service.server.jobs.close()
        os.kill(worker, signal.SIGKILL)
        if not server_too:
            assert until(service.steward, job, "done")["state"] == "done"
            run = json.loads((settings.releases / job / "statement.json").read_text())["ledger_run"]
            assert [found["run"] for found in service.steward.get("tables/people/spending")["runs"]] == [run]
            assert spent(service) > 0
            return
    for service in running(settings):
        assert until(service.steward, job, "done")["state"] == "done"
        assert len(service.steward.get("tables/people/spending")["runs"]) == 1
        assert spent(service) > 0
