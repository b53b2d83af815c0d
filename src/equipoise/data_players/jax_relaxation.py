"""RAP's relaxations of a table in JAX: what a matrix of free numbers stands for, and a step of Adam on it.

The matrix has a row for each value of each column and a column for each relaxed row of the table (`measured_queries`).
Only the modules named jax_* import JAX, and only data players that need it import them: a release by another method
never pays for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
import optax

__all__ = ["Fit", "Relaxation", "descend", "relax", "softmax_columns", "start"]

Relaxation: TypeAlias = Literal["clip", "sparsemax", "softmax"]

_adam = optax.scale_by_adam()


class Fit(NamedTuple):
    """The matrix with the optimiser's memory of it."""

    matrix: jax.Array
    optimiser: Any


def start(rng: np.random.Generator, num_rows: int, *, sizes: tuple[int, ...], relaxation: Relaxation) -> Fit:
    """A random matrix: standard Gaussian before a softmax, else uniform in [-1, 1] and projected."""
    shape = (sum(sizes), num_rows)
    drawn = rng.standard_normal(shape) if relaxation == "softmax" else rng.uniform(-1.0, 1.0, shape)
    matrix = _project(jnp.asarray(drawn, jnp.float32), sizes, relaxation)
    return Fit(matrix, _adam.init(matrix))


@partial(jax.jit, static_argnames=("sizes", "relaxation"))
def relax(matrix: jax.Array, *, sizes: tuple[int, ...], relaxation: Relaxation) -> jax.Array:
    """The values that the matrix stands for."""
    return _relax(matrix, sizes, relaxation)


@partial(jax.jit, static_argnames=("sizes", "relaxation"), donate_argnums=0)
def descend(fit: Fit, gradient: jax.Array, rate: float, *, sizes: tuple[int, ...], relaxation: Relaxation) -> Fit:
    """One step of Adam against the derivative by the values, and back to the relaxation's set."""
    (slope,) = jax.vjp(lambda matrix: _relax(matrix, sizes, relaxation), fit.matrix)[1](gradient)
    update, optimiser = _adam.update(slope, fit.optimiser)
    return Fit(_project(fit.matrix - rate * update, sizes, relaxation), optimiser)


def _relax(matrix: jax.Array, sizes: tuple[int, ...], relaxation: Relaxation) -> jax.Array:
    if relaxation != "softmax":
        return matrix
    return softmax_columns(matrix, sizes)


def _project(matrix: jax.Array, sizes: tuple[int, ...], relaxation: Relaxation) -> jax.Array:
    if relaxation == "clip":
        return jnp.clip(matrix, -1.0, 1.0)
    if relaxation == "sparsemax":
        return _by_column(_nearest_distribution, matrix, sizes)
    return matrix


def softmax_columns(scores: jax.Array, sizes: tuple[int, ...]) -> jax.Array:
    """The softmax of each column's rows."""
    return _by_column(partial(jax.nn.softmax, axis=0), scores, sizes)


def _by_column(change: Callable[[jax.Array], jax.Array], values: jax.Array, sizes: tuple[int, ...]) -> jax.Array:
    """Change the rows of each column."""
    ends = np.cumsum(sizes)
    return jnp.concatenate([change(values[end - size : end]) for end, size in zip(ends, sizes, strict=True)], axis=0)


def _nearest_distribution(scores: jax.Array) -> jax.Array:
    """The nearest point of the simplex, for each column of the array: max(score - t, 0), t such that they sum to 1."""
    falling = -jnp.sort(-scores, axis=0)
    excess = jnp.cumsum(falling, axis=0) - 1.0
    rank = jnp.arange(1, len(scores) + 1, dtype=scores.dtype)[:, None]
    kept = (falling * rank > excess).sum(axis=0, keepdims=True)
    threshold = jnp.take_along_axis(excess, kept - 1, axis=0) / kept
    return jnp.maximum(scores - threshold, 0.0)
