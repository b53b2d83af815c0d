"""The inner loops of the mixture fit: one column's factors, all other columns fixed.

For column c let S be the matrix whose row k holds, for every marginal B with c and every cell o of the marginal of B
without c, the probability that component k gives o. Then the model's answers are A = SᵀP/K, linear in the column's
factors P (K x m), and the gradient of ½ Σ W (A - Y)² is S (W ∘ (A - Y)) up to the factor 1/K. Factors are sparse
(projection to the simplex gives exact zeros), so S is built and used by its nonzero entries only: nothing here is
larger than components x nonzeros or than the measured cells.

Every kernel works on a range of marginals or of components and writes nothing outside of it, without Python's lock: two
threads on two ranges do the same as one on both, bit by bit.

Entries of S are kept marginal by marginal, and within a marginal component by component: one marginal's residuals stay
in the cache while all components use them.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["compact", "ends_of", "expand", "project", "residuals", "times"]

F32 = np.float32

FAST = {"reassoc", "contract", "nsz", "arcp"}
"""Sums may be reordered, so that they vectorise; not-a-number and infinity keep their meaning."""


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def compact(factors: NDArray[Any], codes: NDArray[Any], values: NDArray[Any], counts: NDArray[Any]) -> None:
    """The nonzero entries of each row: where they are, what they are, and how many."""
    num_components, size = factors.shape
    for k in range(num_components):
        n = 0
        for v in range(size):
            if factors[k, v] != 0.0:
                codes[k, n] = v
                values[k, n] = factors[k, v]
                n += 1
        counts[k] = n


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def ends_of(others: NDArray[Any], widths: NDArray[Any], counts: NDArray[Any]) -> NDArray[Any]:
    """Where the entries of S begin: those of marginal w and component k are `ends[w*K+k]` to `ends[w*K+k+1]`."""
    num_components = counts.shape[1]
    ends = np.zeros(len(widths) * num_components + 1, dtype=np.int64)
    for w in range(len(widths)):
        for k in range(num_components):
            n = 1
            for a in range(widths[w]):
                n *= counts[others[w, a], k]
            i = w * num_components + k
            ends[i + 1] = ends[i] + n
    return ends


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def expand(
    begin: int,
    end: int,
    others: NDArray[Any],
    strides: NDArray[Any],
    widths: NDArray[Any],
    firsts: NDArray[Any],
    starts: NDArray[Any],
    codes: NDArray[Any],
    values: NDArray[Any],
    counts: NDArray[Any],
    ends: NDArray[Any],
    rows: NDArray[Any],
    products: NDArray[Any],
) -> None:
    """The entries of S for marginals `begin` to `end` - 1: their rows and their values, into `rows` and `products`.

    `others`, `strides`, `widths` and `firsts` are those of `Block`; `starts`, `codes`, `values` and `counts` those of
    `Factors`.
    """
    num_components = counts.shape[1]
    for w in range(begin, end):
        for k in range(num_components):
            first = ends[w * num_components + k]
            if first == ends[w * num_components + k + 1]:
                continue
            rows[first] = firsts[w]
            products[first] = 1.0
            n = 1
            for a in range(widths[w]):
                column = others[w, a]
                start, m, stride = starts[column], counts[column, k], strides[w, a]
                # In place from the back: entry t becomes entries t*m to t*m+m-1.
                for t in range(n - 1, -1, -1):
                    row, product = rows[first + t], products[first + t]
                    for j in range(m - 1, -1, -1):
                        rows[first + t * m + j] = row + np.int32(codes[k, start + j] * stride)
                        products[first + t * m + j] = product * values[k, start + j]
                n *= m


@numba.njit(cache=True, nogil=True, fastmath=FAST)  # type: ignore[untyped-decorator]
def residuals(
    begin: int,
    end: int,
    ends: NDArray[Any],
    rows: NDArray[Any],
    products: NDArray[Any],
    firsts: NDArray[Any],
    codes: NDArray[Any],
    values: NDArray[Any],
    counts: NDArray[Any],
    targets: NDArray[Any],
    precisions: NDArray[Any],
    apart: NDArray[Any],
    residual: NDArray[Any],
    mass: NDArray[Any],
    losses: NDArray[Any],
) -> None:
    """W ∘ (A - Y) into `residual`, the rows' sums of A into `mass`, and two losses of each marginal into `losses`.

    The losses are Σ W (A - Y)² and Σ W (A - Y)(A - Y + 2 apart): with `apart` = Y - Y' the latter is
    Σ W (A - Y')² less a constant. `codes`, `values`, `counts` are the nonzero entries of the column's own factors.
    """
    num_components, size = len(counts), residual.shape[1]
    share = F32(1.0 / num_components)
    for w in range(begin, end):
        residual[firsts[w] : firsts[w + 1]] = F32(0.0)
        for k in range(num_components):
            for e in range(ends[w * num_components + k], ends[w * num_components + k + 1]):
                row, product = rows[e], products[e] * share
                for j in range(counts[k]):
                    residual[row, codes[k, j]] += product * values[k, j]
        loss = other_loss = np.float64(0.0)
        for row in range(firsts[w], firsts[w + 1]):
            total = part = other_part = F32(0.0)
            for v in range(size):
                answer = residual[row, v]
                total += answer
                off = answer - targets[row, v]
                weighted = precisions[row, v] * off
                part += weighted * off
                if len(apart):
                    other_part += weighted * apart[row, v]
                residual[row, v] = weighted
            mass[row] = total
            loss += np.float64(part)
            other_loss += np.float64(other_part)
        losses[w, 0] = loss
        losses[w, 1] = loss + 2.0 * other_loss


@numba.njit(cache=True, nogil=True, fastmath=FAST)  # type: ignore[untyped-decorator]
def times(
    begin: int,
    end: int,
    ends: NDArray[Any],
    rows: NDArray[Any],
    products: NDArray[Any],
    table: NDArray[Any],
    result: NDArray[Any],
) -> None:
    """Rows `begin` to `end` - 1 of S times a table, into the same rows of `result` (components x the table's width)."""
    num_components, size = result.shape
    result[begin:end] = F32(0.0)
    for w in range((len(ends) - 1) // num_components):
        for k in range(begin, end):
            for e in range(ends[w * num_components + k], ends[w * num_components + k + 1]):
                row, product = rows[e], products[e]
                for v in range(size):
                    result[k, v] += product * table[row, v]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def project(
    begin: int,
    end: int,
    points: NDArray[Any],
    slopes: NDArray[Any],
    curvatures: NDArray[Any],
    result: NDArray[Any],
) -> None:
    """Rows `begin` to `end` - 1 of points - slopes/curvatures, projected to the simplex, into `result`."""
    size = points.shape[1]
    for k in range(begin, end):
        step = 1.0 / max(curvatures[k], 1e-30)
        total, n = -1.0, size
        for v in range(size):
            result[k, v] = points[k, v] - step * slopes[k, v]
            total += result[k, v]
        threshold = total / size
        # Michelot's algorithm: drop what lies below the threshold until nothing does.
        while True:
            kept_total, kept = -1.0, 0
            for v in range(size):
                if result[k, v] > threshold:
                    kept_total += result[k, v]
                    kept += 1
            if kept == n or kept == 0:
                break
            n = kept
            threshold = kept_total / kept
        for v in range(size):
            off = result[k, v] - threshold
            result[k, v] = off if off > 0.0 else 0.0
