"""`equipoise ledger` shows both accounts: the people's and the analysts'."""

from __future__ import annotations

import json
from pathlib import Path

from tests.analysts import MANY, table
from typer.testing import CliRunner

from equipoise.analysts import Session, answer_round
from equipoise.cli import app
from equipoise.privacy.ledger import Ledger

SCHEMA = """
[table]
name = "people"

[columns.a]
type = "boolean"
"""


def test_the_ledger_has_a_second_account_for_analysts(tmp_path: Path) -> None:
    settings = {"epsilon": 2.0, "analyst_epsilon": 5.0, "num_analysts": 1000, "queries_each": 10}
    answer_round(
        table(), {"ada": ["a = true"]}, mode="per-analyst", ledger=tmp_path / "people.ledger.sqlite", **settings
    )
    (tmp_path / "people.toml").write_text(SCHEMA)
    shown = CliRunner().invoke(app, ["ledger", str(tmp_path / "people.toml"), "--verify", "--json"])
    body = json.loads(shown.stdout)
    assert body["runs"][0]["spent"]["rho"] > 0
    assert body["analysts"]["runs"][0]["spent"]["rho"] > 0
    assert body["analysts"]["verified_entries"] > 0
    told = CliRunner().invoke(app, ["ledger", str(tmp_path / "people.toml")])
    assert "protects analysts" in told.stdout
    second = told.stdout.split("protects analysts")[1]
    assert "people (analysts)" in second
    assert "none declared: give analyst_total" in second
    assert "[privacy]" not in second


def closed(tmp_path: Path) -> tuple[int, str, str]:
    """The exit code of closing the session "spring", and how both of its runs stand then."""
    (tmp_path / "people.toml").write_text(SCHEMA)
    ended = CliRunner().invoke(app, ["ledger", str(tmp_path / "people.toml"), "--close", "spring"])
    ledger = Ledger(tmp_path / "people.ledger.sqlite")
    people, analysts = ledger.existing("people"), ledger.existing("people (analysts)")
    assert people is not None
    assert analysts is not None
    run, second = people.run("spring"), analysts.run("spring.analysts")
    assert run is not None
    assert second is not None
    return ended.exit_code, run.status, second.status


def opened(tmp_path: Path) -> Session:
    settings = {"epsilon": 1.0, "analyst_epsilon": 1.0, "num_analysts": 2, "queries_each": MANY}
    return Session.open(table(), mode="pmw", ledger=tmp_path / "people.ledger.sqlite", run="spring", **settings)


def test_closing_a_session_closes_it_in_both_accounts(tmp_path: Path) -> None:
    opened(tmp_path)
    assert closed(tmp_path) == (0, "closed", "closed")
    assert closed(tmp_path)[0] == 0


def test_closing_takes_up_where_a_crash_left_one_account_open(tmp_path: Path) -> None:
    session = opened(tmp_path)
    session._book.run.finish()
    assert closed(tmp_path) == (0, "done", "closed")
    assert closed(tmp_path)[0] != 0
