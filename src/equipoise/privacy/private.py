"""`Private`: true counts that cannot be looked at by accident.

Arithmetic with public values keeps what is known of their sensitivity; nothing prints, pickles, compares, iterates
or converts them. Only the functions of `equipoise.privacy` open one, after the gate has debited the event that pays
for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple, NoReturn, Protocol

import numpy as np

from equipoise.core import FloatArray, IntArray
from equipoise.queries.group import Group
from equipoise.queries.norms import Norms

__all__ = ["Private", "Sensitive", "Unseen"]

GRID = 1024
"""Public parts of scores are rounded to 1/GRID of a count before they meet the truth, so scores are exact integers."""


class Sensitive(Protocol):
    """Knows, without data, how much the counts of its queries can change; a `Workload` does."""

    def norms(self, ids: IntArray | None = None) -> Norms:
        """Norms of the change of those queries' counts when one record is replaced."""
        ...


class _Alike(NamedTuple):
    """Counts of which each can move by `linf`, and all can move together."""

    linf: int
    num_values: int

    def norms(self, ids: IntArray | None = None) -> Norms:
        size = self.num_values if ids is None else len(ids)
        return Norms(self.linf, size * self.linf, size * self.linf**2)


def _forbid(what: str) -> Callable[..., NoReturn]:
    def refuse(self: object, *_: object, **__: object) -> NoReturn:
        raise TypeError(f"private values cannot be {what}; ask through a mechanism of equipoise.privacy")

    return refuse


class Unseen:
    """What holds true values: nothing prints, pickles, compares, iterates or converts it."""

    __slots__ = ()

    __reduce_ex__ = _forbid("pickled")
    __array__ = _forbid("turned into an array")
    __iter__ = _forbid("iterated")
    __getitem__ = _forbid("indexed")
    __bool__ = _forbid("tested")
    __float__ = _forbid("converted")
    __int__ = _forbid("converted")
    __eq__ = _forbid("compared")
    __lt__ = _forbid("compared")
    __gt__ = _forbid("compared")
    __hash__ = _forbid("hashed")


class Private(Unseen):
    """Integer counts of a workload's queries on the private table, with their sensitivity.

    Guarantees:
        Precondition: the counts are those of `source` on one table. Statement: for neighbouring tables (one record
        replaced) the vectors held by two `Private` objects made by the same public operations differ by at most `norms`
        times `unit`. Proof: subtracting public values and taking absolute values are 1-Lipschitz in every coordinate,
        taking a subset can only lower each norm, and multiplying by public integer weights scales `linf` by at most the
        largest weight.

    Example:
        >>> from equipoise.data.domain import Domain
        >>> from equipoise.queries.workload import Group, Workload
        >>> workload = Workload(Domain(("x",), (2,)), (Group((0,), (2,)),))
        >>> Private(np.array([3, 4]), workload)
        Private(2 counts)
    """

    __slots__ = ("_factor", "_ids", "_source", "_unit", "_values")

    def __init__(self, counts: IntArray, source: Sensitive) -> None:
        self._values: IntArray = np.asarray(counts, dtype=np.int64)
        self._source = source
        self._ids: IntArray | None = None
        self._unit = 1
        self._factor = 1

    def _like(self, values: IntArray, *, ids: IntArray | None, unit: int, factor: int) -> Private:
        result = Private(values, self._source)
        result._ids, result._unit, result._factor = ids, unit, factor
        return result

    @property
    def num_values(self) -> int:
        """How many counts (public: the workload's size)."""
        return len(self._values)

    @property
    def norms(self) -> Norms:
        """Sensitivity of the counts in whole records, before `unit` and `factor`."""
        return self._source.norms(self._ids)

    @property
    def unit(self) -> int:
        """Integers per count: values are held in multiples of 1/unit."""
        return self._unit

    @property
    def linf_sensitivity(self) -> int:
        """Largest change of one held integer between neighbouring tables; a subset is given that of the whole."""
        return self._source.norms().linf * self._unit * self._factor

    @property
    def ids(self) -> IntArray:
        """The workload's ids of the counts held."""
        return np.arange(self.num_values, dtype=np.int64) if self._ids is None else self._ids

    def take(self, ids: IntArray) -> Private:
        """The counts of some queries, by their ids in the workload."""
        positions = np.asarray(ids, dtype=np.int64)
        if self._ids is not None:
            order = np.argsort(self._ids)
            found = order[np.searchsorted(self._ids, positions, sorter=order)]
            return self._like(self._values[found], ids=positions, unit=self._unit, factor=self._factor)
        return self._like(self._values[positions], ids=positions, unit=self._unit, factor=self._factor)

    def merged(self, starts: Sequence[int], groups: Sequence[Group], source: Sensitive) -> Private:
        """The counts of marginals with values merged, from those of their cells, as a `Private` of their own.

        Args:
            starts: Where the cells of each marginal begin among the counts.
            groups: The marginals, each with its values merged, one after the other.
            source: Knows the sensitivity of those counts; ids are then its.

        Guarantees:
            Each is the number of records in some cells of one marginal: the count of one of `source`'s queries, on the
            same table. Precondition: `source` is a workload of just these queries.
        """
        if self._unit != 1 or self._ids is not None:
            raise TypeError("values are merged in the counts of a whole workload")
        summed = [
            group.answers(self._values[start : start + group.num_cells].reshape(group.shape))
            for start, group in zip(starts, groups, strict=True)
        ]
        return Private(np.concatenate(summed), source)

    def distance(self, counts: FloatArray) -> Private:
        """Absolute differences to public counts, which are rounded to 1/GRID of a count."""
        if self._unit != 1:
            raise TypeError("the distance of a distance is not offered")
        public = np.rint(np.asarray(counts, dtype=np.float64) * GRID).astype(np.int64)
        return self._like(np.abs(self._values * GRID - public), ids=self._ids, unit=GRID, factor=1)

    def payoffs(self, counts: FloatArray, *, times: int = 1) -> Private:
        """`times` the counts less public counts, which are rounded to 1/GRID of a count; then the same of each ¬q.

        The first half are the workload's queries, the second their negations: n - c less n - public is the opposite.

        Guarantees:
            Each value moves by at most `times` what the count does, so `linf` is multiplied by `times`.
        """
        if self._unit != 1 or self._ids is not None:
            raise TypeError("payoffs are taken of the counts of a whole workload")
        public = np.rint(np.asarray(counts, dtype=np.float64) * GRID).astype(np.int64)
        values = self._values * (times * GRID) - public
        result = Private(np.concatenate([values, -values]), _Alike(self.norms.linf, 2 * len(values)))
        result._unit, result._factor = GRID, times
        return result

    def agreements(self, counts: FloatArray, shapes: Sequence[tuple[int, ...]]) -> Private:
        """For each marginal, how far it is from public counts: of a pair, the largest error of any agreement.

        Two values agree in a record that has both or neither. With d the errors of a pair's cells, that of an agreement
        is 2 d_ij - Σ_i d - Σ_j d + Σ d: twice that of the cell where the two columns' own counts are right. Of
        marginals of one column, or of three and more, it is the largest error of a cell.

        Args:
            counts: Public counts of all queries, rounded to 1/GRID of a count.
            shapes: Number of values of each column of each marginal; together they are the whole workload.

        Guarantees:
            Requires that the queries of each marginal are its cells, so that a record counts in one cell. An agreement,
            like a cell, is then a number of records with a property: it moves by at most one when a record is replaced.
            So does the largest error over any of them, hence each score moves by at most 1.
        """
        if self._unit != 1 or self._ids is not None:
            raise TypeError("agreements are taken of the counts of a whole workload")
        errors = self._values * GRID - np.rint(np.asarray(counts, dtype=np.float64) * GRID).astype(np.int64)
        bounds = np.cumsum([0, *(math.prod(shape) for shape in shapes)])
        if bounds[-1] != len(errors):
            raise TypeError("agreements are taken of whole marginals")
        scores = [
            np.abs(_agreements(errors[begin:end].reshape(shape)) if len(shape) == 2 else errors[begin:end]).max()
            for shape, (begin, end) in zip(shapes, pairwise(bounds), strict=True)
        ]
        result = Private(np.array(scores, dtype=np.int64), _Alike(1, len(scores)))
        result._unit = GRID
        return result

    def weighted(self, weights: IntArray) -> Private:
        """Each count times a public positive integer."""
        factors = np.asarray(weights, dtype=np.int64)
        return self._like(
            self._values * factors,
            ids=self._ids,
            unit=self._unit,
            factor=self._factor * int(factors.max(initial=1)),
        )

    def maxima(self, starts: IntArray) -> Private:
        """The largest count of each group of queries; group g has ids starts[g] to starts[g + 1] - 1.

        Guarantees:
            A maximum moves by no more than the coordinate that moves most, so each one's sensitivity is `linf`.
        """
        if self._ids is not None:
            raise TypeError("maxima are taken over whole workloads")
        values = np.maximum.reduceat(self._values, np.asarray(starts, dtype=np.int64)[:-1])
        result = Private(values, _Alike(self.norms.linf, len(values)))
        result._unit, result._factor = self._unit, self._factor
        return result

    def sums(self, starts: IntArray) -> Private:
        """The sum of each group of queries; groups as in `maxima`.

        Guarantees:
            A sum moves by at most the L1 norm of its group's change; each is given the largest of any group.
        """
        if self._ids is not None:
            raise TypeError("sums are taken over whole workloads")
        bounds = np.asarray(starts, dtype=np.int64)
        values = np.add.reduceat(self._values, bounds[:-1])
        groups = (np.arange(begin, end, dtype=np.int64) for begin, end in pairwise(bounds))
        change = max(self._source.norms(ids).l1 for ids in groups)
        result = Private(values, _Alike(change, len(values)))
        result._unit, result._factor = self._unit, self._factor
        return result

    def less(self, public: FloatArray) -> Private:
        """Each count less a public number, which is rounded to 1/unit; sensitivities stay what they are."""
        rounded = np.rint(np.asarray(public, dtype=np.float64) * self._unit).astype(np.int64)
        return self._like(self._values - rounded, ids=self._ids, unit=self._unit, factor=self._factor)

    def total(self) -> Private:
        """The sum of all held integers, as one whole number.

        Guarantees:
            A sum moves by at most the L1 norm of the change.
        """
        change = self.norms.l1 * self._unit * self._factor
        return Private(np.array([self._values.sum()], dtype=np.int64), _Alike(change, 1))

    def largest(self) -> Private:
        """The largest held integer, as one whole number; moves by no more than the one that moves most."""
        return Private(np.array([self._values.max()], dtype=np.int64), _Alike(self.linf_sensitivity, 1))

    def whole_distance(self, counts: FloatArray) -> Private:
        """The largest distance of any count from public counts rounded to whole ones: one whole number.

        Guarantees:
            It moves by no more than the count that moves most.
        """
        if self._unit != 1:
            raise TypeError("whole distances are of whole counts")
        public = np.rint(np.asarray(counts, dtype=np.float64)).astype(np.int64)
        worst = np.abs(self._values - public).max()
        return Private(np.array([worst], dtype=np.int64), _Alike(self._source.norms().linf, 1))

    def __repr__(self) -> str:
        return f"Private({self.num_values} counts)"


def _agreements(errors: IntArray) -> IntArray:
    return np.asarray(2 * errors - errors.sum(axis=1)[:, None] - errors.sum(axis=0)[None, :] + errors.sum())


def reveal(truth: Private) -> IntArray:
    """The true counts: for mechanisms, after their debit, and for the steward's non-private evaluation only."""
    return truth._values
