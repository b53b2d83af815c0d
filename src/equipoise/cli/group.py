"""The group of commands: what happens when one of them fails.

A message is a release. Our own errors are written to name a column and a rule, so they are printed; anything else may
quote a cell, so by default only its type is.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from equipoise.cli.console import rich_console
from equipoise.errors import EquipoiseError

__all__ = ["ByDefault", "Commands"]

INTERRUPTED = 130
"""What shells expect after an interrupt: 128 and the signal's number."""

RESUME = "; nothing is lost: repeat the command to go on where it stopped. What was paid for is not paid for again"

_TYPER: tuple[type[BaseException], ...] = (typer.Exit, typer.Abort, typer.BadParameter.__mro__[2], BrokenPipeError)
"""What typer itself knows best how to end with. The third is the root of its usage errors, which it does not export."""


class Commands(TyperGroup):
    """Runs a command and turns what it raises into a message and an exit code."""

    _arguments: Sequence[str] = ()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Remember the arguments: a failing command must know whether JSON was asked for."""
        self._arguments = tuple(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except _TYPER:
            raise
        except (Exception, KeyboardInterrupt) as error:
            if ctx.params.get("debug"):
                traceback.print_exception(error, file=sys.stderr)
            self._fail(error)

    def _fail(self, error: BaseException) -> NoReturn:
        kind, message, exit_code = self._told(error)
        if "--json" in self._arguments:
            typer.echo(json.dumps({"error": {"kind": kind, "message": message, "exit_code": exit_code}}, indent=2))
        console = rich_console(stderr=True)
        console.print("error: ", style="bold red", end="")
        console.print(message, markup=False, soft_wrap=True)
        raise typer.Exit(exit_code)

    def _told(self, error: BaseException) -> tuple[str, str, int]:
        kind = type(error).__name__
        if isinstance(error, EquipoiseError):
            return kind, str(error), error.exit_code
        if isinstance(error, KeyboardInterrupt):
            begun = {"release", "tune"} & set(self._arguments)
            return kind, "interrupted" + (RESUME if begun else ""), INTERRUPTED
        if isinstance(error, MemoryError):
            return kind, "out of memory; release fewer columns, or use coarser bins", 1
        return (
            kind,
            f"unexpected {kind}. Its message is not shown, because it may quote private data; `equipoise --debug ...`"
            " shows it with a traceback",
            1,
        )


class ByDefault(TyperGroup):
    """A group whose first command is meant when none is named: `equipoise ledger people.toml` shows the ledger."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the first command's name before arguments that name none."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)
