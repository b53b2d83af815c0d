"""The negative control of audits: the product's own noise, with less of it than was asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.core import IntArray
from equipoise.privacy.noise import ExactNoise, Law

__all__ = ["LessNoise"]

_exact = ExactNoise()


@dataclass(frozen=True)
class LessNoise:
    """A `Noise` whose scales are a share of those asked for. For audits: it protects nobody as promised."""

    share: float

    def gaussian(self, values: IntArray, scale: float) -> IntArray:
        """See `Noise.gaussian`."""
        return _exact.gaussian(values, self.share * scale)

    def laplace(self, values: IntArray, scale: float) -> IntArray:
        """See `Noise.laplace`."""
        return _exact.laplace(values, self.share * scale)

    def largest(self, scores: IntArray, scale: float, num_selected: int, law: Law) -> IntArray:
        """See `Noise.largest`."""
        return _exact.largest(scores, self.share * scale, num_selected, law)

    def draws(self, scores: IntArray, scale: float, num_draws: int) -> IntArray:
        """See `Noise.draws`."""
        return _exact.draws(scores, self.share * scale, num_draws)

    def coins(self, exponents: IntArray, scale: float) -> NDArray[np.bool_]:
        """See `Noise.coins`."""
        return _exact.coins(exponents, self.share * scale)
