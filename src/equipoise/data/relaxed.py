"""Relaxed rows: what RAP may release in place of a distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.core import Codes, FloatArray
from equipoise.data.distributions import MixtureOfProducts

__all__ = ["RelaxedRows"]


@dataclass(frozen=True, eq=False)
class RelaxedRows:
    """Rows whose entries are any numbers: answers as RAP defines them, sampling from the normalised rows.

    Attributes:
        factors: One array of shape (num_relaxed, size) a column.
    """

    factors: tuple[FloatArray, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each column."""
        return tuple(factor.shape[1] for factor in self.factors)

    def marginal(self, columns: tuple[int, ...]) -> FloatArray:
        """Relaxed answers of the cells of a marginal; possibly negative, and of any sum."""
        return self._mixture(self.factors).marginal(columns)

    def sample(self, rng: np.random.Generator, num_rows: int) -> Codes:
        """Rows of the normalised distribution."""
        return self.normalised().sample(rng, num_rows)

    def normalised(self) -> MixtureOfProducts:
        """The nearest thing to a distribution: entries clipped to [0, 1], each column of a row scaled to sum 1.

        A column of a row without positive entries becomes uniform; one that is not made of numbers stays so.
        """
        clipped = [np.clip(factor, 0.0, 1.0) for factor in self.factors]
        sums = [factor.sum(axis=1, keepdims=True) for factor in clipped]
        pairs = zip(clipped, sums, strict=True)
        return self._mixture(tuple(np.where(s == 0, 1.0 / f.shape[1], f / np.where(s == 0, 1.0, s)) for f, s in pairs))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays from which `distributions.from_arrays` makes the same rows."""
        factors = {f"factor_{column}": factor for column, factor in enumerate(self.factors)}
        return {"kind": np.array("relaxed")} | factors

    def _mixture(self, factors: tuple[FloatArray, ...]) -> MixtureOfProducts:
        return MixtureOfProducts(factors, np.full(len(factors[0]), 1.0 / len(factors[0])))
