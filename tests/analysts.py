"""A small table for sessions and rounds with analysts, its true counts, and a run that was charged."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import equipoise as eq
from equipoise.data.listed import Boolean
from equipoise.privacy.events import Event
from equipoise.queries.text import parse

QUERIES = ("a = true and b = true", "a = false", "c = true and a = true", "b = false and a = true", "b = true")
MANY = 10**9
"""A bound on queries for which noise on every answer is hopeless, so that mechanisms with a hypothesis are used."""


def table(num_rows: int = 20_000, *, epsilon: float | None = None) -> eq.Table:
    """Three dependent bits."""
    rng = np.random.default_rng(0)
    a = rng.random(num_rows) < 0.9
    b = np.where(rng.random(num_rows) < 0.9, a, ~a)
    c = rng.random(num_rows) < 0.2
    columns = tuple(Boolean(name=name) for name in "abc")
    schema = eq.Schema("people", columns, epsilon=epsilon, delta=None if epsilon is None else 1e-6)
    return eq.read(pa.table({"a": a, "b": b, "c": c}), schema=schema)


def true_share(data: eq.Table, text: str) -> float:
    codes = np.concatenate(list(data.batches()), axis=1)
    return float(parse(text, data.schema).selects(codes).mean())


class Charged:
    """A run that was charged for these events."""

    def __init__(self, *charged: Event) -> None:
        self._charged = list(charged)

    def events(self) -> list[Event]:
        return self._charged
