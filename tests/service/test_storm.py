"""Many analysts at once while the server, and once the database, is killed: nothing paid twice, lost or overspent."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests import postgres
from tests.service.conftest import TOTAL, make_table
from tests.service.processes import Process

import equipoise as eq
from equipoise.privacy.ledger import Ledger
from equipoise.service.client import Answer

QUERIES = [f"sex = {sex} and age in {low}..{low + 19}" for sex in ("Female", "Male") for low in (0, 20, 40, 60, 80)]


@dataclass
class Asker:
    """An analyst who asks, repeats old questions now and then, and remembers every answer."""

    number: int
    token: str
    seen: dict[str, tuple[str, Answer]] = field(default_factory=dict)
    repeats: int = 0
    exhausted: bool = False
    failure: BaseException | None = None

    def work(self, address: str, until: Callable[[], bool]) -> None:
        rng = random.Random(self.number)
        try:
            with eq.Client(address, token=self.token, patience=300.0) as client:
                while not until():
                    if self.seen and rng.random() < 0.3:
                        self._repeat(client, rng.choice(sorted(self.seen)))
                    elif not self.exhausted:
                        self._ask(client, rng.choice(QUERIES))
        except BaseException as error:
            self.failure = error

    def _ask(self, client: eq.Client, query: str) -> None:
        key = f"{self.number}-{len(self.seen)}"
        try:
            self.seen[key] = query, client.ask(query, key=key)
        except eq.BudgetError:
            self.exhausted = True

    def _repeat(self, client: eq.Client, key: str) -> None:
        query, answer = self.seen[key]
        assert client.ask(query, key=key) == answer
        self.repeats += 1


def storm(
    folder: Path,
    database: str | None,
    *,
    num_analysts: int,
    seconds: float,
    queries_each: int,
    blows: list[Callable[[Process], None]],
) -> dict[str, Any]:
    make_table(folder / "root")
    process = Process(folder / "root", folder / "state", database).start()
    try:
        with eq.Client(process.address, token=process.token, patience=120.0) as steward:
            steward.register("people.csv", schema="people.toml", **TOTAL)
            steward.open_for_questions(
                "people",
                mode="noise",
                epsilon=10.0,
                analyst_epsilon=1.0,
                num_analysts=num_analysts,
                queries_each=queries_each,
            )
            askers = [Asker(i, steward.invite("people", f"analyst {i}")) for i in range(num_analysts)]
        end = time.monotonic() + seconds
        ended = threading.Event()
        threads = [threading.Thread(target=asker.work, args=(process.address, ended.is_set)) for asker in askers]
        for thread in threads:
            thread.start()
        for blow in blows:
            time.sleep(seconds / (len(blows) + 1))
            blow(process)
        time.sleep(max(0.0, end - time.monotonic()))
        ended.set()
        for thread in threads:
            thread.join(300)
        assert [asker.failure for asker in askers if asker.failure is not None] == []
        return check(process, askers, queries_each)
    finally:
        process.stop()


def check(process: Process, askers: list[Asker], queries_each: int) -> dict[str, Any]:
    """The ledger against what analysts saw, before and after every question is asked once more."""
    with eq.Client(process.address, token=process.token, patience=120.0) as steward:
        location = process.database or str(process.state.resolve() / "service.sqlite")
        for again in (False, True):
            used = {found["name"]: found for found in steward.analysts("people")}
            for asker in askers:
                mine = used[f"analyst {asker.number}"]
                # Mode noise: every answer is counted exactly and paid for, once.
                assert mine["asked"] == mine["paid"] == len(asker.seen) <= queries_each
            total = sum(len(asker.seen) for asker in askers)
            account = Ledger(location).existing("people")
            assert account is not None
            account.verify()
            (row,) = account.runs()
            run = account.run(row["run"])
            assert run is not None
            assert len(run.events()) == total
            assert run.spent().rho <= run.reserved.rho
            if not again:
                for asker in askers:
                    with eq.Client(process.address, token=asker.token, patience=120.0) as client:
                        for key, (query, answer) in asker.seen.items():
                            assert client.ask(query, key=key) == answer
    return {
        "answers": total,
        "repeats": sum(asker.repeats for asker in askers),
        "exhausted": sum(asker.exhausted for asker in askers),
        "spent": run.spent().rho,
    }


def kill_server(process: Process) -> None:
    process.kill()
    process.start()


def test_a_short_storm(tmp_path: Path) -> None:
    seen = storm(tmp_path, None, num_analysts=8, seconds=6, queries_each=40, blows=[kill_server])
    assert seen["answers"] > 8
    assert seen["repeats"] > 0


@pytest.mark.slow
def test_fifty_analysts_for_a_minute_and_three_kills(tmp_path: Path) -> None:
    seen = storm(tmp_path, None, num_analysts=50, seconds=60, queries_each=200, blows=[kill_server] * 3)
    print("storm on SQLite:", seen)  # noqa: T201
    assert seen["answers"] >= 50


@pytest.mark.slow
def test_the_same_on_postgresql_whose_database_is_restarted_too(
    tmp_path: Path, postgres_database: str, postgres_program: Any
) -> None:
    blows = [kill_server, lambda _process: postgres.restart(postgres_program), kill_server, kill_server]
    seen = storm(tmp_path, postgres_database, num_analysts=50, seconds=60, queries_each=200, blows=blows)
    print("storm on PostgreSQL:", seen)  # noqa: T201
    assert seen["answers"] >= 50
