"""The command line: one file a command.

Heavy modules are imported inside the commands, so that `equipoise --help` answers at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from equipoise.cli import (
    answer,
    audit,
    bench,
    cite,
    evaluate,
    learn,
    ledger,
    ledger_copies,
    methods,
    plan,
    predict,
    release,
    sample,
    schema,
    serve,
    tune,
    verify,
)
from equipoise.cli.group import ByDefault, Commands

__all__ = ["app", "main"]

EXIT_CODES = (
    "Exit codes: 0 done, 1 unexpected, 2 argument or option, 3 schema, 4 data, 5 query or workload, 6 budget, 7 memory,"
    " 8 ledger, 9 release folder, 10 no certificate, 130 interrupted, 143 terminated."
)

app = typer.Typer(
    name="equipoise",
    cls=Commands,
    rich_markup_mode="rich",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # they print local variables, which may be private
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EXIT_CODES,
)


def _add(
    command: Callable[..., Any], examples: tuple[str, ...], to: typer.Typer = app, name: str | None = None
) -> None:
    # Typer keeps the line ends of a docstring but joins those of an epilog: so the lines of the one are joined here,
    # and each example is a paragraph of the other.
    paragraphs = [" ".join(paragraph.split()) for paragraph in str(inspect.getdoc(command)).split("\n\n")]
    lines = [f"[bold]{'Examples' if len(examples) > 1 else 'Example'}[/bold]", *(f"$ {line}" for line in examples)]
    to.command(name, help="\n\n".join(paragraphs), epilog="\n\n".join(lines))(command)


_add(schema.schema, schema.EXAMPLES)
_add(plan.plan, plan.EXAMPLES)
_add(release.release, release.EXAMPLES)
_add(tune.tune, tune.EXAMPLES)
_add(learn.learn, learn.EXAMPLES)
_add(predict.predict, predict.EXAMPLES)
_add(answer.answer, answer.EXAMPLES)
_add(sample.sample, sample.EXAMPLES)
_add(evaluate.evaluate, evaluate.EXAMPLES)
_add(verify.verify, verify.EXAMPLES)
_add(audit.audit, audit.EXAMPLES)
ledgers = typer.Typer(cls=ByDefault, help=" ".join(str(ledger.__doc__).split(": ", 1)[1].split()).capitalize())
_add(ledger.ledger, ledger.EXAMPLES, ledgers, "show")
_add(
    ledger_copies.verify,
    ("equipoise ledger verify people.toml", "equipoise ledger verify people.ledger.sqlite"),
    ledgers,
)
_add(ledger_copies.backup, ("equipoise ledger backup people.toml people.ledger.copy",), ledgers)
_add(ledger_copies.restore, ("equipoise ledger restore people.toml people.ledger.copy",), ledgers)
app.add_typer(ledgers, name="ledger")
_add(serve.serve, serve.EXAMPLES)
_add(methods.methods, methods.EXAMPLES)
_add(cite.cite, cite.EXAMPLES)
app.add_typer(bench.app, name="bench", epilog="\n\n".join(f"$ {line}" for line in bench.EXAMPLES))


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"equipoise {version('equipoise')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    debug: Annotated[
        bool,
        typer.Option("--debug", envvar="EQUIPOISE_DEBUG", help="Show tracebacks, which may quote private data."),
    ] = False,
) -> None:
    """Private synthetic data and private answers from a sensitive table, with a guarantee that holds."""


def main() -> None:
    """The `equipoise` command."""
    app()
