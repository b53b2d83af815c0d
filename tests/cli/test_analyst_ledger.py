"""`equipoise ledger` shows both accounts: the people's and the analysts'."""

from __future__ import annotations

import json
from pathlib import Path

from tests.analysts import table
from typer.testing import CliRunner

from equipoise.analysts import answer_round
from equipoise.cli import app

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
