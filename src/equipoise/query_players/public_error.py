"""Measure how well a public table could answer for the private one: a game of one move, with no data player."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from equipoise.core import Codes, Move
from equipoise.privacy import accountant, mechanisms
from equipoise.privacy.events import Gaussian
from equipoise.privacy.gate import Gate, Turn
from equipoise.privacy.mixture_error import GRID, SENSITIVITY, mixture_error
from equipoise.privacy.private import Private
from equipoise.queries.workload import Workload

__all__ = ["PublicError", "event_of", "measure_public_error"]


@dataclass(frozen=True)
class PublicError:
    """A private estimate of the smallest largest error that weights on public rows can have; a share of the records.

    Attributes:
        share: The estimate; noise may make it negative.
        stddev: Standard deviation of its noise.
    """

    share: float
    stddev: float


def event_of(rho: Fraction) -> Gaussian:
    """The event that spends this much on one measurement."""
    stddev = accountant.stddev_of(rho=rho, sensitivity_squared=SENSITIVITY**2)
    return Gaussian(Fraction(SENSITIVITY) ** 2, Fraction(stddev) ** 2)


def measure_public_error(
    gate: Gate, truth: Private, workload: Workload, num_rows: int, support: Codes, *, rho: Fraction
) -> PublicError:
    """Measure in one transaction of the gate; a move already in the ledger costs nothing again."""
    stddev = accountant.stddev_of(rho=rho, sensitivity_squared=SENSITIVITY**2)

    def draw(turn: Turn) -> Move:
        sealed = mixture_error(truth, workload, num_rows, support)
        values = mechanisms.measure(turn, sealed, stddev=stddev)
        none = np.zeros(1, dtype=np.int64)
        return Move(none, none, values, stddev)

    move = gate.moves[0] if gate.moves else gate.play(draw)
    assert move.values is not None
    unit = GRID * num_rows
    return PublicError(int(move.values[0]) / unit, stddev / unit)
