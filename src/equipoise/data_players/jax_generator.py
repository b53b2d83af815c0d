"""GEM's generator network in JAX: noise vectors in, a distribution of every column out.

A perceptron with batch normalisation and rectifiers. The output layer reads the noise and every hidden layer, not the
last one alone: a step of Adam of a given size then moves the output further.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
import optax

from equipoise.data_players.jax_relaxation import softmax_columns

__all__ = ["Training", "Weights", "average", "descend", "forward", "initial_weights", "linearise", "start"]

Layer: TypeAlias = dict[str, jax.Array]
Weights: TypeAlias = list[Layer]
"""Hidden layers, then the output layer."""

VARIANCE_FLOOR = 1e-5
"""Added to variances before dividing by their root: the usual value in batch normalisation."""

HIDDEN_GAIN = 1 / 15
"""Batch normalisation makes the scale of a hidden layer's matrix immaterial, but for how far a step of Adam turns it.
With the usual 1/3 of linear layers the paper's training of Adult takes a quarter more steps, with the 2 of rectified
ones two thirds more; with 1/50 it takes fewer, and the error grows."""

_adam = optax.scale_by_adam()


class Training(NamedTuple):
    """Weights with the optimiser's memory of them."""

    weights: Weights
    optimiser: Any


def initial_weights(rng: np.random.Generator, widths: Sequence[int], num_values: int) -> Weights:
    """Hidden layers of these widths (the first is the noise), and an output layer that reads all of them.

    Matrices are Gaussian, with variance 1/inputs for the output and `HIDDEN_GAIN` of it for hidden layers; shifts: 0.
    """

    def layer(outputs: int, inputs: int, gain: float) -> Layer:
        drawn = rng.standard_normal((outputs, inputs), dtype=np.float32) * np.float32(np.sqrt(gain / inputs))
        return {"matrix": jnp.asarray(drawn), "shift": jnp.zeros((outputs, 1), jnp.float32)}

    hidden = [layer(outputs, inputs, HIDDEN_GAIN) for inputs, outputs in pairwise(widths)]
    return [*hidden, layer(num_values, sum(widths), 1.0)]


def start(weights: Weights) -> Training:
    """Weights with an optimiser that remembers nothing yet."""
    return Training(weights, _adam.init(weights))


def _network(weights: Weights, noise: jax.Array, sizes: tuple[int, ...]) -> jax.Array:
    *hidden, output = weights
    layers = [noise]
    for layer in hidden:
        raw = layer["matrix"] @ layers[-1]
        # Normalised over the batch itself, never over remembered batches: averaged weights need no second pass.
        centred = raw - raw.mean(axis=1, keepdims=True)
        spread = jax.lax.rsqrt(raw.var(axis=1, keepdims=True) + VARIANCE_FLOOR)
        layers.append(jax.nn.relu(centred * spread + layer["shift"]))
    logits, begin = output["shift"], 0
    for features in layers:
        logits = logits + output["matrix"][:, begin : begin + len(features)] @ features
        begin += len(features)
    return softmax_columns(logits, sizes)


@partial(jax.jit, static_argnames="sizes")
def forward(weights: Weights, noise: jax.Array, *, sizes: tuple[int, ...]) -> jax.Array:
    """The columns' distributions, one product a column of `noise`."""
    return _network(weights, noise, sizes)


@partial(jax.jit, static_argnames="sizes")
def linearise(weights: Weights, noise: jax.Array, *, sizes: tuple[int, ...]) -> tuple[jax.Array, Any]:
    """`forward`, and what `descend` needs; costs no more than `forward`."""
    values, pull = jax.vjp(lambda given: _network(given, noise, sizes), weights)
    return values, pull


@partial(jax.jit, donate_argnums=0)
def descend(training: Training, pull: Any, gradient: jax.Array, rate: float) -> Training:
    """One step of Adam, from the derivative by the values that `linearise` returned."""
    (slope,) = pull(gradient)
    updates, optimiser = _adam.update(slope, training.optimiser)
    weights = jax.tree.map(lambda weight, update: weight - rate * update, training.weights, updates)
    return Training(weights, optimiser)


@jax.jit
def average(old: Weights, new: Weights, share: float) -> Weights:
    """The moving average: share · old + (1 - share) · new."""
    averaged: Weights = jax.tree.map(lambda a, b: share * a + (1 - share) * b, old, new)
    return averaged
