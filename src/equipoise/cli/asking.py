"""What a user asks for, from the texts of the command line: the tables opened, the request made."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.errors import SettingError

if TYPE_CHECKING:
    from equipoise.data.schema import Schema
    from equipoise.data.table import Table
    from equipoise.pipeline import Request

__all__ = ["ask", "open_anywhere", "open_publics", "open_table", "parse_bytes", "parse_options"]

_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_bytes(text: str) -> int:
    """A number of bytes from a text such as 4GB; units are powers of 1024.

    Example:
        >>> parse_bytes("4GB") == 4 * 2**30, parse_bytes("512 MiB") == 2**29
        (True, True)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", text.lower())
    if match is None or float(match[1]) == 0:
        raise SettingError(f"--memory {text!r} is not a size; write it as 512MB or 4GB")
    return int(float(match[1]) * 1024 ** _UNITS[match[2]])


def parse_options(pairs: Sequence[str] | None) -> dict[str, str]:
    """A method's options from texts NAME=VALUE.

    Example:
        >>> parse_options(["num_rounds=40"])
        {'num_rounds': '40'}
    """
    found: dict[str, str] = {}
    for pair in pairs or ():
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not name or name in found:
            raise SettingError(f"--option {pair!r}: write each option once, as NAME=VALUE")
        found[name] = value
    return found


def open_table(
    file: str | Path,
    *,
    schema: Path | None,
    domain: Path | None,
    columns: str | None,
    workload: str | None,
    table: str | None = None,
    query: str | None = None,
    engine: str = "local",
) -> Table:
    """The table with the columns that are asked for: by `--columns`, else by the workload file, else all."""
    from equipoise.queries.build import columns_of

    if (schema is None) == (domain is None):
        raise SettingError("give the public schema: either --schema people.toml or --domain people.domain.json")
    chosen = schema or domain
    assert chosen is not None
    ending = ".toml" if schema is not None else ".json"
    if chosen.suffix.lower() != ending:
        raise SettingError(f"{chosen}: --schema takes a TOML file, --domain a JSON file")
    opened = open_anywhere(file, chosen, table=table, query=query, engine=engine)
    names = None if workload is None else columns_of(workload)
    if columns is not None:
        names = [name.strip() for name in columns.split(",")]
    return opened if names is None else opened.select(names)


def open_anywhere(
    file: str | Path, schema: Path | Schema, *, table: str | None, query: str | None, engine: str
) -> Table:
    """The table behind a path, a database's URL, or `spark:` for a table or query of Spark's own."""
    from equipoise.data.table import read

    if str(file) != "spark:":
        return read(file, schema=schema, table=table, query=query, engine=engine)
    from equipoise.data.spark import frame_of

    return read(frame_of("spark" if engine == "local" else engine, table=table, query=query), schema=schema)


def open_publics(files: Sequence[Path] | None, table: Table) -> list[Table] | None:
    """The public tables, in the private table's columns; None when there are none."""
    from equipoise.data.public import read_public

    return [read_public(file, table.schema) for file in files] if files else None


def ask(given: Mapping[str, Any], **fixed: Any) -> Request:
    """What the user asks for, with the texts of the command line understood.

    Args:
        given: A command's arguments by name, which are called the same in every command: its `locals()`.
        fixed: Fields of the request that the command decides.
    """
    from equipoise.pipeline import Request

    workload = given["workload"]
    places = {name: given[name] for name in ("table", "query", "engine") if name in given}
    table = open_table(
        given["file"],
        schema=given["schema"],
        domain=given["domain"],
        columns=given["columns"],
        workload=workload,
        **places,
    )
    options = parse_options(given["option"])
    if given["objective"] is not None:
        options["objective"] = given["objective"]
    names = ("epsilon", "delta", "pure", "ledger", "method", "accept_inferred", "threads", "seed")
    return Request(
        table,
        public=open_publics(given["public"], table),
        workload=workload,
        options=options,
        memory_limit=parse_bytes(given["memory"]),
        num_rows=given.get("rows"),
        **{name: given[name] for name in names if name in given} | fixed,
    )
