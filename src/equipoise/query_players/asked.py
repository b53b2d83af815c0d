"""The query player of a session with analysts: its moves are their queries, one at a time, in any order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np

from equipoise.core import FloatArray, IntArray
from equipoise.privacy import conditional, mechanisms
from equipoise.privacy.capped import Paid
from equipoise.privacy.conditional import WindowTest
from equipoise.privacy.mechanisms import Payer
from equipoise.privacy.private import Private
from equipoise.privacy.private_rows import PrivateRows
from equipoise.queries.query import Query

__all__ = ["AskedPlayer", "AskedQueries", "AskedStatistics", "measure_paid"]

Q_contra = TypeVar("Q_contra", contravariant=True)


class AskedPlayer(Protocol[Q_contra]):
    """A query player whose moves are analysts' queries."""

    def measure(self, payer: Payer, query: Q_contra, *, stddev: float) -> int:
        """A query's answer in units, with Gaussian noise, debited first."""
        ...

    def test(
        self, tests: WindowTest, query: Q_contra, label: tuple[str | int, ...], *, low: int, high: int
    ) -> int | None:
        """A query's noisy answer in units where it lies outside low..high, paid for in advance."""
        ...


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

    def test_worst(
        self,
        tests: WindowTest,
        queries: Sequence[Query],
        counts: FloatArray,
        label: tuple[str | int, ...],
        *,
        threshold: int,
    ) -> bool:
        """Whether the largest distance of queries from public counts, with noise, is beyond a threshold (P9, a bit).

        A largest distance moves by no more than the count that moves most, which is 1.
        """
        worst = self._rows.count(queries).whole_distance(counts)
        return tests.test(worst, label, low=-(2**62), high=threshold) is not None


class AskedStatistics:
    """Faces the truth for one statistic after another, each by its place."""

    def __init__(self, truth: Private) -> None:
        self._truth = truth

    def measure(self, payer: Payer, query: int, *, stddev: float) -> int:
        """A statistic in units, with Gaussian noise (P1), debited first."""
        return int(mechanisms.measure(payer, self._truth.take(np.array([query])), stddev=stddev)[0])

    def test(self, tests: WindowTest, query: int, label: tuple[str | int, ...], *, low: int, high: int) -> int | None:
        """A statistic's noisy units where they lie outside low..high (P9), paid for in advance."""
        return tests.test(self._truth.take(np.array([query])), label, low=low, high=high)


def measure_paid(paid: Paid, rows: PrivateRows, queries: Sequence[Query]) -> IntArray:
    """Counts with Gaussian noise, for a run that was charged for them."""
    return conditional.measure_paid(paid, rows.count(queries))
