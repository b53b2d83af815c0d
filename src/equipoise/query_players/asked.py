"""The query player of a session with analysts: its moves are their queries, one at a time, in any order."""

from __future__ import annotations

from equipoise.privacy import mechanisms
from equipoise.privacy.conditional import WindowTest
from equipoise.privacy.mechanisms import Payer
from equipoise.privacy.private_rows import PrivateRows
from equipoise.queries.query import Query

__all__ = ["AskedQueries"]


class AskedQueries:
    """Faces the truth for one query after another."""

    def __init__(self, rows: PrivateRows) -> None:
        self._rows = rows

    def measure(self, payer: Payer, query: Query, *, stddev: float) -> int:
        """A query's count with Gaussian noise (P1), debited first."""
        return int(mechanisms.measure(payer, self._rows.count([query]), stddev=stddev)[0])

    def test(self, tests: WindowTest, query: Query, label: tuple[str | int, ...], *, low: int, high: int) -> int | None:
        """A query's noisy count where it lies outside low..high (P9), paid for in advance."""
        return tests.test(self._rows.count([query]), label, low=low, high=high)
