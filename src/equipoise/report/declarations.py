"""What was done to each column, in words: from its declaration alone."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from equipoise.data.binned import Binned
from equipoise.data.columns import Column, listing
from equipoise.data.items import Items
from equipoise.data.listed import Categorical
from equipoise.data.schema import Schema
from equipoise.report.numbers import amount

__all__ = ["Declaration", "declarations"]

MOST_LISTED = 8
"""Values named in the table; the rest are counted."""

OUTSIDE = {
    "refuse": "refused",
    "clip": "moved to the nearest bound",
    "bucket": "a value of its own on each side",
}


class Declaration(NamedTuple):
    """One column as the report describes it."""

    name: str
    kind: str
    num_codes: int
    values: str
    missing: str
    outside: str
    source: str
    inferred: bool


def declarations(schema: Schema, accepted_inferred: Collection[str]) -> list[Declaration]:
    """One a column, in order."""
    if schema.items is not None:
        return [_items(schema.items)]
    inferred = set(accepted_inferred) | set(schema.unconfirmed)
    return [
        Declaration(
            column.name,
            column.kind,
            column.size,
            _values(column),
            "a value of its own" if column.nullable else "refused",
            _outside(column),
            "read from the data, accepted" if column.name in inferred else "declared",
            column.name in inferred,
        )
        for column in schema.columns
    ]


def _items(items: Items) -> Declaration:
    return Declaration(
        f"{items.number:,} items",
        "in the list or not",
        2,
        listing(items.names, MOST_LISTED),
        "an empty list",
        "refused" if items.unknown == "refuse" else "left out of the list",
        "declared" if items.confirmed else "read from the data, accepted",
        not items.confirmed,
    )


def _values(column: Column) -> str:
    if isinstance(column, Binned):
        first, last = (text.split("..") for text in _bin_labels(column))
        bounds = f"{first[0]} to {last[-1]}"
        return bounds if column.kind == "codes" else f"{bounds}, {amount(column.num_bins, 'bin')}"
    labels = column.labels[: column.num_values]
    if len(labels) <= MOST_LISTED:
        return ", ".join(labels)
    return ", ".join(labels[:MOST_LISTED]) + f" and {len(labels) - MOST_LISTED:,} more"


def _bin_labels(column: Binned) -> tuple[str, str]:
    """Labels of the first and the last bin; the buckets outside are not bins."""
    buckets = (column.num_values - column.num_bins) // 2
    return column.labels[buckets], column.labels[column.num_values - 1 - buckets]


def _outside(column: Column) -> str:
    if isinstance(column, Binned):
        return OUTSIDE[str(getattr(column, "out_of_bounds", "refuse"))]
    if isinstance(column, Categorical) and column.other is not None:
        return f"becomes “{column.other}”"
    return "refused"
