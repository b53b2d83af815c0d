"""What the command line does when something unforeseen happens, and how quickly it answers."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
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


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_what_stops_a_command_is_told_even_when_it_ends_in_another_error(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        try:
            signal.raise_signal(number)
        except KeyboardInterrupt:  # as compiled modules do whose import is interrupted
            raise ImportError("multiarray failed to import") from None

    monkeypatch.setattr("equipoise.pipeline.count", interrupted)
    before = signal.getsignal(number)
    result = bench.release()
    assert result.exit_code == code
    assert "nothing is lost" in result.stderr
    assert signal.getsignal(number) is before


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_that_comes_in_a_finaliser_is_not_lost(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    class Freed:
        def __del__(self) -> None:  # Python drops what is raised in here
            signal.raise_signal(number)

    def freeing(*_: object, **__: object) -> None:
        Freed()
        end = time.monotonic() + 60.0
        while time.monotonic() < end:
            time.sleep(0.001)

    monkeypatch.setattr("equipoise.pipeline.count", freeing)
    before = signal.getsignal(number), sys.unraisablehook
    result = bench.release()
    assert result.exit_code == code
    assert "nothing is lost" in result.stderr
    assert "Traceback" not in result.text
    assert (signal.getsignal(number), sys.unraisablehook) == before


@pytest.mark.usefixtures("interruptible")
def test_a_signal_that_a_library_logs_shows_no_traceback(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    library = logging.getLogger("tests.a_library")
    library.propagate = False  # nobody has set up logging: what it says goes to stderr

    def closing(*_: object, **__: object) -> None:
        try:
            raise ValueError("its own")
        except ValueError:
            library.exception("worth telling")
        try:
            signal.raise_signal(signal.SIGTERM)
        except BaseException:
            library.exception("cannot close")
            raise

    monkeypatch.setattr("equipoise.pipeline.count", closing)
    result = bench.release()
    assert result.exit_code == 143
    assert "worth telling" in result.stderr
    assert "cannot close" not in result.stderr
    assert logging.lastResort is not None
    assert not logging.lastResort.filters


def test_an_ignored_interrupt_stays_ignored(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr("equipoise.pipeline.count", lambda *_, **__: seen.append(signal.getsignal(signal.SIGINT)))
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        bench.release()
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIG_IGN]


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
