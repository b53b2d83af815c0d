"""What the command line does when something unforeseen happens, and how quickly it answers."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

Bench = Any

SECRET = "Zanzibar"


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A third-party failure whose message quotes a cell."""

    def fail(*_: object, **__: object) -> None:
        raise ValueError(f"cannot convert {SECRET}")

    monkeypatch.setattr("equipoise.pipeline.count", fail)


@pytest.mark.usefixtures("broken")
def test_an_unexpected_failure_says_its_type_only(bench: Bench) -> None:
    result = bench.release()
    assert result.exit_code == 1
    assert "unexpected ValueError" in result.stderr
    assert SECRET not in result.text
    assert "Traceback" not in result.text


@pytest.mark.usefixtures("broken")
def test_debug_shows_the_traceback(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("release", bench.table, "--schema", bench.schema, "--columns", "sex,age,region", "--epsilon", 1)
    result = bench.run("--debug", *arguments, "--method", "mwem", "-o", bench.out)
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    monkeypatch.setenv("EQUIPOISE_DEBUG", "1")
    assert "Traceback" in bench.release().stderr


def test_version_and_usage(bench: Bench) -> None:
    from importlib.metadata import version

    assert bench.run("--version").stdout == f"equipoise {version('equipoise')}\n"
    assert bench.run("nosuch").exit_code == 2
    assert bench.run("release").exit_code == 2


@pytest.mark.parametrize(
    "command", ["schema", "plan", "release", "answer", "evaluate", "verify", "ledger verify", "methods"]
)
def test_help_has_an_example(bench: Bench, command: str) -> None:
    result = bench.run(*command.split(), "--help")
    assert result.exit_code == 0
    assert f"$ equipoise {command}" in result.text
    assert "--json" in result.text
    assert "--quiet" in result.text


def test_help_does_not_load_the_heavy_modules() -> None:
    code = (
        "import sys\n"
        "from equipoise.cli import app\n"
        "app(['release', '--help'], standalone_mode=False)\n"
        "heavy = {'numpy', 'numba', 'pyarrow', 'opendp', 'scipy', 'sqlalchemy', 'matplotlib'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


def test_a_closed_pipe_ends_quietly(released: Bench) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        arguments = [sys.executable, "-m", "equipoise.cli", "answer", str(released.out), "sex = Female", "--json"]
        found = subprocess.run(arguments, stdout=closed, stderr=subprocess.PIPE, text=True, check=False)
    assert "Traceback" not in found.stderr
    assert "unexpected" not in found.stderr


def test_progress_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from equipoise.cli.console import Speaker

    for terminal, quiet in ((True, False), (True, True), (False, False)):
        monkeypatch.setattr(sys.stderr, "isatty", lambda shown=terminal: shown)
        with Speaker(json=False, quiet=quiet).steps("Counting") as progress:
            progress(3, 6)
        said = capsys.readouterr()
        assert said.out == ""
        assert ("Counting" in said.err) == (terminal and not quiet)
