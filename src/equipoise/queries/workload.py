"""A workload: the queries of a release, in groups, and how to answer them on each representation of data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.core import Codes, Distribution, FloatArray, IntArray
from equipoise.data.domain import Domain
from equipoise.errors import QueryError
from equipoise.queries import counting, text
from equipoise.queries.group import MAX_CELLS, Group
from equipoise.queries.norms import Norms
from equipoise.queries.query import Query
from equipoise.queries.sparse import SparseCounts

if TYPE_CHECKING:
    from equipoise.data.schema import Schema

__all__ = ["MAX_CELLS", "Group", "Norms", "Workload"]


@dataclass(frozen=True)
class Workload:
    """Queries over a domain. Query ids run through the groups in order, and through each group's queries in order.

    Every evaluation goes by marginal: never an array of rows x queries or cells x queries.

    Example:
        >>> workload = Workload(Domain(("sex", "age"), (2, 3)), (Group((0,), (2,)), Group((0, 1), (2, 3))))
        >>> workload.num_queries, workload.starts.tolist(), workload.query(7).cell
        (8, [0, 2, 8], (1, 2))
        >>> workload.norms()
        Norms(linf=1, l1=4, l2_squared=4)
    """

    domain: Domain
    groups: tuple[Group, ...]

    def __post_init__(self) -> None:
        if not self.groups:
            raise QueryError("a workload needs at least one query")
        sizes = self.domain.sizes
        for group in self.groups:
            if group.columns[-1] >= len(sizes) or group.shape != tuple(sizes[c] for c in group.columns):
                raise QueryError("a group's columns and sizes must be those of the workload's domain")

    @cached_property
    def starts(self) -> IntArray:
        """Id of each group's first query, and last the number of queries: group g has starts[g] to starts[g+1] - 1."""
        return np.concatenate([[0], np.cumsum([group.num_queries for group in self.groups])]).astype(np.int64)

    @property
    def num_queries(self) -> int:
        """How many queries there are."""
        return int(self.starts[-1])

    @cached_property
    def column_sets(self) -> tuple[tuple[int, ...], ...]:
        """The distinct marginals that answer the workload, in order of first use."""
        return tuple(dict.fromkeys(group.columns for group in self.groups))

    def group_of(self, ids: IntArray) -> IntArray:
        """Which group each query belongs to."""
        ids = np.asarray(ids, dtype=np.int64)
        if ids.size and (ids.min() < 0 or ids.max() >= self.num_queries):
            raise QueryError(f"query ids are 0 to {self.num_queries - 1}")
        return np.searchsorted(self.starts, ids, side="right").astype(np.int64) - 1

    def query(self, query_id: int) -> Query:
        """The query with this id."""
        group = int(self.group_of(np.array([query_id]))[0])
        return self.groups[group].query(int(query_id) - int(self.starts[group]))

    def describe(self, query_id: int, schema: Schema) -> str:
        """The text form of the query with this id."""
        return text.describe(self.query(query_id), schema)

    def literals(self, ids: IntArray) -> tuple[IntArray, IntArray]:
        """See `Queries.literals`.

        Example:
            >>> workload = Workload(Domain(("sex", "age"), (2, 3)), (Group((0,), (2,)), Group((0, 1), (2, 3))))
            >>> [array.tolist() for array in workload.literals(np.array([1, 7]))]
            [[[0, -1], [0, 1]], [[1, 0], [1, 2]]]
        """
        owners = self.group_of(ids)
        width = max((len(self.groups[g].columns) for g in np.unique(owners)), default=1)
        columns, codes = np.full((len(owners), width), -1, dtype=np.int64), np.zeros((len(owners), width), np.int64)
        for owner in np.unique(owners):
            group, places = self.groups[owner], np.flatnonzero(owners == owner)
            order = len(group.columns)
            columns[places, :order] = group.columns
            codes[places, :order] = group.cells(np.asarray(ids)[places] - self.starts[owner])
        return columns, codes

    def weights(self) -> IntArray:
        """The weight of each query."""
        return np.repeat(
            np.array([group.weight for group in self.groups], dtype=np.int64), np.diff(self.starts).astype(np.int64)
        )

    def norms(self, ids: IntArray | None = None) -> Norms:
        """How much the vector of counts of these queries (default: all) can change when one record is replaced.

        Guarantees:
            Never smaller than the change between any two neighbouring tables. Exact for whole marginals and for groups
            on disjoint columns (such as prefixes); otherwise the groups' norms add up to an upper bound
            (`Norms.joined`).
        """
        if ids is None:
            return self._all_norms
        ids = np.asarray(ids, dtype=np.int64)
        owners = self.group_of(ids)
        total = Norms(0, 0, 0)
        for owner in np.unique(owners):
            total = total.joined(self.groups[owner].norms(ids[owners == owner] - self.starts[owner]))
        return total

    @cached_property
    def _all_norms(self) -> Norms:
        total = Norms(0, 0, 0)
        for group in self.groups:
            total = total.joined(group.norms())
        return total

    def on(self, distribution: Distribution) -> FloatArray:
        """Every query's answer on a distribution."""
        return self.on_groups(distribution, range(len(self.groups)))

    def on_groups(self, distribution: Distribution, group_ids: Iterable[int]) -> FloatArray:
        """The answers of some groups on a distribution, one group after the other in the order given."""
        chosen = [self.groups[g] for g in group_ids]
        return self._answers(chosen, ((columns, distribution.marginal(columns)) for columns in _column_sets(chosen)))

    def on_products(self, factors: Sequence[FloatArray], weights: FloatArray) -> FloatArray:
        """Every query's answer on a mixture of products.

        Args:
            factors: For each column of the domain, an array (num_components, size) of probabilities.
            weights: The components' weights, summing to one.
        """
        return np.concatenate([group.on_products(factors, weights) for group in self.groups])

    def on_rows(self, codes: Codes, weights: FloatArray | None = None) -> FloatArray:
        """Every query's (weighted) mean over rows.

        Example:
            >>> workload = Workload(Domain(("x",), (3,)), (Group((0,), (3,)),))
            >>> workload.on_rows(np.array([[0, 2, 2, 2]], dtype=np.uint8))
            array([0.25, 0.  , 0.75])
        """
        if codes.shape[1] == 0:
            raise QueryError("there are no rows to answer on")
        if weights is None:
            return np.asarray(self.count_rows(codes) / codes.shape[1])
        weights = np.asarray(weights, dtype=np.float64)
        tensors = ((c, counting.weigh(codes, c, self.domain.sizes, weights)) for c in self.column_sets)
        return np.asarray(self._answers(self.groups, tensors) / weights.sum())

    def count_rows(self, codes: Codes) -> IntArray:
        """How many rows each query holds for, exactly."""
        return self.from_marginals(counting.count(codes, self.column_sets, self.domain.sizes))

    def from_marginals(self, tensors: Iterable[tuple[tuple[int, ...], IntArray | SparseCounts]]) -> IntArray:
        """Every query's count from the counts of each of `column_sets`, in any order."""
        return self._answers(self.groups, tensors)

    def _answers(
        self, groups: Iterable[Group], tensors: Iterable[tuple[tuple[int, ...], NDArray[Any] | SparseCounts]]
    ) -> NDArray[Any]:
        """Answers of groups, one after the other, from the tensors of their marginals: one tensor is held at a time."""
        groups = tuple(groups)
        ends = np.cumsum([group.num_queries for group in groups])
        waiting: dict[tuple[int, ...], list[int]] = {}
        for g, group in enumerate(groups):
            waiting.setdefault(group.columns, []).append(g)
        result: NDArray[Any] | None = None
        for columns, tensor in tensors:
            for g in waiting.pop(columns):
                answers = groups[g].answers(tensor)
                if result is None:
                    result = np.empty(ends[-1], dtype=answers.dtype)
                result[ends[g] - len(answers) : ends[g]] = answers
        if waiting:
            raise QueryError("a marginal that the workload needs was not given")
        return np.zeros(0) if result is None else result

    def to_json(self) -> dict[str, Any]:
        """Public, self-contained, ready for `json.dumps`; `from_json` is its inverse."""
        return {
            "columns": list(self.domain.columns),
            "sizes": list(self.domain.sizes),
            "groups": [_group_to_json(group) for group in self.groups],
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Workload:
        """The workload that `to_json` described."""
        try:
            domain = Domain(tuple(stored["columns"]), tuple(int(size) for size in stored["sizes"]))
            return cls(domain, tuple(_groups_from_json(domain, stored["groups"])))
        except (KeyError, TypeError, IndexError, ValueError, OverflowError) as error:
            raise QueryError(
                "the stored workload cannot be read: it does not have the form that Workload.to_json writes"
            ) from error

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical `to_json`: equal exactly when the queries, their order and their weights are."""
        canonical = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()


def _column_sets(groups: Iterable[Group]) -> list[tuple[int, ...]]:
    return list(dict.fromkeys(group.columns for group in groups))


def _group_to_json(group: Group) -> dict[str, Any]:
    stored: dict[str, Any] = {"columns": list(group.columns), "weight": group.weight}
    if group.merged is not None:
        return stored | {"merged": [part.tolist() for part in group.merged]}
    return stored | {"masks": _masks_to_text(group)}


def _masks_to_text(group: Group) -> list[list[str]] | None:
    if group.masks is None:
        return None
    return [["".join("1" if bit else "0" for bit in row) for row in mask] for mask in group.masks]


def _groups_from_json(domain: Domain, stored: list[dict[str, Any]]) -> Iterator[Group]:
    for item in stored:
        columns = tuple(int(column) for column in item["columns"])
        shape, weight = tuple(domain.sizes[c] for c in columns), int(item["weight"])
        if "merged" in item:
            yield Group(columns, shape, None, weight, tuple(np.array(part, dtype=np.int64) for part in item["merged"]))
            continue
        masks = item["masks"]
        if masks is not None:
            masks = tuple(np.array([[bit == "1" for bit in row] for row in mask], dtype=np.bool_) for mask in masks)
        yield Group(columns, shape, masks, weight)
