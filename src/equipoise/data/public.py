"""Public tables: rows that anybody may see, coded like the private ones.

Nothing here protects anything. A public table must have been public, and chosen, without looking at the private one; a
person who is in both tables is protected in the private one only as far as the public one does not say who it is.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.core import Codes, IntArray
from equipoise.data.schema import Schema
from equipoise.data.sources import open_source
from equipoise.data.table import Table
from equipoise.errors import DataError

__all__ = ["PublicRows", "encode_public", "read_public"]


@dataclass(frozen=True, eq=False)
class PublicRows:
    """The distinct rows of a public table, and how often each comes.

    Attributes:
        codes: Distinct encoded rows, shape (number of the public table's columns, number of distinct rows).
        counts: How often each comes.
        columns: Which columns of the private table's domain it has, increasing.
        name: What the table is called, for people.
    """

    codes: Codes
    counts: IntArray
    columns: tuple[int, ...]
    name: str

    def __post_init__(self) -> None:
        if self.codes.shape != (len(self.columns), len(self.counts)) or self.codes.shape[1] == 0:
            raise ValueError("public rows need a code for each of their columns, and a count each")
        if self.counts.min() < 1:
            raise ValueError("every public row comes at least once")

    @property
    def num_rows(self) -> int:
        """Rows of the public table."""
        return int(self.counts.sum())

    @property
    def num_distinct(self) -> int:
        """Distinct rows of the public table."""
        return len(self.counts)

    def flattened(self) -> PublicRows:
        """The same support, every distinct row once."""
        return replace(self, counts=np.ones_like(self.counts))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the encoded rows, whatever their order was."""
        digest = hashlib.sha256(repr((self.columns, self.codes.shape)).encode())
        digest.update(self.codes.astype("<u4").tobytes())
        digest.update(self.counts.astype("<i8").tobytes())
        return digest.hexdigest()


def read_public(source: Any, schema: Schema) -> Table:
    """Open a public table of the private schema's columns, or of some of them; its other columns are ignored.

    Args:
        source: As for `data.table.read`.
        schema: The private table's.

    Raises:
        DataError: It cannot be read, or has no column of the schema's.

    Example:
        >>> import pyarrow as pa
        >>> from equipoise.data.whole import Codes as Column
        >>> schema = Schema("people", (Column(name="sex", size=2), Column(name="age", size=10)))
        >>> read_public(pa.table({"age": [3, 3, 7], "shoe": [40, 41, 42]}), schema).schema.domain.columns
        ('age',)
    """
    opened = open_source(source)
    shared = [name for name in schema.domain.columns if name in opened.names]
    if not shared:
        raise DataError("the public table has none of the private table's columns; give it the same column names")
    for name in shared:
        if opened.names.count(name) > 1:
            raise DataError(f"column {name!r}: the public table has more than one column of that name; rename them")
    return Table(_without_unit(schema).select(shared), opened)


def encode_public(public: Table, schema: Schema) -> PublicRows:
    """The public table's distinct rows that obey the rules, in the codes of the private table's schema.

    Raises:
        DataError: A cell does not fit the private schema, the table is empty, no row obeys the rules, or no column is
            shared.

    Example:
        >>> import pyarrow as pa
        >>> from equipoise.data.whole import Codes as Column
        >>> schema = Schema("people", (Column(name="sex", size=2), Column(name="age", size=10)))
        >>> rows = encode_public(read_public(pa.table({"age": [3, 3, 7], "sex": [0, 0, 1]}), schema), schema)
        >>> rows.codes.tolist(), rows.counts.tolist(), rows.num_rows
        ([[0, 1], [3, 7]], [2, 1], 3)
    """
    known = public.schema.domain.columns
    shared = tuple(i for i, name in enumerate(schema.domain.columns) if name in known)
    if not shared:
        raise DataError("the public table has none of the private table's columns; give it the same column names")
    # The private schema says what a value means, whatever schema the public table was opened with.
    coded = replace(public, schema=_without_unit(schema).select([schema.domain.columns[i] for i in shared]))
    try:
        batches = list(coded.batches())
    except DataError as error:
        raise DataError(f"the public table does not fit the private table's schema: {error}") from None
    if not batches:
        raise DataError("the public table has no rows")
    codes, counts = np.unique(np.concatenate(batches, axis=1), axis=1, return_counts=True)
    kept = ~coded.schema.rules.broken_by(codes)
    if not kept.any():
        raise DataError("every row of the public table breaks one of the schema's rules")
    return PublicRows(np.ascontiguousarray(codes[:, kept]), counts[kept].astype(np.int64), shared, _name(public))


def _name(public: Table) -> str:
    path = getattr(public.source, "path", None)
    return path.name if isinstance(path, Path) else public.schema.name


def _without_unit(schema: Schema) -> Schema:
    return replace(schema, unit=None, rows_per_unit=1)
