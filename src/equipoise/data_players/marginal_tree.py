"""Sums and broadcasts between the whole domain and many marginals, through shared intermediate tensors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numba
import numpy as np

from equipoise.core import FloatArray
from equipoise.data.distributions import sum_middle

__all__ = ["MarginalTree"]

Columns = tuple[int, ...]


class MarginalTree:
    """Marginals of one domain as a tree: each comes from its parent by summing out one column.

    The parent of a marginal has the smallest missing column more, so that the largest columns are summed out first:
    all three-way marginals of a domain then take four passes over its cells, not one pass each. `lift` goes the same
    way back. Flat tensors throughout, columns in increasing order.
    """

    def __init__(self, shape: Columns, column_sets: Iterable[Columns]) -> None:
        self._whole = tuple(range(len(shape)))
        self._num_cells = math.prod(shape)
        self._parents: dict[Columns, tuple[Columns, tuple[int, int, int]]] = {}
        for columns in column_sets:
            self._add(columns, shape)
        self._widest_first = sorted(self._parents, key=len, reverse=True)

    def _add(self, columns: Columns, shape: Columns) -> None:
        while columns != self._whole and columns not in self._parents:
            added = min((c for c in self._whole if c not in columns), key=lambda c: (shape[c], c))
            parent = tuple(sorted((*columns, added)))
            axis = parent.index(added)
            sizes = [shape[c] for c in parent]
            self._parents[columns] = parent, (math.prod(sizes[:axis]), sizes[axis], math.prod(sizes[axis + 1 :]))
            columns = parent

    def sums(self, cells: FloatArray) -> dict[Columns, FloatArray]:
        """Every marginal of the tree, from the values of all cells."""
        tensors = {self._whole: cells}
        for columns in self._widest_first:
            parent, split = self._parents[columns]
            tensors[columns] = sum_middle(tensors[parent].reshape(split)).reshape(-1)
        return tensors

    def lift(self, tensors: Mapping[Columns, FloatArray]) -> FloatArray:
        """For every cell of the domain, the sum of what the tensors hold for it: the transpose of `sums`."""
        lifted = {columns: tensor.copy() for columns, tensor in tensors.items()}
        cells = lifted.setdefault(self._whole, np.zeros(self._num_cells))
        for columns in reversed(self._widest_first):
            tensor = lifted.pop(columns, None)
            if tensor is not None:
                parent, (before, size, after) = self._parents[columns]
                wider = lifted.setdefault(parent, np.zeros(before * size * after))
                _add_along_middle(wider.reshape(before, size, after), tensor.reshape(before, after))
        return cells


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _add_along_middle(tensor: FloatArray, added: FloatArray) -> None:
    outer, middle, inner = tensor.shape
    for i in range(outer):
        for j in range(middle):
            for k in range(inner):
                tensor[i, j, k] += added[i, k]
