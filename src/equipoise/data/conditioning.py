"""A distribution given what is known of its records: the schema's rules, or a user's condition.

Exact, whatever the rules: a histogram loses cells, weighted rows lose rows. A product of distributions outside a box is
a few products (outside in the first column; inside in the first and outside in the second; ...), so a mixture of
products stays one. Anything else is sampled by rejection.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.core import Codes, Distribution, FloatArray
from equipoise.data.conditions import Conditions
from equipoise.data.distributions import Histogram, MixtureOfProducts, WeightedRows, systematic
from equipoise.data.rules import Rules
from equipoise.errors import CapacityError, QueryError

__all__ = ["Rejecting", "condition", "uniform"]

LEAST = 1e-12
"""Probability below which nothing is left to condition on: rounding errors are as large."""
NEGLIGIBLE = 1e-7
"""A piece of a component below this share of it is dropped: far below any error of the model, and no rule is broken."""
MAX_PIECES = 2**15
"""Components, beyond those there were, that conditioning may leave; of more, so many are drawn systematically."""
MAX_TRIES = 2_000
"""Rows drawn, at most, for one that is kept by rejection."""
MAX_JOINT = 2**24
"""Cells, at most, of the marginal that rejection needs to give a marginal."""


def condition(distribution: Distribution, rules: Rules, *, within: bool = False) -> Distribution | None:
    """The distribution of records that obey the rules; None when (almost) none do.

    Args:
        distribution: Without the rules.
        rules: The rules.
        within: Condition each component of a mixture of products by itself, so that it keeps its weight: what a fit put
            on impossible records goes to records that are like them, and marginals of columns that no rule is about
            stay what they are.

    Example:
        >>> rules = Rules((2, 2), ({0: np.array([True, False]), 1: np.array([False, True])},))
        >>> given = condition(uniform((2, 2)), rules)
        >>> given.marginal((0, 1)).round(3).tolist()
        [[0.333, 0.0], [0.333, 0.333]]
    """
    if not rules:
        return distribution
    match distribution:
        case Histogram():
            kept = np.where(rules.possible_cells(), distribution.probabilities, 0.0)
            total = float(kept.sum(dtype=np.float64))
            return None if total < LEAST else Histogram(kept / total)
        case WeightedRows():
            rows = ~rules.broken_by(distribution.codes)
            total = float(distribution.weights[rows].sum())
            if total < LEAST:
                return None
            codes = np.ascontiguousarray(distribution.codes[:, rows])
            return WeightedRows(codes, distribution.weights[rows] / total, distribution.shape)
        case MixtureOfProducts():
            return _condition_mixture(distribution, rules, within)
        case _:
            return Rejecting(distribution, rules)


def uniform(shape: tuple[int, ...]) -> MixtureOfProducts:
    """All records equally likely, in memory that grows with the columns only."""
    return MixtureOfProducts(tuple(np.full((1, size), 1.0 / size) for size in shape), np.ones(1))


def _condition_mixture(mixture: MixtureOfProducts, rules: Rules, within: bool) -> MixtureOfProducts | None:
    most = MAX_PIECES + len(mixture.weights)
    for box in rules.ordered:
        left = _outside(mixture, box, within)
        if left is None:
            return None
        mixture = left
        if len(mixture.weights) > most:
            chosen, times = np.unique(
                systematic(np.random.default_rng(0), mixture.weights, MAX_PIECES), return_counts=True
            )
            mixture = MixtureOfProducts(tuple(factor[chosen] for factor in mixture.factors), times / MAX_PIECES)
    return mixture


def _outside(mixture: MixtureOfProducts, box: Conditions, within: bool) -> MixtureOfProducts | None:
    """A mixture given that its records are not in a box."""
    meets = np.all([mixture.factors[c][:, mask].sum(axis=1) > 0 for c, mask in box.items()], axis=0)
    if not meets.any():
        return mixture
    cut = [factor[meets] for factor in mixture.factors]
    whole = mixture.weights[meets]
    if within:
        lost = np.prod([_restricted(cut[c], mask)[0] for c, mask in box.items()], axis=0)
        # Of a component that is (almost) all in the box nothing is worth keeping.
        whole = np.where(lost < 1 - 1e-6, whole / np.maximum(1 - lost, 1e-6), whole)
    factors, weights = [[factor[~meets]] for factor in mixture.factors], [mixture.weights[~meets]]
    share = np.ones(len(whole))
    for column, mask in box.items():
        outside, kept = _restricted(cut[column], ~mask)
        piece = share * outside
        large = piece > NEGLIGIBLE
        for c, parts in enumerate(factors):
            parts.append((kept if c == column else cut[c])[large])
        weights.append((whole * piece)[large])
        inside, cut[column] = _restricted(cut[column], mask)
        share = share * inside
    total = float(sum(part.sum() for part in weights))
    if total < LEAST:
        return None
    return MixtureOfProducts(tuple(np.concatenate(parts) for parts in factors), np.concatenate(weights) / total)


def _restricted(factor: FloatArray, mask: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """How probable some values are in each component, and their distribution given that one of them is taken."""
    kept = np.where(mask, factor, 0.0)
    total = kept.sum(axis=1)
    return total / factor.sum(axis=1), np.divide(kept, total[:, None], out=kept, where=total[:, None] > 0)


@dataclass(frozen=True, eq=False)
class Rejecting:
    """Any distribution given the rules: rows that break one are drawn again.

    Attributes:
        given: The distribution without the rules.
        rules: The rules.
    """

    given: Distribution
    rules: Rules

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each column."""
        return self.given.shape

    def marginal(self, columns: tuple[int, ...]) -> FloatArray:
        """Probabilities of the cells of a marginal, through the one that has the rules' columns too.

        Raises:
            CapacityError: That one is too large.
        """
        added = tuple(sorted({c for box in self.rules.boxes for c in box} - set(columns)))
        joint = columns + added
        if (cells := math.prod(self.shape[c] for c in joint)) > MAX_JOINT:
            raise CapacityError(f"the columns asked for and those of the rules have {cells:,} cells: ask for fewer")
        kept = np.where(self.rules.impossible_in(joint), 0.0, self.given.marginal(joint))
        sums: FloatArray = kept.sum(axis=tuple(range(len(columns), len(joint)))) / kept.sum()
        return sums

    def sample(self, rng: np.random.Generator, num_rows: int) -> Codes:
        """Rows that obey the rules.

        Raises:
            QueryError: Almost no row does.
        """
        kept: list[Codes] = []
        found, drawn, batch = 0, 0, max(num_rows, 1000)
        while found < num_rows:
            if drawn > MAX_TRIES * (found + 1_000):
                raise QueryError("almost no record of the model fulfils the condition; ask for a likelier one")
            rows = self.given.sample(rng, batch)
            kept.append(rows[:, ~self.rules.broken_by(rows)])
            found, drawn = found + kept[-1].shape[1], drawn + batch
        return np.concatenate(kept, axis=1)[:, :num_rows] if kept else self.given.sample(rng, 0)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The distribution without the rules, which are the schema's to keep."""
        return self.given.to_arrays()
