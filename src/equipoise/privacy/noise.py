"""The one door through which randomness that protects data enters: OpenDP's exact samplers, system entropy.

Nothing here can be seeded. Tests that need known noise pass their own `Noise`, which lives in tests/ and not here.
OpenDP's interface is unstable before 1.0, so no other module imports it.
"""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np
import opendp.prelude as dp

from equipoise.core import IntArray

__all__ = ["ExactNoise", "Noise"]

dp.enable_features("contrib")

Law = Literal["gumbel", "exponential"]


class Noise(Protocol):
    """Draws noise on integers. Scales are in the unit of the integers."""

    def gaussian(self, values: IntArray, scale: float) -> IntArray:
        """Values plus independent discrete Gaussian noise, Pr[k] proportional to exp(-k^2 / (2 scale^2))."""
        ...

    def laplace(self, values: IntArray, scale: float) -> IntArray:
        """Values plus independent discrete Laplace noise, Pr[k] proportional to exp(-|k| / scale)."""
        ...

    def largest(self, scores: IntArray, scale: float, num_selected: int, law: Law) -> IntArray:
        """Positions of the largest scores after adding noise of that law and scale, largest first."""
        ...


class ExactNoise:
    """OpenDP's samplers: exact on integers, entropy from the operating system.

    Guarantees:
        gaussian and laplace draw from the discrete laws without rounding. `largest` compares scores plus Gumbel (or
        exponential) noise sampled to as many bits as the comparison needs, so the law is the exponential mechanism's
        (permute-and-flip's) and not that of a float approximation.
    """

    def gaussian(self, values: IntArray, scale: float) -> IntArray:
        """See `Noise.gaussian`."""
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
        return np.array(dp.m.make_gaussian(*space, scale=scale)(values.tolist()), dtype=np.int64)

    def laplace(self, values: IntArray, scale: float) -> IntArray:
        """See `Noise.laplace`."""
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
        return np.array(dp.m.make_laplace(*space, scale=scale)(values.tolist()), dtype=np.int64)

    def largest(self, scores: IntArray, scale: float, num_selected: int, law: Law) -> IntArray:
        """See `Noise.largest`."""
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
        measure = dp.zero_concentrated_divergence() if law == "gumbel" else dp.max_divergence()
        if num_selected == 1:
            return np.array([dp.m.make_noisy_max(*space, measure, scale=scale)(scores.tolist())], dtype=np.int64)
        top = dp.m.make_noisy_top_k(*space, measure, k=num_selected, scale=scale)
        return np.array(top(scores.tolist()), dtype=np.int64)
