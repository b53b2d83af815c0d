"""`PrivatePoints`: true records as bits, with weights, that cannot be looked at by accident.

What `Private` is for counts, this is for a class of queries that is learnt from records. Only the mechanisms of
`equipoise.privacy` open one, after the gate has debited the event that pays for it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.core import IntArray
from equipoise.errors import DataError
from equipoise.oracles.classes.query_class import QueryClass, WeightedPoints
from equipoise.privacy.private import Unseen

__all__ = ["PrivatePoints"]


class PrivatePoints(Unseen):
    """Records of a private table as bits, each with a weight of -1, 0 or 1.

    Guarantees:
        Precondition: weights of -1, 0 or 1, and queries with values 0 and 1. Statement: for any two queries the
        difference of their weighted sums moves by at most 2 between neighbouring tables. Proof: these differ in one
        record, its bits and its weight (the number of records is public), and one record adds -1 to 1 to the
        difference.

    Example:
        >>> PrivatePoints.labelled(np.array([[1, 0], [1, 1]]), np.array([True, False]))
        PrivatePoints(2 records of 2 bits)
    """

    __slots__ = ("_bits", "_merged", "_weights")

    def __init__(self, bits: ArrayLike, weights: ArrayLike | None = None) -> None:
        table = np.asarray(bits, dtype=np.uint8)
        factors = np.ones(len(table)) if weights is None else np.asarray(weights)
        if table.ndim != 2 or factors.shape != (len(table),):
            raise DataError("records are given as one row of bits and one weight each")
        if not np.isin(factors, (-1, 0, 1)).all() or not np.isin(table, (0, 1)).all():
            raise DataError("bits must be 0 or 1, and weights -1, 0 or 1")
        self._bits: NDArray[np.uint8] = table
        self._weights: IntArray = factors.astype(np.int64)
        self._merged: WeightedPoints | None = None  # what was made of them last: a game asks in every round

    @classmethod
    def labelled(cls, bits: ArrayLike, labels: ArrayLike) -> PrivatePoints:
        """Records with a label each, to learn from: the weight 1 - 2y makes the sum the number of wrong labels.

        Up to the number of labels 1, the same for all queries: Σ [q(x) ≠ y] = Σ (1 - 2y) q(x) + Σ y.
        """
        return cls(bits, 1 - 2 * np.asarray(labels, dtype=np.int64))

    @property
    def num_records(self) -> int:
        """How many records (public)."""
        return len(self._bits)

    @property
    def num_features(self) -> int:
        """Bits of a record (public)."""
        return int(self._bits.shape[1])

    def part(self, places: IntArray) -> PrivatePoints:
        """Some of the records, by places that do not depend on them."""
        return PrivatePoints(self._bits[places], self._weights[places])

    def __repr__(self) -> str:
        return f"PrivatePoints({self.num_records} records of {self.num_features} bits)"


def unseal(points: PrivatePoints, query_class: QueryClass) -> WeightedPoints:
    """The true records as points of a class: for mechanisms, after their debit."""
    if points._merged is None or points._merged.query_class != query_class:
        points._merged = WeightedPoints.of(query_class, query_class.points(points._bits), points._weights)
    return points._merged
