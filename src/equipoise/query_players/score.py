"""Score a model privately: one noisy number for how far its answers are from the truth. A game of one move."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import numpy as np

from equipoise.core import Distribution, Move
from equipoise.privacy import accountant, mechanisms
from equipoise.privacy.gate import Gate, Turn
from equipoise.privacy.private import GRID, Private
from equipoise.queries.queries import Queries

__all__ = ["Criterion", "measure_score", "share_of", "unit_of"]

Criterion = Literal["mean", "max"]


def _sealed(truth: Private, model: Distribution, workload: Queries, num_rows: int, criterion: Criterion) -> Private:
    """The sum or the largest of the errors, in 1/GRID of a count."""
    errors = truth.distance(num_rows * workload.on(model))
    return errors.total() if criterion == "mean" else errors.largest()


def measure_score(
    gate: Gate,
    truth: Private,
    model: Distribution | None,
    *,
    workload: Queries,
    num_rows: int,
    criterion: Criterion,
    rho: Fraction | None,
    epsilon: Fraction | None,
) -> int:
    """The noisy score, smaller is better; one that the gate's book has already is not drawn again (and needs no model).

    Guarantees:
        Costs at most `rho` (discrete Gaussian noise) or `epsilon` (discrete Laplace), one of which is given, for one
        record replaced. Sensitivities: the sum of absolute errors moves by at most the workload's L1 norm, the largest
        by at most its L-infinity norm.
    """

    def draw(turn: Turn) -> Move:
        assert model is not None
        sealed = _sealed(truth, model, workload, num_rows, criterion)
        if rho is not None:
            stddev = accountant.stddev_of(rho=rho, sensitivity_squared=sealed.norms.l2_squared)
            values = mechanisms.measure(turn, sealed, stddev=stddev)
        else:
            assert epsilon is not None
            values, stddev = mechanisms.measure_pure(turn, sealed, epsilon=epsilon), 0.0
        none = np.zeros(1, dtype=np.int64)
        return Move(none, none, values, stddev)

    move = gate.moves[0] if gate.moves else gate.play(draw)
    assert move.values is not None
    return int(move.values[0])


def unit_of(workload: Queries, num_rows: int, criterion: Criterion) -> int:
    """Score of an error of 1 (all rows): of every query in the mean, or of the worst."""
    return GRID * num_rows * (workload.num_queries if criterion == "mean" else 1)


def share_of(score: int, *, workload: Queries, num_rows: int, criterion: Criterion) -> float:
    """A score as a mean or largest error, a share of the rows; noise may make it negative."""
    return score / unit_of(workload, num_rows, criterion)
