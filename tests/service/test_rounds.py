"""Collections of every mode, handed in and closed while the server is killed: each answered and paid for once."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from tests.service.conftest import TOTAL, make_table
from tests.service.processes import Process

import equipoise as eq
from equipoise.privacy.ledger import Ledger

MODES = ("noise", "per-query", "per-analyst", "apart")
BATCH = ["sex = Female", ["sex", "region"], "age >= 40"]
NUM_ANALYSTS = 4


def hand_in(address: str, token: str, collections: list[str]) -> None:
    with eq.Client(address, token=token, patience=1800.0) as client:
        for collection in collections:
            client.hand_in(collection, BATCH)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_rounds_of_every_mode_are_answered_once_whatever_is_killed(tmp_path: Path, database: str | None) -> None:
    make_table(tmp_path / "root")
    process = Process(tmp_path / "root", tmp_path / "state", database).start()
    terms = {"epsilon": 2.0, "analyst_epsilon": 2.0, "num_analysts": NUM_ANALYSTS, "queries_each": 9}
    try:
        with eq.Client(process.address, token=process.token, patience=1800.0) as steward:
            steward.register("people.csv", schema="people.toml", **TOTAL)
            tokens = [steward.invite("people", f"analyst {number}") for number in range(NUM_ANALYSTS)]
            collections = [steward.open_collection("people", mode=mode, **terms) for mode in MODES]
            threads = [threading.Thread(target=hand_in, args=(process.address, t, collections)) for t in tokens]
            for thread in threads:
                thread.start()
            process.kill()
            process.start()
            for thread in threads:
                thread.join(300)
            jobs = []
            for collection in collections:
                jobs.append(steward.close_collection(collection))
                process.kill()
                process.start()
                assert steward.close_collection(collection) == jobs[-1]
            for job in jobs:
                steward.wait(job, seconds=600)
        told = [answers(process, token, collections) for token in tokens]
        process.kill()
        process.start()
        assert [answers(process, token, collections) for token in tokens] == told
        account = Ledger(process.database or str(process.state.resolve() / "service.sqlite")).existing("people")
        assert account is not None
        account.verify()
        runs = account.runs()
        assert [run["status"] for run in runs] == ["done"] * len(MODES)
        assert len({run["run"] for run in runs} & set(collections)) == len(MODES)
        assert all(0 < run["spent"].rho <= run["reserved"].rho for run in runs)
    finally:
        process.stop()


def answers(process: Process, token: str, collections: list[str]) -> list[object]:
    with eq.Client(process.address, token=token, patience=1800.0) as client:
        found = [client.batch(collection) for collection in collections]
    assert [len(batch or []) for batch in found] == [8] * len(collections)
    return list(found)
