"""The laws of the noise, in closed form: what a call of the noise can return, and with which probabilities.

Written from the definitions, apart from the samplers: if a sampler drew from another law, the statistical tests of the
samplers against these would fail.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.core import FloatArray, IntArray
from equipoise.errors import SettingError

__all__ = [
    "MOST_OUTCOMES",
    "Factor",
    "factors_of",
    "log_exponential_mechanism",
    "log_gaussian_pmf",
    "log_laplace_pmf",
    "log_permute_and_flip",
]

MOST_OUTCOMES = 5000
"""Outcomes of one call that are told apart; more are too many for a toy."""
REACH = 13
"""Scales around the values that are looked at: what lies outside has a mass below 1e-5 (Laplace), 1e-36 (Gaussian)."""


def log_gaussian_pmf(offset: int | IntArray, scale: float) -> Any:
    """Log Pr[noise = offset] of the discrete Gaussian, by direct summation."""
    reach = math.ceil(12 * scale) + 2
    support = np.arange(-reach, reach + 1)
    total = float(np.log(np.exp(-(support**2) / (2 * scale**2)).sum()))
    return -(np.asarray(offset, dtype=np.float64) ** 2) / (2 * scale**2) - total


def log_laplace_pmf(offset: int | IntArray, scale: float) -> Any:
    """Log Pr[noise = offset] of the discrete Laplace law."""
    return math.log(math.tanh(1 / (2 * scale))) - np.abs(np.asarray(offset, dtype=np.float64)) / scale


def log_exponential_mechanism(scores: IntArray, scale: float, chosen: int) -> float:
    """Log of the exponential mechanism's probability: Gumbel noise of this scale gives weights exp(score / scale)."""
    weights = scores / scale
    top = weights.max()
    return float(weights[chosen] - top - np.log(np.exp(weights - top).sum()))


def log_permute_and_flip(scores: IntArray, scale: float, chosen: int) -> float:
    """Log of permute-and-flip's probability, by summing over subsets (few candidates only).

    With p_i = exp((score_i - max)/scale): Pr[i] = p_i sum over subsets S without i of (-1)^|S| prod_S p_j / (|S| + 1).
    """
    p = np.exp((scores - scores.max()) / scale)
    others = [p[j] for j in range(len(p)) if j != chosen]
    total = 0.0
    for bits in range(2 ** len(others)):
        members = [others[j] for j in range(len(others)) if bits >> j & 1]
        total += (-1) ** len(members) * math.prod(members) / (len(members) + 1)
    return math.log(p[chosen] * total)


@dataclass(frozen=True)
class Factor:
    """One independent part of what a call returns: its outcomes, and their log-probabilities on both tables."""

    outcomes: tuple[Any, ...]
    here: FloatArray
    there: FloatArray


def factors_of(kind: str, here: Any, there: Any, scales: tuple[float, float], **more: Any) -> tuple[Factor, ...]:
    """What a call of the noise returns, as independent parts.

    Args:
        kind: The method of `Noise`.
        here: Its integers on the one table.
        there: The same on its neighbour.
        scales: The scale of its noise on each.
        more: Its other arguments.
    """
    if kind in ("gaussian", "laplace"):
        law = log_gaussian_pmf if kind == "gaussian" else log_laplace_pmf
        return tuple(_measured(law, int(a), int(b), scales) for a, b in zip(here, there, strict=True))
    if kind == "draws":
        outcomes = tuple(range(len(here)))
        each = Factor(outcomes, *(_selection(s, k, outcomes) for s, k in zip((here, there), scales, strict=True)))
        return (each,) * int(more["num_draws"])
    if kind == "coins":
        return tuple(_coin(float(a), float(b), scales) for a, b in zip(here, there, strict=True))
    return (_largest(here, there, scales, more["num_selected"], more["law"]),)


def _measured(law: Any, here: int, there: int, scales: tuple[float, float]) -> Factor:
    reach = math.ceil(REACH * max(scales)) + 2
    values = np.arange(min(here, there) - reach, max(here, there) + reach + 1)
    return Factor(tuple(values.tolist()), law(values - here, scales[0]), law(values - there, scales[1]))


def _selection(scores: IntArray, scale: float, outcomes: tuple[int, ...]) -> FloatArray:
    return np.array([log_exponential_mechanism(scores, scale, i) for i in outcomes])


def _coin(here: float, there: float, scales: tuple[float, float]) -> Factor:
    def both(exponent: float, scale: float) -> NDArray[np.float64]:
        return np.array([math.log(-math.expm1(-exponent / scale)), -exponent / scale])

    return Factor((0, 1), both(here, scales[0]), both(there, scales[1]))


def _largest(here: IntArray, there: IntArray, scales: tuple[float, float], number: int, law: str) -> Factor:
    if math.perm(len(here), number) > MOST_OUTCOMES:
        raise SettingError("this move has too many outcomes to enumerate; audit it with a smaller workload")
    outcomes = tuple(itertools.permutations(range(len(here)), number))

    def log_law(scores: IntArray, scale: float) -> FloatArray:
        if law != "gumbel":
            return np.array([log_permute_and_flip(scores, scale, chosen[0]) for chosen in outcomes])
        return np.array([_successive(scores / scale, chosen) for chosen in outcomes])

    return Factor(outcomes, log_law(here, scales[0]), log_law(there, scales[1]))


def _successive(weights: FloatArray, chosen: tuple[int, ...]) -> float:
    """log-probability of one draw after another, without replacement, by weights exp(weight)."""
    left, total = np.asarray(weights, dtype=np.float64).copy(), 0.0
    for position in chosen:
        top = left.max()
        total += float(left[position] - top - np.log(np.exp(left - top).sum()))
        left[position] = -np.inf
    return total
