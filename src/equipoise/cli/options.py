"""The arguments that `plan`, `release` and `tune` share; `asking` makes a request of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "AcceptInferred",
    "Columns",
    "Delta",
    "Domain",
    "Engine",
    "Epsilon",
    "File",
    "LedgerUrl",
    "Memory",
    "Method",
    "Objective",
    "Options",
    "Public",
    "Pure",
    "Query",
    "SchemaFile",
    "TableName",
    "Workload",
    "Output",
    "Overwrite",
    "Rows",
    "Seed",
    "Threads",
]

TABLE, BUDGET, WORK = "The table", "The budget", "The work"

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="The private table: CSV, CSV.gz, Parquet or Arrow, or a folder or '*' pattern of such files; of items,"
        " also libsvm or .npz. Or a database's URL (postgresql:// sqlite:/// duckdb:///), or spark: for Spark's own"
        " tables.",
    ),
]
TableName = Annotated[
    str | None,
    typer.Option("--table", metavar="NAME", help="Which table of the database.", rich_help_panel=TABLE),
]
Query = Annotated[
    str | None,
    typer.Option("--query", metavar="SQL", help="Or what to select from it; only read.", rich_help_panel=TABLE),
]
Engine = Annotated[
    str,
    typer.Option(
        metavar="local|SPARK",
        help="Where rows are counted: here, or on Spark: spark (as configured), spark://host:port, 'local[*]'.",
        rich_help_panel=WORK,
    ),
]
SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        metavar="TOML",
        help="Its public schema.",
        rich_help_panel=TABLE,
    ),
]
Domain = Annotated[
    Path | None,
    typer.Option(
        "--domain", metavar="JSON", help='Instead of a schema: {"column": size}, codes from 0.', rich_help_panel=TABLE
    ),
]
Columns = Annotated[
    str | None, typer.Option(metavar="A,B,C", help="Release only these columns.", rich_help_panel=TABLE)
]
AcceptInferred = Annotated[
    bool,
    typer.Option(
        "--accept-inferred",
        help="Accept bounds and categories read from the data; recorded as outside the guarantee.",
        rich_help_panel=TABLE,
    ),
]
Public = Annotated[
    list[Path] | None,
    typer.Option(
        "--public",
        metavar="FILE",
        help="A public table with the same columns, or some of them; may be repeated. Its rows are not protected.",
        rich_help_panel=TABLE,
    ),
]
Epsilon = Annotated[float, typer.Option(help="Privacy budget of this release.", rich_help_panel=BUDGET)]
Delta = Annotated[float | None, typer.Option(help="Default: 1/n^2.", rich_help_panel=BUDGET)]
Pure = Annotated[
    bool, typer.Option("--pure", help="Pure epsilon: delta 0, for methods that offer it.", rich_help_panel=BUDGET)
]
LedgerUrl = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="PATH|URL",
        help="Where spending is recorded. Default: as the schema says.",
        rich_help_panel=BUDGET,
    ),
]
Workload = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT|JSON",
        help="What must come out right: 3-way; 2-way,3-way; random 64 3-way seed 0; or a JSON file."
        " Default: 3-way, or all columns if fewer. Cells: random 3-way x 100000, the default for items.",
        rich_help_panel=WORK,
    ),
]
Method = Annotated[str, typer.Option(help="See `equipoise methods`.", rich_help_panel=WORK)]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option", metavar="NAME=VALUE", help="An option of the method; may be repeated.", rich_help_panel=WORK
    ),
]
Objective = Annotated[
    str | None,
    typer.Option(
        metavar="max|mean|both",
        help="Which error matters most, for methods that can choose (auto, mixture, hdmm).",
        rich_help_panel=WORK,
    ),
]
Memory = Annotated[
    str,
    typer.Option(
        metavar="SIZE",
        help="Memory for scan and game; what does not fit is counted in more passes.",
        rich_help_panel=WORK,
    ),
]

Threads = Annotated[int | None, typer.Option(help="For the scan. Default: all cores.", rich_help_panel=WORK)]
Output = Annotated[Path, typer.Option("-o", "--output", metavar="OUT", help="The release folder to make.")]
Rows = Annotated[int | None, typer.Option(metavar="N", help="Synthetic rows. Default: as many as the table.")]
Seed = Annotated[int | None, typer.Option(help="Of public randomness only: never of the noise that protects.")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace a finished release by a new one, which is paid for anew.")
]
