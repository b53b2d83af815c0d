"""A whole table in memory to codes, and codes back to a table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from equipoise.core import Codes
from equipoise.data.conversion import ArrowArray
from equipoise.data.schema import Schema
from equipoise.data.table import read
from equipoise.errors import SchemaError

__all__ = ["decode", "encode"]


def encode(table: ArrowArray, schema: Schema) -> Codes:
    """Codes of a whole Arrow table in memory, such as a synthetic one.

    Example:
        >>> from equipoise.data.listed import Boolean
        >>> encode(pa.table({"member": [True, False]}), Schema("people", (Boolean(name="member"),))).tolist()
        [[1, 0]]
    """
    opened = read(table, schema=schema)
    if schema.items is None:
        return np.concatenate(list(opened.batches()), axis=1)
    return np.concatenate([schema.items.dense(*lists) for lists in opened.baskets()], axis=1)


def decode(codes: Codes, schema: Schema, rng: np.random.Generator) -> ArrowArray:
    """An Arrow table whose rows encode to these codes; values inside bins are drawn with `rng`.

    Args:
        codes: Shape (num_columns, num_rows).
        schema: The schema the codes belong to.
        rng: Public randomness.
    """
    if len(codes) != len(schema.columns):
        raise SchemaError("the codes and the schema do not have the same number of columns")
    if schema.items is not None:
        return pa.table({schema.source_columns[0]: schema.items.decode(codes)})
    cells = [column.decode(codes[row], rng) for row, column in enumerate(schema.columns)]
    return pa.Table.from_arrays(cells, names=list(schema.domain.columns))
