"""Many analysts at once while the server, and once the database, is killed: nothing paid twice, lost or overspent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests import postgres
from tests.service.processes import Process
from tests.service.storms import TERMS, storm


def kill_server(process: Process) -> None:
    process.kill()
    process.start()


def test_a_short_storm_over_a_table_of_each_mode(tmp_path: Path) -> None:
    seen = storm(
        tmp_path,
        None,
        modes=list(TERMS),
        analysts_each=3,
        seconds=4,
        pause=0.02,
        least=10,
        blows=[kill_server],
        changes={"queries_each": 40},
    )
    assert all(found["paid"] > 0 for found in seen.values())
    assert sum(found["repeats"] for found in seen.values()) > 0


@pytest.mark.slow
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("mode", list(TERMS))
def test_fifty_analysts_for_a_minute_and_three_kills(tmp_path: Path, mode: str) -> None:
    seen = storm(
        tmp_path, None, modes=[mode], analysts_each=50, seconds=60, pause=0.5, least=500, blows=[kill_server] * 3
    )
    print("storm on SQLite:", seen)  # noqa: T201
    assert seen[mode]["paid"] > 0


@pytest.mark.slow
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("mode", list(TERMS))
def test_the_same_on_postgresql_whose_database_is_restarted_too(
    tmp_path: Path, postgres_database: str, postgres_program: Any, mode: str
) -> None:
    blows = [kill_server, lambda _: postgres.restart(postgres_program), kill_server, kill_server]
    seen = storm(
        tmp_path, postgres_database, modes=[mode], analysts_each=50, seconds=60, pause=0.5, least=500, blows=blows
    )
    print("storm on PostgreSQL:", seen)  # noqa: T201
    assert seen[mode]["paid"] > 0
