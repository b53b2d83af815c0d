"""A generator network: the data player of GEM.

The network turns noise vectors z_1 .. z_B into B products of distributions, one of each column; their equal mixture is
what it plays. After each move it is trained on everything measured so far (liu2021iterative, Algorithm 4, arXiv v2):

    until every |e_i| < γ, or `max_steps` times:    e_i = m_i - q_i(G), m_i clamped to [0, 1]
      J = {i: |e_i| >= γ}                           at most `max_active` of them, drawn at random
      a step of Adam on the mean of |e_i| over J    the rate falls to 0 like a cosine within the round

γ is half of a moving average of max_i |m_i - q_i(G)|, taken before each training: of noisy measurements, which are
public. The true error of the selected query, as the paper's appendix D.3 can be read, would leak (MECHANISMS E-001-5).

With `loss="squared"` the loss is the mean of (e_i / stddev_i)² over all measured queries, and
training ends when that is at most 1 and the largest of them at most 2 log(2 k) of k: the noise explains the rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from equipoise.core import FloatArray, Move, report
from equipoise.data.distributions import MixtureOfProducts
from equipoise.data_players.measured_queries import MeasuredQueries, Values
from equipoise.data_players.measurements import Measurements
from equipoise.errors import SettingError
from equipoise.queries.workload import Workload

if TYPE_CHECKING:
    from equipoise.data_players.jax_generator import Training, Weights

__all__ = ["Generator", "memory_bytes"]

THRESHOLD_MEMORY = 0.5
"""Share of the old value in the moving average behind γ (liu2021iterative, appendix D.3: beta)."""


def memory_bytes(workload: Workload, num_products: int, widths: Sequence[int]) -> int:
    """Memory that the player needs: weights with gradient and optimiser, activations, values, the largest marginal."""
    layers = [*widths, workload.domain.num_values]
    weights = sum(a * b for a, b in pairwise(layers))
    # All columns of a marginal but the largest, padded to powers of two, are multiplied out for every product.
    widest: int = max(2 ** len(g.columns) * math.prod(sorted(g.shape)[:-1]) for g in workload.groups)
    return 4 * (6 * weights + num_products * (4 * sum(layers) + 3 * widest)) + 16 * workload.num_queries


@dataclass
class Trained:
    """The player's state. `step` changes it in place and returns it: hand a state to one game only."""

    training: Training
    noise: Any
    measurements: Measurements
    queries: MeasuredQueries
    largest: float | None = None
    averaged: Weights | None = None
    linearised: tuple[Values, Any] | None = None


@dataclass(frozen=True)
class Generator:
    """Plays the distribution of a network fitted to all measurements so far.

    Attributes:
        workload: The queries that moves refer to.
        num_rows: n; moves carry counts out of n.
        num_rounds: Rounds of the game: after the last one, the moving average of the weights since half-time is played.
        num_products: B, the noise vectors.
        widths: Length of a noise vector, then the widths of the hidden layers.
        loss: See the module's docstring.
        learning_rate: Of Adam, at the start of a round.
        max_steps: Steps of Adam a round at most.
        max_active: Queries that one step looks at, at most.
        weight_memory: Share of the old value in the moving average of the weights.
        resample: Draw new noise vectors for every step, instead of keeping the first ones.
    """

    workload: Workload
    num_rows: int
    num_rounds: int
    num_products: int = 1000
    widths: tuple[int, ...] = (512, 1024, 1024)
    loss: Literal["absolute", "squared"] = "absolute"
    learning_rate: float = 1e-4
    max_steps: int = 100
    max_active: int = 100
    weight_memory: float = 0.5
    resample: bool = False

    def __post_init__(self) -> None:
        if self.num_products < 1 or self.max_steps < 1:
            raise SettingError("num_products and max_steps must be at least 1")
        if not 0.0 < self.learning_rate < math.inf:
            raise SettingError("learning_rate must be a positive number")
        if not 0.0 <= self.weight_memory < 1.0:
            raise SettingError("weight_memory must be at least 0 and below 1")

    def init(self, rng: np.random.Generator) -> Trained:
        """A network with random weights."""
        from equipoise.data_players import jax_generator

        weights = jax_generator.initial_weights(rng, self.widths, self.workload.domain.num_values)
        queries = MeasuredQueries(self.workload, self.num_products)
        return Trained(jax_generator.start(weights), self._noise(rng), Measurements(self.num_rows), queries)

    def step(self, rng: np.random.Generator, state: Trained, moves: Sequence[Move]) -> Trained:
        """Take in the moves that the state has not seen, one after the other."""
        from equipoise.data_players import jax_generator

        for move in moves[state.measurements.num_moves :]:
            _, new = state.measurements.absorb(move)
            state.queries.include(new)
            self._fit(rng, state)
            if 2 * state.measurements.num_moves >= self.num_rounds:
                weights = state.training.weights
                share = 0.0 if state.averaged is None else self.weight_memory
                state.averaged = jax_generator.average(state.averaged or weights, weights, share)
        return state

    def play(self, state: Trained) -> MixtureOfProducts:
        """The network's distribution; after the last round, that of the averaged weights."""
        from equipoise.data_players import jax_generator

        if state.measurements.num_moves >= self.num_rounds and state.averaged is not None:
            sizes = self.workload.domain.sizes
            return self._mixture(jax_generator.forward(state.averaged, state.noise, sizes=sizes))
        return self._mixture(self._linearised(state)[0])

    def _fit(self, rng: np.random.Generator, state: Trained) -> None:
        from equipoise.data_players import jax_generator

        state.training = jax_generator.start(state.training.weights)
        targets, stddevs = np.clip(state.measurements.targets, 0.0, 1.0), state.measurements.stddevs
        threshold = None
        for number in range(self.max_steps + 1):
            report(number, self.max_steps)
            if self.resample:
                state.noise, state.linearised = self._noise(rng), None
            values, pull = self._linearised(state)
            errors = targets - state.queries.answers(values)
            threshold = self._threshold(state, errors) if threshold is None else threshold
            weights = self._weights(rng, errors, threshold, stddevs)
            if weights is None or number == self.max_steps:
                return
            gradient = state.queries.gradient(values, self._slope(weights, errors))
            rate = self.learning_rate * (1 + math.cos(math.pi * number / self.max_steps)) / 2
            state.training = jax_generator.descend(state.training, pull, gradient, rate)
            state.linearised = None

    def _linearised(self, state: Trained) -> tuple[Values, Any]:
        """The network's values and what their derivative needs: the last of one round are the first of the next."""
        from equipoise.data_players import jax_generator

        if state.linearised is None:
            sizes = self.workload.domain.sizes
            state.linearised = jax_generator.linearise(state.training.weights, state.noise, sizes=sizes)
        return state.linearised

    def _threshold(self, state: Trained, errors: FloatArray) -> float:
        largest = float(np.abs(errors).max())
        before = largest if state.largest is None else state.largest
        state.largest = THRESHOLD_MEMORY * before + (1 - THRESHOLD_MEMORY) * largest
        return state.largest / 2

    def _weights(
        self, rng: np.random.Generator, errors: FloatArray, threshold: float, stddevs: FloatArray
    ) -> FloatArray | None:
        """How much each query counts in the loss; None when the fit is good enough."""
        if self.loss == "squared":
            # Measurements without noise (in tests) count as having that of a thousandth of a record.
            variance = np.maximum(stddevs, 1e-3 / self.num_rows) ** 2
            squares = errors**2 / variance
            # Thousands of empty cells make a good mean by themselves; the largest must be one that noise gives, too.
            good = squares.mean() <= 1.0 and squares.max() <= 2 * math.log(2 * len(squares))
            return None if good else float(variance.min()) / variance / len(errors)
        active = np.flatnonzero(np.abs(errors) >= threshold)
        if len(active) == 0:
            return None
        if len(active) > self.max_active:
            active = rng.choice(active, self.max_active, replace=False)
        weights = np.zeros(len(errors))
        weights[active] = 1.0 / len(active)
        return weights

    def _loss(self, weights: FloatArray, errors: FloatArray) -> float:
        return float(weights @ (errors**2 if self.loss == "squared" else np.abs(errors)))

    def _slope(self, weights: FloatArray, errors: FloatArray) -> FloatArray:
        """The derivative of the loss by the answers; an error falls as its answer rises."""
        slope: FloatArray = -weights * (2 * errors if self.loss == "squared" else np.sign(errors))
        return slope

    def _noise(self, rng: np.random.Generator) -> Any:
        return rng.standard_normal((self.widths[0], self.num_products), dtype=np.float32)

    def _mixture(self, values: Values) -> MixtureOfProducts:
        ends = np.cumsum(self.workload.domain.sizes)
        rows = np.asarray(values, dtype=np.float64)
        factors = [part.T / part.sum(axis=0)[:, None] for part in np.split(rows, ends[:-1])]
        weights = np.full(self.num_products, 1.0 / self.num_products)
        return MixtureOfProducts(tuple(np.ascontiguousarray(factor) for factor in factors), weights)
