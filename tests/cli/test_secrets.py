"""Secrets never in a process's arguments, and files that hold any for their owner alone."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.cli.group import require_no_secret
from equipoise.errors import SettingError
from equipoise.privacy.backup import backup
from equipoise.service.database import connect

Bench = Any

ADDRESSES = (
    "postgresql://me:hunter2@127.0.0.1/ledger",
    "postgres://:hunter2@/ledger",
    "postgresql+psycopg://me:hunter2@127.0.0.1:5432/ledger?host=x",
    "postgresql://me@127.0.0.1/ledger?password=hunter2",
    "--ledger=postgresql://me:hunter2@127.0.0.1/ledger",
    "--database=postgresql://127.0.0.1/x?sslmode=require&password=hunter2",
)
HARMLESS = (
    "postgresql://me@127.0.0.1:5432/ledger",
    "postgresql://me:@/ledger?host=/run/x",
    "sqlite:////data/people.db",
    "spark://host:7077",
    "age: 3@4",
    "C:/a:b@c",
)


def commands(group: Any = None, *names: str) -> Iterator[tuple[str, ...]]:
    """Every command of the program, by name."""
    group = typer.main.get_command(app) if group is None else group
    for name, found in group.commands.items():
        if hasattr(found, "commands"):
            yield from commands(found, *names, name)
        else:
            yield (*names, name)


def test_every_command_refuses_a_password_in_its_arguments() -> None:
    walked = list(commands())
    assert {("release",), ("serve",), ("ledger", "verify"), ("bench", "run")} <= set(walked) or len(walked) > 15
    for number, words in enumerate(walked):
        result = CliRunner().invoke(app, [*words, ADDRESSES[number % len(ADDRESSES)]])
        assert result.exit_code == 2, (words, result.output)
        assert "password" in result.stderr, (words, result.output)
        assert "hunter2" not in result.output + result.stderr


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_password_is_known_in_every_form_of_an_address(address: str) -> None:
    with pytest.raises(SettingError, match="PGPASSWORD"):
        require_no_secret(["release", address])


def test_what_has_no_password_passes() -> None:
    require_no_secret(HARMLESS)


def test_no_option_takes_a_secret() -> None:
    """Tokens and passwords come from files and variables, so there is no option that could hold one."""

    def walk(group: Any) -> Iterator[str]:
        for found in group.commands.values():
            if hasattr(found, "commands"):
                yield from walk(found)
            else:
                yield from (name for parameter in found.params for name in parameter.opts)

    names = list(walk(typer.main.get_command(app)))
    assert "--ledger" in names
    assert not [name for name in names if any(word in name for word in ("password", "token", "secret"))]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_ledgers_anchors_copies_and_the_services_database_are_for_their_owner_alone(bench: Bench) -> None:
    before = os.umask(0o000)  # as careless as can be
    try:
        assert bench.release().exit_code == 0
        backup(bench.ledger, bench.folder / "copy.sqlite")
        engine = connect(bench.folder / "service.sqlite")
        beside = list(bench.folder.glob("service.sqlite-*"))
        engine.dispose()
    finally:
        os.umask(before)
    anchor = bench.folder / f"{bench.ledger.name}.anchor"
    for path in (bench.ledger, anchor, bench.folder / "copy.sqlite", bench.folder / "service.sqlite"):
        assert mode(path) == 0o600, path
    assert all(mode(path) == 0o600 for path in beside if path.exists())


def test_a_ledger_that_a_group_shares_stays_shared(bench: Bench) -> None:
    assert bench.release().exit_code == 0
    bench.ledger.chmod(0o660)
    assert bench.release(out=bench.folder / "out2", epsilon=0.5).exit_code == 0
    assert mode(bench.ledger) == 0o660
