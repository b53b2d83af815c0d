"""Draft a schema from a table, for a person to check.

A draft looks at the data without any protection. It is a convenience for someone who may see the table, and everything
in it that came from the table is marked, so that a release refuses it until it is confirmed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import tomlkit
from tomlkit.items import Array
from tomlkit.items import Table as Section

from equipoise.data.inference import Guess, guess
from equipoise.data.item_draft import draft_items
from equipoise.data.sources import Source, hint_at, open_source
from equipoise.errors import DataError

__all__ = ["draft"]

_HEADER = """\
Schema of a table, drafted from the table itself. Check it before anything is released.

Whatever a schema says is public. The category lists and bounds below were read from the data, without any protection,
so they are outside the privacy guarantee: a rare category or an extreme value can give a person away. Replace them by
what you know without looking (a code book, a law, common sense), then set confirmed = true column by column.
"""

_KEYS = """\
[columns.<name>] sections: type = "categorical" | "ordinal" | "boolean" | "integer" | "real" | "date"
  values = [...]           categorical, ordinal (lowest first);  other = "..." takes what is not listed (categorical)
  min, max, bins | edges   integer, real, date;  a value outside: out_of_bounds = "refuse" | "clip" | "bucket"
  nullable = true          cells may be missing;  missing = ["NA", "?"] lists texts that mean it
  decimals = 2             real: places that synthetic values have

[rules] section: what cannot be, known without looking at the table. No synthetic row will break a rule.
  impossible = ["age < 15 and marital = Married"]      conditions that no record fulfils together
  implies = ["relationship = Husband -> sex = Male"]   what follows from what; a missing value fulfils no = or <
"""

_ITEM_KEYS = """\
[items] keys: what the lists of a table of items may hold; each item is a column, in the list or not
  names = [...] | "items.txt" (one name a line) | count = 1000 (numbers from first = 0)
  column = "items"         the column of lists, or of texts with separator = ","
  unknown = "refuse" | "ignore"   what to do with an item that is not declared
"""


def draft(source: Any, *, name: str | None = None) -> str:
    """The text of a schema file for a table: TOML with comments, `confirmed = false` where the data was looked at.

    Args:
        source: A path, data frame or Arrow table, as for `table.read`.
        name: The table's name; the file's by default.

    Raises:
        DataError: The table cannot be read or has no rows.

    Example:
        >>> print(draft(pa.table({"sex": ["F", "M", "F"]}), name="people").split("[columns.sex]")[1].strip())
        type = "categorical"
        # values read from the data
        values = ["F", "M"]
        confirmed = false
    """
    if name is None:
        name = Path(source).name.split(".")[0] if isinstance(source, (str, Path)) else "table"
    if (items := draft_items(source)) is not None:
        return tomlkit.dumps(_document(name, {}, items))
    opened = open_source(source)
    if len(set(opened.names)) != len(opened.names):
        raise DataError("two columns of the table have the same name; rename one")
    if hint := hint_at(opened.names):
        raise DataError(f"the table has one column only{hint}")
    if not all(column.strip() for column in opened.names):
        raise DataError("a column of the table has no name; give it one in the first line")
    if next(opened.batches(opened.names[:1], 1), None) is None:
        raise DataError("the table has no rows")
    guesses = {column: guess(column, _whole_column(opened, column)) for column in opened.names}
    if all(found.kind is None for found in guesses.values()):
        raise DataError(
            "no column of the table can be released: all are empty, identifiers or free text. If each line is a list of"
            ' items, write the schema yourself: a section [items] with count = ... and separator = " "'
        )
    return tomlkit.dumps(_document(name, guesses))


def _whole_column(source: Source, column: str) -> Any:
    """One column at a time: memory is bounded by the widest."""
    return pa.chunked_array([batch.column(0) for batch in source.batches([column], 2**20)])


def _document(name: str, guesses: dict[str, Guess], items: Section | None = None) -> tomlkit.TOMLDocument:
    document = tomlkit.document()
    _comment(document, _HEADER)
    document.add(tomlkit.nl())
    document.add("table", _table(name, guesses))
    document.add("privacy", _privacy(name))
    if items is not None:
        _comment(document, _ITEM_KEYS)
        document.add("items", items)
        return document
    _comment(document, _KEYS)
    columns = tomlkit.table(is_super_table=True)
    for column, found in guesses.items():
        if found.kind is not None:
            columns.add(column, _column(found))
    document.add("columns", columns)
    return document


def _table(name: str, guesses: dict[str, Guess]) -> Section:
    table = tomlkit.table()
    table.add("name", name)
    for column, found in guesses.items():
        if found.identifies:
            line = tomlkit.dumps({"unit": column}).strip()
            table.add(tomlkit.comment(f"{line}  # candidate: {found.reason}; rows of one unit are protected together"))
    table.add(tomlkit.comment("rows_per_unit = 1  # at most this many rows of a unit are used, chosen at random"))
    dropped = tomlkit.array()
    for column, found in guesses.items():
        if found.kind is None:
            dropped.add_line(column, comment=found.reason)
    if dropped:
        dropped.add_line(indent="")
        table.add(tomlkit.comment("Never read:"))
        table.add("drop", dropped)
    table.add(tomlkit.nl())
    return table


def _privacy(name: str) -> Section:
    privacy = tomlkit.table()
    privacy.add(tomlkit.comment("epsilon = 1.0  # total for this table, over all releases: yours to decide"))
    privacy.add(tomlkit.comment("delta = 1e-9"))
    privacy.add("ledger", f"{name}.ledger.sqlite")
    privacy["ledger"].comment("where spending is recorded; a postgresql:// address works too")
    privacy.add(tomlkit.nl())
    return privacy


def _column(found: Guess) -> Section:
    column = tomlkit.table()
    column.add("type", found.kind)
    if found.reason:
        column.add(tomlkit.comment(found.reason))
    for key, value in found.keys.items():
        column.add(key, _lines(value) if isinstance(value, list) else value)
    if found.reason:
        column.add("confirmed", False)
    column.add(tomlkit.nl())
    return column


def _lines(values: list[str]) -> Array:
    """An array of short lines; one value a line when there are too many for one."""
    array = tomlkit.array()
    array.extend(values)
    return array.multiline(sum(len(value) + 4 for value in values) > 100)


def _comment(document: tomlkit.TOMLDocument, text: str) -> None:
    for line in text.splitlines():
        document.add(tomlkit.comment(line) if line else tomlkit.nl())
