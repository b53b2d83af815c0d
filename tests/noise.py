"""Noise that tests know. NOT PRIVATE: it lives here so that no release can use it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from equipoise.audit.laws import (
    log_exponential_mechanism,
    log_gaussian_pmf,
    log_laplace_pmf,
    log_permute_and_flip,
)
from equipoise.core import IntArray


class NoNoise:
    """Adds nothing and selects the true maximum."""

    def gaussian(self, values: IntArray, scale: float) -> IntArray:
        return values.copy()

    def laplace(self, values: IntArray, scale: float) -> IntArray:
        return values.copy()

    def largest(self, scores: IntArray, scale: float, num_selected: int, law: str) -> IntArray:
        return np.argsort(-scores, kind="stable")[:num_selected]

    def draws(self, scores: IntArray, scale: float, num_draws: int) -> IntArray:
        return np.full(num_draws, np.argmax(scores), dtype=np.int64)

    def coins(self, exponents: IntArray, scale: float) -> NDArray[np.bool_]:
        return exponents <= scale


class SeededNoise:
    """The laws of the real thing, from a seeded generator."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def gaussian(self, values: IntArray, scale: float) -> IntArray:
        return values + np.rint(self.rng.normal(size=len(values)) * scale).astype(np.int64)

    def laplace(self, values: IntArray, scale: float) -> IntArray:
        return values + np.rint(self.rng.laplace(size=len(values)) * scale).astype(np.int64)

    def largest(self, scores: IntArray, scale: float, num_selected: int, law: str) -> IntArray:
        noise = self.rng.gumbel(size=len(scores)) if law == "gumbel" else self.rng.exponential(size=len(scores))
        return np.argsort(-(scores + scale * noise), kind="stable")[:num_selected]

    def draws(self, scores: IntArray, scale: float, num_draws: int) -> IntArray:
        weights = np.exp((scores - scores.max()) / scale)
        return self.rng.choice(len(scores), size=num_draws, p=weights / weights.sum())

    def coins(self, exponents: IntArray, scale: float) -> NDArray[np.bool_]:
        return self.rng.random(len(exponents)) < np.exp(-exponents / scale)


@dataclass
class ScriptedNoise:
    """Returns scripted outcomes and adds up the log-probability that the true laws give them.

    `script` has, in the order of the calls, the selected position (for `largest` and each draw), 1 for heads and 0 for
    tails (for each coin) or the noisy value (for the others).
    `sabotage` multiplies every scale as the mechanism under test should have and does not: 0.5 is half the noise.
    """

    script: list[int]
    sabotage: float = 1.0
    log_probability: float = 0.0
    used: int = 0
    sizes: list[int] = field(default_factory=list)

    def _next(self) -> int:
        self.used += 1
        return self.script[self.used - 1]

    def gaussian(self, values: IntArray, scale: float) -> IntArray:
        assert len(values) == 1
        noisy = self._next()
        self.log_probability += float(log_gaussian_pmf(noisy - int(values[0]), scale * self.sabotage))
        return np.array([noisy], dtype=np.int64)

    def laplace(self, values: IntArray, scale: float) -> IntArray:
        assert len(values) == 1
        noisy = self._next()
        self.log_probability += float(log_laplace_pmf(noisy - int(values[0]), scale * self.sabotage))
        return np.array([noisy], dtype=np.int64)

    def largest(self, scores: IntArray, scale: float, num_selected: int, law: str) -> IntArray:
        assert num_selected == 1
        chosen = self._next()
        probability = log_exponential_mechanism if law == "gumbel" else log_permute_and_flip
        self.log_probability += probability(scores, scale * self.sabotage, chosen)
        return np.array([chosen], dtype=np.int64)

    def draws(self, scores: IntArray, scale: float, num_draws: int) -> IntArray:
        chosen = [self._next() for _ in range(num_draws)]
        self.log_probability += sum(log_exponential_mechanism(scores, scale * self.sabotage, i) for i in chosen)
        return np.array(chosen, dtype=np.int64)

    def coins(self, exponents: IntArray, scale: float) -> NDArray[np.bool_]:
        heads = np.array([self._next() == 1 for _ in exponents], dtype=np.bool_)
        chances = np.exp(-exponents / (scale * self.sabotage))
        self.log_probability += float(np.log(np.where(heads, chances, -np.expm1(np.log(chances)))).sum())
        return heads
