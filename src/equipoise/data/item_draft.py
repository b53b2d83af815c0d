"""Draft the `[items]` section of a table of lists, for a person to check: it looks at the data without protection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import tomlkit
from tomlkit.items import Table as Section

from equipoise.data.baskets import LIBSVM, MATRIX, open_baskets
from equipoise.data.items import ITEMS, Items
from equipoise.data.matrices import load_matrix
from equipoise.data.sources import Source, open_source
from equipoise.errors import DataError

__all__ = ["draft_items"]


def draft_items(source: Any) -> Section | None:
    """The section for a libsvm file, a saved sparse matrix, or a table with a column of lists; None for any other.

    Example:
        >>> print(draft_items(pa.table({"basket": [["milk", "beer"], ["milk"]]})).as_string().strip())
        # items read from the data
        names = ["beer", "milk"]
        confirmed = false
        column = "basket"
    """
    ending = str(source).lower().removesuffix(".gz") if isinstance(source, (str, Path)) else ""
    if ending.endswith(MATRIX):
        return _section(pa.array(range(load_matrix(Path(source)).shape[1])), None)
    if ending.endswith(LIBSVM):
        opened, column = open_baskets(source, Items(1)), ITEMS
    else:
        opened = open_source(source)
        listed = _list_column(opened)
        if listed is None:
            return None
        column = listed
    return _section(_distinct(opened, column), None if column == ITEMS else column)


def _list_column(source: Source) -> str | None:
    if len(set(source.names)) != len(source.names):  # refused by the draft of the columns
        return None
    batch = next(source.batches(source.names, 1), None)
    kinds = [] if batch is None else list(zip(batch.schema.names, batch.schema.types, strict=True))
    return next((name for name, kind in kinds if pa.types.is_list(kind) or pa.types.is_large_list(kind)), None)


def _distinct(source: Source, column: str) -> Any:
    """The items that occur, in order."""
    found = [pc.unique(pc.list_flatten(batch.column(0))) for batch in source.batches([column], 2**16)]
    values = pc.drop_null(pc.unique(pa.chunked_array(found))) if found else pa.array([])
    if len(values) == 0:
        raise DataError("the table has no rows, or no list has an item")
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    return values.take(pc.sort_indices(values))


def _section(values: Any, column: str | None) -> Section:
    section = tomlkit.table()
    section.add(tomlkit.comment("items read from the data"))
    if pa.types.is_integer(values.type):
        numbers = np.asarray(values)
        first = 1 if numbers[0] == 1 else 0
        if numbers[0] < 0:
            raise DataError(f"column {column or ITEMS!r}: an item is a negative number; number the items from 0")
        section.add("count", int(numbers[-1]) - first + 1)
        if first:
            section.add("first", first)
    else:
        section.add("names", [str(value) for value in values.to_pylist()])
    section.add("confirmed", False)
    if column is not None:
        section.add("column", column)
    return section
