"""A workload as a class of queries and negations, so that a solver can look for the worst of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.core import IntArray, Move
from equipoise.errors import QueryError, SettingError
from equipoise.oracles.classes.closed import Closed
from equipoise.oracles.classes.conjunctions import Conjunctions
from equipoise.oracles.classes.features import Features, Literal
from equipoise.queries.queries import Queries

__all__ = ["WorkloadClass"]


@dataclass(frozen=True, eq=False)
class WorkloadClass:
    """All conjunctions of so many literals "column = value", and their negations: the queries of a workload.

    Attributes:
        features: The literals that occur in the workload; a record's bits.
        query_class: Its queries and their negations.
        named: The features of each query of the workload, increasing, then -1.

    Example:
        >>> from equipoise.data.domain import Domain
        >>> from equipoise.queries.workload import Group, Workload
        >>> found = WorkloadClass.of(Workload(Domain(("a", "b"), (2, 3)), (Group((0, 1), (2, 3)),)))
        >>> found.query_class.num_queries, found.move(np.array([1, 0, 1, 0, 0, 1])).ids.tolist()
        (12, [5])
    """

    features: Features
    query_class: Closed
    named: IntArray

    @classmethod
    def of(cls, workload: Queries) -> WorkloadClass:
        """The class, if the workload is a whole one.

        Raises:
            SettingError: it is not, so that a solver would find queries that nobody asked for.
        """
        try:
            columns, codes = workload.literals(np.arange(workload.num_queries))
        except QueryError:
            raise SettingError(f"{_WANTED}, and this workload has other queries") from None
        literals, places = np.unique(np.stack([columns, codes], axis=-1).reshape(-1, 2), axis=0, return_inverse=True)
        pads = int((literals[:, 0] < 0).sum())  # a pad is the literal (-1, 0), the first
        named = np.sort(places.reshape(columns.shape) - pads, axis=1)
        named = np.where(named < 0, np.iinfo(np.int64).max, named)
        named.sort(axis=1)
        named = np.where(named == np.iinfo(np.int64).max, -1, named)
        sizes = (named >= 0).sum(axis=1)
        features = tuple(Literal(int(column), int(code)) for column, code in literals[pads:])
        inner = Conjunctions(
            len(features), int(sizes.max()), max(1, int(sizes.min())), tuple(literal.column for literal in features)
        )
        whole = len(np.unique(named, axis=0)) == workload.num_queries == inner.num_queries
        if not whole or workload.weights().max(initial=1) > 1:
            raise SettingError(f"{_WANTED}, all with weight 1, and this workload has only some")
        return cls(Features(features), Closed(inner), named)

    def move(self, parameters: IntArray) -> Move:
        """The move that names a query of the class: +1 for a query, -1 for a negation."""
        row = np.full(self.named.shape[1], -1, dtype=np.int64)
        chosen = np.flatnonzero(parameters[1:])
        row[: len(chosen)] = chosen
        ids = np.flatnonzero((self.named == row).all(axis=1))
        return Move(ids, np.array([-1 if parameters[0] else 1], dtype=np.int64), None, 0.0)


_WANTED = (
    "a solver looks for the worst among all conjunctions of so many values of the columns (a workload like '3-way')"
)
