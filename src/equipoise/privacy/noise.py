"""The one door through which randomness that protects data enters: exact samplers, system entropy.

Nothing here can be seeded. Tests that need known noise pass their own `Noise`, which lives in tests/ and not here.
OpenDP's interface is unstable before 1.0, so no other module imports it.
"""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

# Not opendp.prelude, which would import scikit-learn and pandas where they are: ten times as long to start.
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian, make_laplace
from opendp.metrics import l1_distance, l2_distance
from opendp.mod import enable_features

from equipoise.core import IntArray
from equipoise.privacy import draws, exact_selection

__all__ = ["ExactNoise", "Noise"]

enable_features("contrib")

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

    def draws(self, scores: IntArray, scale: float, num_draws: int) -> IntArray:
        """Positions drawn independently, with replacement, Pr[i] proportional to exp(score_i / scale)."""
        ...

    def coins(self, exponents: IntArray, scale: float) -> NDArray[np.bool_]:
        """Independent coins, heads with probability exp(-exponent / scale)."""
        ...


class ExactNoise:
    """OpenDP's samplers, and our own for selection: exact on integers, entropy from the operating system.

    Guarantees:
        Precondition: integers; floats that are scales stand for their exact values. Statement: gaussian and laplace
        draw from the discrete laws without rounding; `largest` has exactly the law of the exponential mechanism
        (permute-and-flip with exponential noise), not that of a float approximation; so have `draws` and `coins`
        theirs. Proof: canonne2020discrete, Algorithms 1 to 3 in v4, which OpenDP's samplers are;
        `privacy.exact_selection` and `privacy.draws` for the others.
    """

    def gaussian(self, values: IntArray, scale: float) -> IntArray:
        """See `Noise.gaussian`."""
        space = vector_domain(atom_domain(T="i64")), l2_distance(T="f64")
        return np.array(make_gaussian(*space, scale=scale)(values.tolist()), dtype=np.int64)

    def laplace(self, values: IntArray, scale: float) -> IntArray:
        """See `Noise.laplace`."""
        space = vector_domain(atom_domain(T="i64")), l1_distance(T="i64")
        return np.array(make_laplace(*space, scale=scale)(values.tolist()), dtype=np.int64)

    def largest(self, scores: IntArray, scale: float, num_selected: int, law: Law) -> IntArray:
        """See `Noise.largest`."""
        if law == "gumbel":
            return exact_selection.exponential_mechanism(scores, scale, num_selected)
        if num_selected > 1:
            raise ValueError("exponential noise selects one candidate at a time")
        return np.array([exact_selection.permute_and_flip(scores, scale)], dtype=np.int64)

    def draws(self, scores: IntArray, scale: float, num_draws: int) -> IntArray:
        """See `Noise.draws`."""
        return draws.draw(scores, scale, num_draws)

    def coins(self, exponents: IntArray, scale: float) -> NDArray[np.bool_]:
        """See `Noise.coins`."""
        return draws.coins(exponents, scale)
