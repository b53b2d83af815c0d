"""`PrivateRows`: the records of a private table, to be counted by queries that come later.

What `Private` is for the counts of a workload, this is for a table whose queries are not known in advance. A count is
again a `Private`; only mechanisms open it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

import numpy as np

from equipoise.core import Codes, IntArray
from equipoise.errors import SettingError
from equipoise.privacy.private import Private, Unseen
from equipoise.queries.norms import Norms
from equipoise.queries.queries import Queries
from equipoise.queries.query import Query

__all__ = ["PrivateRows"]

_LARGEST_INDEX = 2**62


class _Separate:
    """Counts of which each moves by at most 1 when a record is replaced, and all may move together."""

    def __init__(self, num_values: int) -> None:
        self._num_values = num_values

    def norms(self, ids: IntArray | None = None) -> Norms:
        """See `Sensitive.norms`."""
        size = self._num_values if ids is None else len(ids)
        return Norms(1, size, size)


class PrivateRows(Unseen):
    """The distinct records of a private table and how often each occurs.

    Guarantees:
        Precondition: product queries, with values 0 and 1. Statement: every count moves by at most 1 when a record is
        replaced. Proof: it is a sum over records of one query's value. How long a count takes depends on the number of
        distinct records and on the query's columns, and on nothing that was asked before.
    """

    __slots__ = ("_codes", "_counts", "_num_rows")

    def __init__(self, batches: Iterable[Codes], sizes: tuple[int, ...]) -> None:
        codes = np.concatenate(list(batches), axis=1)
        self._num_rows = int(codes.shape[1])
        if float(np.prod(np.asarray(sizes, dtype=np.float64))) < _LARGEST_INDEX:
            cells, counts = np.unique(np.ravel_multi_index(tuple(codes.astype(np.int64)), sizes), return_counts=True)
            self._codes: Codes = np.stack(np.unravel_index(cells, sizes)).astype(codes.dtype)
            self._counts: IntArray = counts.astype(np.int64)
        else:
            self._codes, self._counts = codes, np.ones(self._num_rows, dtype=np.int64)

    @property
    def num_rows(self) -> int:
        """How many records there are (public)."""
        return self._num_rows

    def count(self, queries: Sequence[Query]) -> Private:
        """How many records each query holds for."""
        counts = [int(self._counts @ query.selects(self._codes)) for query in queries]
        return Private(np.array(counts, dtype=np.int64), _Separate(len(counts)))

    def counts_of(self, workload: Queries) -> Private:
        """The counts of a workload's queries, with its own sensitivities."""
        queries = (workload.query(place) for place in range(workload.num_queries))
        counts = [int(self._counts @ query.selects(self._codes)) for query in queries]
        return Private(np.array(counts, dtype=np.int64), workload)

    def statistics(self, values: Sequence[Callable[[Codes], Fraction | int]], units: int) -> Private:
        """Numbers from 0 to 1 that the table has, each as whole units of 1/units, to the nearest.

        Guarantees:
            Precondition: each value moves by at most 1/units when a record is replaced. Postcondition: what is held
            moves by at most 1, since floor(a + 1) = floor(a) + 1 and floor is monotone; and so is cutting to 0 to 1.

        Raises:
            SettingError: one has no value on the table. It says nothing of which, or why.
        """
        rows = np.repeat(self._codes, self._counts, axis=1)
        try:
            exact = [min(Fraction(1), max(Fraction(0), Fraction(value(rows)))) for value in values]
        except Exception:
            raise SettingError(
                "a statistic has no value on the table; it must have one for every table. Mend it and open the session"
                " with its id again, which is not charged twice; or close it (`equipoise ledger --close`)"
            ) from None
        held = [math.floor(value * units + Fraction(1, 2)) for value in exact]
        return Private(np.array(held, dtype=np.int64), _Separate(len(held)))

    def __repr__(self) -> str:
        return f"PrivateRows({self._num_rows} records)"
