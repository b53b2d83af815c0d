"""The best-mixture-error of a public table, sealed: what it costs to know is charged when it is measured.

It says how well the private table could be answered by weighing public rows (queries/best_mixture.py), so it tells
which of several public tables to use; that depends on every private record, hence `Private`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equipoise.core import Codes, IntArray
from equipoise.errors import CapacityError
from equipoise.privacy.private import GRID, Private, reveal
from equipoise.queries.best_mixture import TOLERANCE, best_mixture
from equipoise.queries.norms import Norms
from equipoise.queries.workload import Workload

__all__ = ["GRID", "SENSITIVITY", "mixture_error", "mixture_scores"]

SENSITIVITY = GRID + 3
"""Of the sealed integer, in 1/GRID of a record: one record, the solver's tolerance, and one for rounding down."""

assert GRID * TOLERANCE <= 2


class _Errors:
    """The sensitivity of sealed errors: each may move, all in one direction or not."""

    def __init__(self, num_values: int) -> None:
        self._num_values = num_values

    def norms(self, ids: IntArray | None = None) -> Norms:
        many = self._num_values if ids is None else len(ids)
        return Norms(SENSITIVITY, many * SENSITIVITY, many * SENSITIVITY**2)


def mixture_error(truth: Private, workload: Workload, num_rows: int, support: Codes) -> Private:
    """The smallest largest error of weights on these rows, in 1/GRID of a record, rounded down.

    Guarantees:
        Precondition: counts of queries with values in [0, 1]. Statement: the sealed integer moves by at most
        SENSITIVITY when a record is replaced. Proof: that moves every count by at most 1, so for fixed weights the
        largest error by at most 1, and the minimum over weights by at most 1 too. What is sealed exceeds the minimum by
        at most TOLERANCE <= 2/GRID, which is checked by a dual bound and not taken from the solver; rounding down adds
        at most 1/GRID.

    Raises:
        CapacityError: The solver did not come that close. Nothing is released or charged then; that it happened is,
            like the time a computation takes, outside the guarantee.
    """
    return Private(np.array([_in_grid(truth, workload, num_rows, support)], dtype=np.int64), _Errors(1))


def mixture_scores(truth: Private, workload: Workload, num_rows: int, supports: Sequence[Codes]) -> Private:
    """The errors of several supports as scores, the smallest error highest; each as `mixture_error` has it.

    Guarantees:
        Precondition: that of `mixture_error`, for each support. Statement: each score moves by at most SENSITIVITY when
        a record is replaced. Proof: so does each error, and a sign changes nothing.

    Raises:
        CapacityError: As `mixture_error`.
    """
    errors = [_in_grid(truth, workload, num_rows, support) for support in supports]
    return Private(-np.array(errors, dtype=np.int64), _Errors(len(errors)))


def _in_grid(truth: Private, workload: Workload, num_rows: int, support: Codes) -> int:
    found = best_mixture(workload, reveal(truth), num_rows, support)
    if found.error - found.bound > TOLERANCE:
        raise CapacityError(
            "the linear program behind the best-mixture-error was not solved closely enough to be released; nothing was"
            " spent. Ask about fewer queries or fewer public rows."
        )
    return int(np.floor(found.error * GRID))
