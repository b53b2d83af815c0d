"""The group of commands: what happens when one of them fails, is stopped, or is given a secret.

A message is a release. Our own errors are written to name a column and a rule, so they are printed; anything else may
quote a cell, so by default only its type is.
"""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from equipoise.cli.console import answered, rich_console
from equipoise.errors import CapacityError, EquipoiseError, SettingError

__all__ = ["ByDefault", "Commands"]

INTERRUPTED, TERMINATED = 130, 143
"""What shells expect after SIGINT and SIGTERM: 128 and the signal's number."""

AGAIN_SECONDS = 0.01
"""After which a signal that was dropped is sent again."""

RESUMABLE = frozenset({"release", "tune", "learn"})
RESUME = "; nothing is lost: repeat the command to go on where it stopped. What was paid for is not paid for again"

_TYPER: tuple[type[BaseException], ...] = (typer.Exit, typer.Abort, typer.BadParameter.__mro__[2], BrokenPipeError)
"""What typer itself knows best how to end with. The third is the root of its usage errors, which it does not export."""


_SECRET = re.compile(
    r"[a-z][a-z0-9+.-]*://(?:[^/@\s]*:[^/@\s]+@|\S*[?&](?:password|sslpassword)=[^&\s])", re.IGNORECASE
)
"""A database's address with a password in it."""


class Terminated(KeyboardInterrupt):
    """SIGTERM: handled where an interrupt is."""


class Commands(TyperGroup):
    """Runs a command and turns what it raises into a message and an exit code."""

    _arguments: Sequence[str] = ()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Remember the arguments: a failing command must know whether JSON was asked for."""
        self._arguments = tuple(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        signals = _Signals()
        answered.set(False)
        try:
            require_no_secret(self._arguments)
            with signals.heeded():
                return super().invoke(ctx)
        except _TYPER:
            raise
        except (Exception, KeyboardInterrupt) as error:
            if ctx.params.get("debug"):
                traceback.print_exception(error, file=sys.stderr)
            self._fail(error if isinstance(error, EquipoiseError) else signals.raised or error)

    def _fail(self, error: BaseException) -> NoReturn:
        kind, message, exit_code = self._told(error)
        if "--json" in self._arguments and not answered.get():  # one object on stdout, whatever happens
            typer.echo(json.dumps({"error": {"kind": kind, "message": message, "exit_code": exit_code}}, indent=2))
        console = rich_console(stderr=True)
        console.print("error: ", style="bold red", end="")
        console.print(message, markup=False, soft_wrap=True)
        raise typer.Exit(exit_code)

    def _told(self, error: BaseException) -> tuple[str, str, int]:
        kind = type(error).__name__
        if isinstance(error, EquipoiseError):
            return kind, str(error), error.exit_code
        resume = RESUME if RESUMABLE & set(self._arguments) else ""
        if isinstance(error, Terminated):
            return kind, f"stopped by SIGTERM{resume}", TERMINATED
        if isinstance(error, KeyboardInterrupt):
            return kind, f"interrupted{resume}", INTERRUPTED
        if isinstance(error, MemoryError):
            return (
                kind,
                f"out of memory: it needs more, or fewer columns or coarser bins{resume}",
                CapacityError.exit_code,
            )
        return (
            kind,
            f"unexpected {kind}. Its message is not shown, because it may quote private data; `equipoise --debug ...`"
            " shows it with a traceback",
            1,
        )


def require_no_secret(arguments: Sequence[str]) -> None:
    """Refuse a password in an argument: every user of the machine can read a process's arguments.

    Raises:
        SettingError: one of them is an address with a password.

    Example:
        >>> require_no_secret(["release", "postgresql://me@db.example/people", "--table", "a:b@c"])
    """
    if any(_SECRET.search(argument) for argument in arguments):
        raise SettingError(
            "an address in the arguments has a password, which every user of this machine can read there. Leave it out"
            " of the address, and put it into the file ~/.pgpass or the variable PGPASSWORD; then change it"
        )


class _Signals:
    """SIGINT and SIGTERM end a command alike: what is open is closed, and the user told how to go on.

    What was raised is kept: compiled code that is interrupted, as when it imports a module, may end in an error of
    its own. In a finaliser (`__del__`) Python drops what is raised; then the signal is sent again a moment later. A
    library that logs what passes through it (SQLAlchemy, when it closes a connection) would show a traceback of it.
    """

    raised: KeyboardInterrupt | None = None
    _resent: threading.Timer | None = None

    @contextmanager
    def heeded(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():  # signals are not for other threads to handle
            yield
            return
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        # Ignored, as under nohup, it stays ignored; None is a handler that Python cannot put back.
        heeded = [number for number, handler in before.items() if handler not in (signal.SIG_IGN, None)]
        for number in heeded:
            signal.signal(number, self._stop)
        unraisable, sys.unraisablehook = sys.unraisablehook, self._again
        shown = logging.lastResort  # what writes to stderr where nobody has set up logging
        if shown is not None:
            shown.addFilter(self._is_news)
        try:
            yield
        finally:
            if shown is not None:
                shown.removeFilter(self._is_news)
            if self._resent is not None:
                self._resent.cancel()
            sys.unraisablehook = unraisable
            for number in heeded:
                signal.signal(number, before[number])

    def _stop(self, number: int, _frame: object) -> NoReturn:
        signal.signal(number, signal.SIG_DFL)  # who cannot wait sends a second one
        self.raised = Terminated() if number == signal.SIGTERM else KeyboardInterrupt()
        raise self.raised

    def _is_news(self, record: logging.LogRecord) -> bool:
        return self.raised is None or record.exc_info is None or record.exc_info[1] is not self.raised

    def _again(self, dropped: sys.UnraisableHookArgs) -> None:
        if self.raised is None or dropped.exc_value is not self.raised:
            sys.__unraisablehook__(dropped)
            return
        number = signal.SIGTERM if isinstance(self.raised, Terminated) else signal.SIGINT
        signal.signal(number, self._stop)
        # Not at once: it would be raised in here, and dropped again.
        self._resent = threading.Timer(AGAIN_SECONDS, os.kill, (os.getpid(), number))
        self._resent.start()


class ByDefault(TyperGroup):
    """A group whose first command is meant when none is named: `equipoise ledger people.toml` shows the ledger."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the first command's name before arguments that name none."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)
