"""A short round of fuzzing in every test run; `make fuzz` is the long one."""

from __future__ import annotations

import pytest
from tests.fuzz.mutations import fuzz
from tests.fuzz.targets import SEEDS, TARGETS, attempt

SLOW = {"http_body": 150, "ledger_file": 40, "anchor_file": 100, "statement": 200, "csv_table": 200, "schema_file": 200}


@pytest.mark.parametrize("name", TARGETS)
def test_only_our_own_errors_come_out(name: str) -> None:
    assert fuzz(name, 1, SLOW.get(name, 1000))["crashes"] == {}


@pytest.mark.parametrize("name", [name for name in TARGETS if name not in ("ledger_file", "statement")])
def test_the_seeds_are_valid(name: str) -> None:
    assert any(attempt(name, seed) for seed in SEEDS[name])


def test_the_fuzzer_sees_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(data: bytes) -> None:
        raise IndexError

    monkeypatch.setitem(TARGETS, "query_text", broken)
    assert fuzz("query_text", 1, 3)["crashes"]
