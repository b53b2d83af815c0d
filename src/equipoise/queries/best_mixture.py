"""How well a set of rows can answer a workload, if only their weights may change: the best-mixture-error.

    minimise t  subject to  |Σ_x ν_x q(x) - c_q| ≤ t for every query q,  ν ≥ 0,  Σ_x ν_x = n,

over the rows x of a support, for the counts c of a table of n records (liu2021leveraging, Definition 4.5, arXiv v2; in
counts rather than shares, so that the solver's tolerances are small parts of one record). No method that weighs the
rows of a public table can have a smaller largest error.

Queries that no row satisfies only bound t from below; the others are added to the program as they are needed. Both
the weights found and the dual prices are checked with plain arithmetic, so the two bounds hold whatever the solver did.

NOT PRIVATE when the counts are: `privacy.mixture_error` is the private way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

from equipoise.core import Codes, FloatArray, IntArray
from equipoise.errors import QueryError
from equipoise.queries.workload import Workload

__all__ = ["BestMixture", "best_mixture"]

ADDED = 1000
"""Queries of the first program, those that equal weights answer worst; each later program has twice as many."""

TOLERANCE = 1e-3
"""Records by which the two bounds may differ."""

MAX_PROGRAMS = 20
"""Programs solved at most: the last could have half a billion queries."""


@dataclass(frozen=True)
class BestMixture:
    """The best weights of a support, in counts.

    Attributes:
        error: Largest difference between the weighted rows' counts and the table's, in records.
        bound: No weights have a smaller largest difference than this.
        weights: One a row; not negative, sum to the number of records.
    """

    error: float
    bound: float
    weights: FloatArray


def best_mixture(workload: Workload, counts: IntArray, num_rows: int, support: Codes) -> BestMixture:
    """The weights on rows with the smallest largest error.

    Args:
        workload: The queries.
        counts: The table's count of each of them.
        num_rows: Records of the table, n.
        support: Encoded rows, shape (num_columns, number of rows); repeats do no harm.

    Raises:
        QueryError: The counts are not those of the workload, or the support is empty.

    Guarantees:
        `bound` <= the optimum <= `error`, up to float64 rounding, whatever the solver returned; and error - bound <=
        TOLERANCE unless the solver fails or MAX_PROGRAMS are not enough.

    Example:
        >>> from equipoise.data.domain import Domain
        >>> from equipoise.queries.workload import Group
        >>> workload = Workload(Domain(("x",), (3,)), (Group((0,), (3,)),))
        >>> found = best_mixture(workload, np.array([4, 4, 2]), 10, np.array([[0, 1]], dtype=np.uint8))
        >>> round(found.error, 6), found.weights.round(6).tolist()
        (2.0, [5.0, 5.0])
    """
    if len(counts) != workload.num_queries:
        raise QueryError("best_mixture needs one count for each query of the workload")
    if support.shape[1] == 0:
        raise QueryError("best_mixture needs at least one row")
    rows = np.unique(support, axis=1, return_inverse=True)
    found = _solve(workload, counts.astype(np.float64), float(num_rows), np.ascontiguousarray(rows[0]))
    # Repeated rows share their weight evenly.
    inverse = rows[1].reshape(-1)
    weights = found.weights[inverse] / np.bincount(inverse)[inverse]
    return BestMixture(found.error, found.bound, weights)


def _solve(workload: Workload, counts: FloatArray, total: float, rows: Codes) -> BestMixture:
    reached = workload.count_rows(rows) > 0
    floor = float(counts[~reached].max(initial=0.0))
    weights = np.full(rows.shape[1], total / rows.shape[1])
    error, bound = np.inf, floor
    best = weights
    chosen = np.zeros(0, dtype=np.int64)
    accepts = sparse.csr_array((0, rows.shape[1]))
    for number in range(MAX_PROGRAMS):
        off = np.abs(total * workload.on_rows(rows, weights) - counts)
        if off.max() < error:
            error, best = float(off.max()), weights
        new = _worst(np.where(reached, off, -1.0), chosen, ADDED * 2**number - len(chosen))
        if error - bound <= TOLERANCE or len(new) == 0:
            break
        chosen = np.concatenate([chosen, new])
        accepts = sparse.vstack([accepts, _incidence(workload, rows, new)], format="csr")
        solved = _program(accepts, counts[chosen], total, floor)
        if solved is None:
            break
        weights, prices = solved
        bound = max(bound, _dual_value(accepts, counts[chosen], total, prices))
    return BestMixture(error, min(bound, error), best)


def _worst(off: FloatArray, known: IntArray, most: int) -> IntArray:
    """The queries with the largest errors that are not in the program yet."""
    left = off.copy()
    left[known] = -1.0
    many = min(most, len(left))
    worst = np.argpartition(-left, many - 1)[:many].astype(np.int64)
    return worst[left[worst] >= 0]


def _incidence(workload: Workload, rows: Codes, ids: IntArray) -> Any:
    """Which rows each query accepts: a 0/1 matrix, queries by rows."""
    lines: list[NDArray[np.bool_]] = []
    for query in map(workload.query, ids.tolist()):
        inside = np.ones(rows.shape[1], dtype=bool)
        for column, mask in zip(query.columns, query.masks, strict=True):
            inside &= mask[rows[column]]
        lines.append(inside)
    return sparse.csr_array(np.array(lines, dtype=np.float64))


def _program(accepts: Any, counts: FloatArray, total: float, floor: float) -> tuple[FloatArray, FloatArray] | None:
    """The best weights for some queries, and the price of each query: above 0 where it is answered too low."""
    num_queries, num_rows = accepts.shape
    slack = sparse.csr_array(np.full((num_queries, 1), -1.0))
    upper = sparse.hstack([accepts, slack])
    lower = sparse.hstack([-accepts, slack])
    found = optimize.linprog(
        np.concatenate([np.zeros(num_rows), [1.0]]),
        A_ub=sparse.vstack([upper, lower], format="csc"),
        b_ub=np.concatenate([counts, -counts]),
        A_eq=sparse.csr_array(np.concatenate([np.ones((1, num_rows)), [[0.0]]], axis=1)),
        b_eq=[total],
        bounds=[(0, None)] * num_rows + [(floor, None)],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
    )
    if found.x is None or found.status != 0:
        return None
    weights = np.maximum(found.x[:num_rows], 0.0)
    marginals = -found.ineqlin.marginals
    # Rounding may leave all weights at nothing only if the program was not solved.
    return weights * (total / weights.sum()), marginals[num_queries:] - marginals[:num_queries]


def _dual_value(accepts: Any, counts: FloatArray, total: float, prices: FloatArray) -> float:
    """A lower bound on the error, for any prices y: the dual Σ y_q c_q - n max_x Σ y_q q(x) with Σ |y_q| ≤ 1."""
    scaled = prices / max(1.0, float(np.abs(prices).sum()))
    return max(0.0, float(scaled @ counts) - total * float((accepts.T @ scaled).max()))
