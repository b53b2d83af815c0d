"""The certified best query on private records, public records and noise: what RSPM and PRSMA call once they paid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.core import FloatArray, IntArray
from equipoise.errors import SettingError
from equipoise.oracles.classes.minimisers import ByProgram
from equipoise.oracles.classes.query_class import Minimiser, QueryClass, WeightedPoints
from equipoise.privacy.private_points import PrivatePoints, unseal

__all__ = ["GRID", "PublicPoints", "accepted", "certified", "weighed"]

GRID = 64
"""Units in a record's weight: noise on that grid needs a shift of 2 + 1/64 records instead of 2."""


@dataclass(frozen=True, eq=False)
class PublicPoints:
    """Public records that are weighed together with the private ones: bits, and a weight each, in records."""

    bits: NDArray[np.uint8]
    weights: FloatArray


def accepted(points: PrivatePoints, query_class: QueryClass, minimiser: Minimiser | None) -> Minimiser:
    """The minimiser (CP-SAT without a limit by default), once it is known to take the class.

    Raises:
        SettingError: it does not, or the records have other features than the class.
    """
    if points.num_features != query_class.num_features:
        raise SettingError(f"the records have {points.num_features} bits, the class {query_class.num_features}")
    seeker = ByProgram() if minimiser is None else minimiser
    if (reason := seeker.refuses(query_class)) is not None:
        raise SettingError(f"{seeker.name} does not take this class of queries: {reason}")
    return seeker


def weighed(
    points: PrivatePoints, query_class: QueryClass, public: PublicPoints | None, noise: IntArray | None = None
) -> WeightedPoints:
    """Records, public records and separators with their weights in units; public weights are rounded to the grid."""
    true = unseal(points, query_class)
    places, weights = [true.points], [true.weights * GRID]
    if public is not None:
        places.append(query_class.points(np.asarray(public.bits, dtype=np.uint8)))
        weights.append(np.rint(np.asarray(public.weights, dtype=np.float64) * GRID).astype(np.int64))
    if noise is not None:
        places.append(query_class.separators())
        weights.append(noise)
    return WeightedPoints.of(query_class, np.concatenate(places), np.concatenate(weights))


def certified(instance: WeightedPoints, minimiser: Minimiser, gap: int) -> IntArray | None:
    """The minimiser's query if it is certified within `gap` units of the best, else None.

    Guarantees:
        Precondition: the minimiser's lower bound is true. Statement: a query that is returned is within `gap` units of
        the best for these points. Proof: its value is computed here, and must be the one that the bound was given for.
    """
    found = minimiser.solve(instance)
    # The value is recomputed here: a certificate is for what the class says of the query, not for what a solver says.
    honest = int(instance.values(found.parameters)[0]) == found.value
    return instance.query_class.canonical(found.parameters) if honest and found.proved(gap) else None
