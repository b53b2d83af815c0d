"""Where queries live on the dense domain: the cells that a query accepts, visited without listing them.

A query is a product of masks, so the cells it accepts are a product of index sets. Runs of unmasked columns merge
into one strided axis, and a mask of consecutive codes is one too; only a mask with gaps needs a list of offsets. A
cell of a three-way marginal thus becomes at most four strided loops over |X| / cells elements, and this is what
makes a step of multiplicative weights or of entropy projection cost a small fraction of a pass over the domain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numba
import numpy as np

from equipoise.core import FloatArray, IntArray

if TYPE_CHECKING:
    from equipoise.queries.query import Query

__all__ = ["Region", "Regions", "add_to", "region_of", "scale", "sum_over"]


class Region(NamedTuple):
    """The flat positions base + (one offset of each axis).

    Attributes:
        base: The first position.
        axes: Shape (num_axes, 3): number of steps, stride, and where the axis starts in `listed`. A stride of 0
            says that the offsets are listed there. The last axis is always strided.
        listed: Offsets of the axes that have gaps.
    """

    base: int
    axes: IntArray
    listed: IntArray


class Regions(NamedTuple):
    """Many regions end to end, the form that compiled loops over queries take.

    Attributes:
        bases: The first position of each region.
        starts: Region i has the axes `starts[i]` to `starts[i + 1]`.
        axes: As in `Region`, for all.
        listed: As in `Region`, for all.
    """

    bases: IntArray
    starts: IntArray
    axes: IntArray
    listed: IntArray

    @classmethod
    def empty(cls) -> Regions:
        """No region."""
        none = np.zeros(0, dtype=np.int64)
        return cls(none, np.zeros(1, dtype=np.int64), np.zeros((0, 3), dtype=np.int64), none)

    def extended(self, regions: Sequence[Region]) -> Regions:
        """These regions and more."""
        bases = np.array([region.base for region in regions], dtype=np.int64)
        num_axes = np.array([len(region.axes) for region in regions], dtype=np.int64)
        shifts = len(self.listed) + np.cumsum([0] + [len(region.listed) for region in regions])
        axes = [region.axes + np.array([0, 0, shift]) for region, shift in zip(regions, shifts[:-1], strict=True)]
        return Regions(
            np.concatenate([self.bases, bases]),
            np.concatenate([self.starts, self.starts[-1] + np.cumsum(num_axes)]),
            np.concatenate([self.axes, *axes]),
            np.concatenate([self.listed, *(region.listed for region in regions)]),
        )


def region_of(query: Query, shape: tuple[int, ...]) -> Region:
    """The cells of a domain of this shape that a query accepts."""
    masks = dict(zip(query.columns, query.masks, strict=True))
    base = 0
    axes: list[tuple[int, int, int]] = []
    listed: list[IntArray] = []
    num_listed = 0
    stride = math.prod(shape)
    for column, size in enumerate(shape):
        stride //= size
        codes = np.flatnonzero(masks[column]) if column in masks else np.arange(size)
        if len(codes) == 0:
            return Region(0, np.array([[0, 1, 0]]), np.zeros(0, dtype=np.int64))
        if codes[-1] - codes[0] + 1 == len(codes):
            base += int(codes[0]) * stride
            _append(axes, len(codes), stride)
        else:
            axes.append((len(codes), 0, num_listed))
            listed.append(codes * stride)
            num_listed += len(codes)
    if not axes or axes[-1][1] == 0:
        axes.append((1, 1, 0))
    offsets = np.concatenate(listed) if listed else np.zeros(0, dtype=np.int64)
    return Region(base, np.array(axes, dtype=np.int64), offsets)


def _append(axes: list[tuple[int, int, int]], count: int, stride: int) -> None:
    """Add a strided axis, as a longer last axis where the two make one even run."""
    if count == 1:
        return
    if axes and axes[-1][1] == count * stride:
        axes[-1] = (axes[-1][0] * count, stride, 0)
    else:
        axes.append((count, stride, 0))


@numba.njit(cache=True, nogil=True, inline="always")  # type: ignore[untyped-decorator]
def _num_runs(axes: IntArray) -> int:
    runs = 1
    for axis in range(len(axes) - 1):
        runs *= axes[axis, 0]
    return runs


@numba.njit(cache=True, nogil=True, inline="always")  # type: ignore[untyped-decorator]
def _run_start(base: int, axes: IntArray, listed: IntArray, run: int) -> int:
    """First position of the run with this number: the digits of `run` are steps along the outer axes."""
    start = base
    for axis in range(len(axes) - 2, -1, -1):
        digit = run % axes[axis, 0]
        run //= axes[axis, 0]
        if axes[axis, 1] > 0:
            start += digit * axes[axis, 1]
        else:
            start += listed[axes[axis, 2] + digit]
    return start


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def sum_over(weights: FloatArray, base: int, axes: IntArray, listed: IntArray) -> float:
    """Sum of the weights in a region."""
    count, stride = axes[-1, 0], axes[-1, 1]
    total = 0.0
    for run in range(_num_runs(axes)):
        start = _run_start(base, axes, listed, run)
        subtotal = 0.0
        for position in range(start, start + count * stride, stride):
            subtotal += weights[position]
        total += subtotal
    return total


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def scale(weights: FloatArray, base: int, axes: IntArray, listed: IntArray, factor: float) -> None:
    """Multiply the weights in a region, in place."""
    count, stride = axes[-1, 0], axes[-1, 1]
    for run in range(_num_runs(axes)):
        start = _run_start(base, axes, listed, run)
        for position in range(start, start + count * stride, stride):
            weights[position] *= factor


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def add_to(weights: FloatArray, base: int, axes: IntArray, listed: IntArray, amount: float) -> None:
    """Add to the weights in a region, in place."""
    count, stride = axes[-1, 0], axes[-1, 1]
    for run in range(_num_runs(axes)):
        start = _run_start(base, axes, listed, run)
        for position in range(start, start + count * stride, stride):
            weights[position] += amount
