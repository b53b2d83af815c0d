"""The inner loops of the mixture fit: one column's factors, all other columns fixed.

For column c let S be the matrix whose row k holds, for every marginal B with c and every cell o of the marginal of B
without c, the probability that component k gives o. Then the model's answers are A = SᵀP/K, linear in the column's
factors P (K x m), and the gradient of ½ Σ W (A - Y)² is S (W ∘ (A - Y)) up to the factor 1/K. Factors are sparse
(projection to the simplex gives exact zeros), so S is built and used by its nonzero entries only: nothing here is
larger than components x nonzeros or than the measured cells.

Every kernel works on a range of marginals or of components and writes nothing outside of it, without Python's lock: two
threads on two ranges do the same as one on both, bit by bit.

Entries of S are kept marginal by marginal, and within a marginal component by component: one marginal's residuals stay
in the cache while all components use them. Each entry then adds one row to another, `LANES` values at once (`_add`);
so rows of residuals and factors are filled up with zeros to a multiple of that (`filled_up`). Numba by itself
vectorises no loop that is as short as a column.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic
from numpy.typing import NDArray

__all__ = ["LANES", "compact", "ends_of", "expand", "filled_up", "project", "residuals", "times"]

F32 = np.float32

LANES = 16
"""Values added at once: a processor that cannot does them in two or four parts. On one that can, eight took a third
longer."""

NOT_FILLED_UP = "rows must be filled up: what adds so many values at once would write beyond them"

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


def filled_up(size: int) -> int:
    """Length of a row of residuals: the column's values, one more number (see `residuals`), and zeros."""
    return -(-(size + 1) // LANES) * LANES


@intrinsic  # type: ignore[untyped-decorator]
def _add(typing: Any, target: Any, i: Any, scale: Any, source: Any, j: Any) -> Any:
    """Adds `scale` times the `LANES` numbers from `source.flat[j]` on to those from `target.flat[i]` on."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = ir.VectorType(ir.FloatType(), LANES)

        def at(array: int, index: int) -> Any:
            data = context.make_array(signature.args[array])(context, builder, arguments[array]).data
            return builder.bitcast(builder.gep(data, [arguments[index]]), lanes.as_pointer())

        def loaded(pointer: Any) -> Any:
            value = builder.load(pointer)
            value.align = F32().itemsize
            return value

        zero = ir.Constant(ir.IntType(32), 0)
        one = builder.insert_element(ir.Constant(lanes, ir.Undefined), arguments[2], zero)
        scales = builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))
        to = at(0, 1)
        product = builder.fmul(scales, loaded(at(3, 4)), flags=["contract"])
        builder.store(builder.fadd(loaded(to), product, flags=["contract"]), to).align = F32().itemsize
        return context.get_dummy_value()

    return numba.void(target, i, scale, source, j), code


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
        if widths[w] == 0:
            for k in range(num_components):
                rows[ends[w * num_components + k]] = firsts[w]
                products[ends[w * num_components + k]] = 1.0
            continue
        last = widths[w] - 1
        column, stride = others[w, last], np.int32(strides[w, last])
        for k in range(num_components):
            # Unsigned, for numba asks of signed numbers whether they count from the end.
            to = np.uint64(ends[w * num_components + k])
            start, stop = starts[column], starts[column] + counts[column, k]
            own_codes, own_values = codes[k, start:stop], values[k, start:stop]
            num_heads = 1
            for a in range(last):
                num_heads *= counts[others[w, a], k]
            for head in range(num_heads):
                row, product, rest = np.int32(firsts[w]), F32(1.0), head
                for a in range(last - 1, -1, -1):
                    m, i = counts[others[w, a], k], rest
                    if a > 0:
                        rest, i = rest // m, rest % m
                    at = starts[others[w, a]] + i
                    row += codes[k, at] * np.int32(strides[w, a])
                    product *= values[k, at]
                for j in range(stop - start):
                    rows[to] = row + own_codes[j] * stride
                    products[to] = product * own_values[j]
                    to += np.uint64(1)


@numba.njit(cache=True, nogil=True, fastmath=FAST)  # type: ignore[untyped-decorator]
def residuals(
    begin: int,
    end: int,
    ends: NDArray[Any],
    rows: NDArray[Any],
    products: NDArray[Any],
    firsts: NDArray[Any],
    point: NDArray[Any],
    used: NDArray[Any],
    targets: NDArray[Any],
    precisions: NDArray[Any],
    apart: NDArray[Any],
    largest: NDArray[Any],
    residual: NDArray[Any],
    losses: NDArray[Any],
) -> None:
    """W ∘ (A - Y) into `residual`, and two losses of each marginal into `losses`.

    The number after a row's residuals is the sum of its answers A, times its `largest` precision. The losses are
    Σ W (A - Y)² and Σ W (A - Y)(A - Y + 2 apart): with `apart` = Y - Y' the latter is Σ W (A - Y')² less a constant.
    `point`, the column's own factors, is filled up as `residual` is; `used` says which of its parts are not zero.
    """
    num_components, length = point.shape
    size = targets.shape[1]
    if length % LANES != 0 or residual.shape[1] != length:
        raise ValueError(NOT_FILLED_UP)
    share = F32(1.0 / num_components)
    for w in range(begin, end):
        residual[firsts[w] : firsts[w + 1]] = F32(0.0)
        for k in range(num_components):
            for part in range(0, length, LANES):
                if used[k, part // LANES]:
                    for e in range(ends[w * num_components + k], ends[w * num_components + k + 1]):
                        _add(residual, rows[e] * length + part, products[e] * share, point, k * length + part)
        loss = other_loss = np.float64(0.0)
        for row in range(firsts[w], firsts[w + 1]):
            total = part_loss = other_part = F32(0.0)
            for v in range(size):
                answer = residual[row, v]
                total += answer
                off = answer - targets[row, v]
                weighted = precisions[row, v] * off
                part_loss += weighted * off
                if len(apart):
                    other_part += weighted * apart[row, v]
                residual[row, v] = weighted
            residual[row, size] = total * largest[row]
            loss += np.float64(part_loss)
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
    """Rows `begin` to `end` - 1 of S times a table, into the same rows of `result`: both filled up."""
    num_components, length = result.shape
    if length % LANES != 0 or table.shape[1] != length:
        raise ValueError(NOT_FILLED_UP)
    result[begin:end] = F32(0.0)
    for w in range((len(ends) - 1) // num_components):
        for k in range(begin, end):
            for part in range(0, length, LANES):
                for e in range(ends[w * num_components + k], ends[w * num_components + k + 1]):
                    _add(result, k * length + part, products[e], table, rows[e] * length + part)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def project(
    begin: int,
    end: int,
    points: NDArray[Any],
    slopes: NDArray[Any],
    curvatures: NDArray[Any],
    result: NDArray[Any],
) -> None:
    """Rows `begin` to `end` - 1 of points - slopes/curvatures, projected to the simplex, into `result`.

    Points and slopes may be longer than the result: filled up.
    """
    size = result.shape[1]
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
