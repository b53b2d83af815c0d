"""Minimising a smooth convex function of many numbers: limited-memory BFGS with a diagonal start.

scipy's L-BFGS-B solves the same problems, with two drawbacks here: its own work a step took longer than our
functions take to evaluate; and it knows no preconditioner. One variable a cell means curvatures as
different as the cells' probabilities, and without scaling, stopping early leaves a bad distribution.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

import numpy as np

from equipoise.core import FloatArray

__all__ = ["minimise"]

MEMORY = 8
"""Steps remembered; more did not pay on the fits of this package."""
LONGEST_STEP = 10.0
"""No variable moves by more in one step; the variables here are log-odds."""


def minimise(
    function: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    *,
    inverse_curvature: FloatArray,
    tolerance: float,
    max_evaluations: int,
) -> FloatArray:
    """A point where no entry of the gradient is larger than `tolerance`, or the best after `max_evaluations`.

    Args:
        function: Returns value and gradient.
        start: Where to begin.
        inverse_curvature: A guess at the diagonal of the inverse Hessian, up to a factor.
        tolerance: On the largest entry of the gradient.
        max_evaluations: At most this many calls of `function`.

    Example:
        >>> minimise(lambda x: (float((x - 2) @ (x - 2)), 2 * (x - 2)), np.zeros(1), inverse_curvature=np.ones(1),
        ...          tolerance=1e-9, max_evaluations=50).round(6)
        array([2.])
    """
    point, steps = start, deque[tuple[FloatArray, FloatArray]](maxlen=MEMORY)
    value, gradient = function(point)
    left = max_evaluations - 1
    while left > 0 and np.abs(gradient).max(initial=0.0) > tolerance:
        direction = _direction(gradient, steps, inverse_curvature)
        slope = _dot(gradient, direction)
        # The guess may be off by any factor, and where the function is almost linear so is what was learnt.
        longest = LONGEST_STEP if steps else 1.0
        length = min(1.0, longest / float(np.abs(direction).max()))
        while True:
            moved = point + length * direction
            new_value, new_gradient = function(moved)
            left -= 1
            if new_value <= value + 1e-4 * length * slope + 1e-13 * abs(value):
                break
            if left <= 0:
                return point
            length *= _shrink(new_value - value, length * slope)
        change, turn = moved - point, new_gradient - gradient
        if _dot(change, turn) > 1e-10 * math.sqrt(_dot(change, change) * _dot(turn, turn)):
            steps.append((change, turn))
        point, value, gradient = moved, new_value, new_gradient
    return point


def _shrink(rise: float, promised: float) -> float:
    """By what to shorten a step that did not go down enough: the minimum of the parabola, kept in [0.1, 0.5]."""
    if not math.isfinite(rise):
        return 0.1
    return min(0.5, max(0.1, -promised / (2 * (rise - promised))))


def _direction(
    gradient: FloatArray, steps: deque[tuple[FloatArray, FloatArray]], inverse_curvature: FloatArray
) -> FloatArray:
    """Two-loop recursion: minus the approximate inverse Hessian times the gradient."""
    direction = -gradient
    shares = []
    for change, turn in reversed(steps):
        share = _dot(change, direction) / _dot(change, turn)
        shares.append(share)
        direction = direction - share * turn
    direction = inverse_curvature * direction
    if steps:
        change, turn = steps[-1]
        direction *= _dot(change, turn) / _dot(turn, inverse_curvature * turn)
    for (change, turn), share in zip(steps, reversed(shares), strict=True):
        direction = direction + (share - _dot(turn, direction) / _dot(change, turn)) * change
    return direction


def _dot(left: FloatArray, right: FloatArray) -> float:
    """Inner product without BLAS, whose threads cost more than they save here and whose sums depend on their number."""
    return float(np.einsum("i,i->", left, right))
