"""How commands speak: results on stdout, as text or as one JSON object; notes and progress on stderr.

Progress shows public quantities only, and only on a terminal. Texts that come from files are printed as they are, never
read as markup.
"""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console as RichConsole
    from rich.table import Table as RichTable

    from equipoise.core import Progress

__all__ = ["Json", "Quiet", "Speaker", "amount", "answered", "counted", "pairs", "rich_console", "sized", "table_of"]

Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no notes; errors and results still show.")]

answered: ContextVar[bool] = ContextVar("answered", default=False)
"""Whether the command has printed its JSON object: if it fails after that, as `verify` does, there is no second one."""

PIPED_WIDTH = 160
"""Columns of text when stdout is not a terminal, so that tables in logs are not cut."""


def rich_console(*, stderr: bool = False) -> RichConsole:
    """A rich console on today's stdout or stderr."""
    from rich.console import Console as RichConsole

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else PIPED_WIDTH
    return RichConsole(stderr=stderr, width=width, highlight=False, emoji=False)


class Speaker:
    """One command's voice."""

    def __init__(self, *, json: bool, quiet: bool) -> None:
        self.json = json
        self.quiet = quiet

    def result(self, body: dict[str, Any], shown: Iterable[Any]) -> None:
        """Print what the command is for: the body as JSON, or else what is shown to people."""
        if self.json:
            typer.echo(json_format.dumps(body, indent=2, ensure_ascii=False, allow_nan=False))
            answered.set(True)
            return
        console = rich_console()
        for item in shown:
            console.print(item, markup=False, soft_wrap=isinstance(item, str))

    def note(self, text: str) -> None:
        """Say something on the side: never part of the result."""
        if not self.quiet and not self.json:
            rich_console(stderr=True).print(text, markup=False, soft_wrap=True)

    @contextmanager
    def steps(self, name: str) -> Iterator[Progress]:
        """Show a step of the work while it lasts (`pipeline.Steps`): a bar and the time left, on a terminal only."""
        from equipoise.core import silent

        if self.quiet or not sys.stderr.isatty():
            yield silent
            return
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        display = RichProgress(
            TextColumn("{task.description:<10}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[amount]}", markup=False),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=rich_console(stderr=True),
        )
        with display:
            task = display.add_task(name, total=None, amount="")
            yield _Bar(lambda done, total, amount: display.update(task, completed=done, total=total, amount=amount))
            finished = display.tasks[0].total or 1
            display.update(task, completed=finished, total=finished)


class _Bar:
    """A bar on a terminal (`core.Measured`)."""

    def __init__(self, update: Callable[[int, int, str], None]) -> None:
        self._update = update
        self._measured = False
        self._num_bytes: int | None = None

    def measure(self, num_bytes: int | None) -> None:
        self._measured, self._num_bytes = True, num_bytes

    def __call__(self, done: int, total: int) -> None:
        self._update(done, total, amount(done, total, self._num_bytes) if self._measured else "")


def amount(done: int, total: int, num_bytes: int | None) -> str:
    """How far a scan is, in rows and bytes.

    Example:
        >>> amount(1200, 4000, 10 * 2**20), amount(5, 10, None)
        ('1,200 of 4,000 rows, 3 MiB of 10 MiB', '5 of 10 rows')
    """
    rows = f"{done:,} of {total:,} rows"
    if num_bytes is None or total == 0:
        return rows
    return f"{rows}, {sized(num_bytes * done // total)} of {sized(num_bytes)}"


def pairs(rows: Iterable[tuple[str, str]]) -> RichTable:
    """Names and values in two aligned columns."""
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(Text(name, style="bold"), Text(value))
    return table


def table_of(titles: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[int] = ()) -> RichTable:
    """A table with a title line; the columns numbered in `right` are aligned on the right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable(box=SIMPLE_HEAD, pad_edge=False)
    for position, title in enumerate(titles):
        table.add_column(title, justify="right" if position in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def counted(number: int, noun: str) -> str:
    """A number and its noun.

    Example:
        >>> counted(1, "round"), counted(1200, "round")
        ('1 round', '1,200 rounds')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def sized(num_bytes: int) -> str:
    """A number of bytes for people.

    Example:
        >>> sized(700), sized(3 * 2**20), sized(4 * 2**30)
        ('1 KiB', '3 MiB', '4 GiB')
    """
    for unit, size in (("GiB", 2**30), ("MiB", 2**20)):
        if num_bytes >= size:
            return f"{num_bytes / size:.3g} {unit}"
    return f"{max(1, round(num_bytes / 1024))} KiB"
