"""The shared synthetic data of a session: a distribution that all analysts may see, and how it changes.

What changed it, paid queries, is secret in mode "online": the scores below must never leave this module but through the
exact sampler. In mode "pmw" nothing is hidden from analysts, and the hypothesis is the weights themselves.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol, TypeVar

import numpy as np

from equipoise.core import Distribution, FloatArray, IntArray, code_type
from equipoise.data.distributions import Histogram, WeightedRows
from equipoise.data.rules import Rules
from equipoise.data_players.regions import add_to, region_of, sum_over
from equipoise.errors import LedgerError
from equipoise.privacy.draws import draw
from equipoise.queries.query import Query

__all__ = ["Dense", "Hypothesis", "Q_contra", "Sampled", "Scores", "from_bytes", "memory_bytes", "to_bytes"]

Q_contra = TypeVar("Q_contra", contravariant=True)


def memory_bytes(num_cells: int) -> int:
    """What scores, weights and a copy of them take."""
    return 5 * 8 * num_cells


class Hypothesis(Protocol[Q_contra]):
    """A distribution that answers single queries fast, in a time that depends on the query alone."""

    def share(self, query: Q_contra) -> float:
        """The query's mean answer: the probability that it holds."""
        ...

    def distribution(self) -> Distribution:
        """The same for everything else."""
        ...


class Dense:
    """Weights of all cells."""

    def __init__(self, weights: FloatArray, shape: tuple[int, ...]) -> None:
        self._weights, self._shape = weights, shape

    def share(self, query: Query) -> float:
        """See `Hypothesis.share`."""
        return min(1.0, float(sum_over(self._weights, *region_of(query, self._shape))))

    def distribution(self) -> Histogram:
        """See `Hypothesis.distribution`."""
        return Histogram(self._weights.reshape(self._shape))


class Sampled:
    """Records that were drawn, with how often each was."""

    def __init__(self, cells: IntArray, counts: IntArray, shape: tuple[int, ...]) -> None:
        codes = np.stack(np.unravel_index(cells, shape)).astype(code_type(max(shape)))
        self._rows = WeightedRows(codes, counts / counts.sum(), shape)

    def share(self, query: Query) -> float:
        """See `Hypothesis.share`."""
        return min(1.0, float(self._rows.weights @ query.selects(self._rows.codes)))

    def distribution(self) -> WeightedRows:
        """See `Hypothesis.distribution`."""
        return self._rows

    @classmethod
    def from_bytes(cls, body: bytes, shape: tuple[int, ...]) -> Sampled:
        """The records that `to_bytes` stored."""
        return cls(*from_bytes(body), shape)


class Scores:
    """For every cell, in how many updates it should lose weight less in how many it should gain: whole numbers.

    Attributes:
        num_updates: Updates taken in so far.
    """

    def __init__(self, shape: tuple[int, ...], rules: Rules | None) -> None:
        self._shape = shape
        self._sums: FloatArray = np.zeros(math.prod(shape))
        self._possible: IntArray | None = np.flatnonzero(rules.possible_cells()).astype(np.int64) if rules else None
        self.num_updates = 0

    def add(self, updates: Sequence[tuple[Query, int]]) -> None:
        """Take in updates: a query and +1 where the hypothesis counted too much, -1 where too little."""
        for query, sign in updates:
            add_to(self._sums, *region_of(query, self._shape), float(sign))
        self.num_updates += len(updates)

    def _exponents(self) -> IntArray:
        kept = self._sums if self._possible is None else self._sums[self._possible]
        return -np.rint(kept).astype(np.int64)

    def weights(self, rate: Fraction) -> Dense:
        """The distribution with weights exp(-rate · score)."""
        exponents = self._exponents() * float(rate)
        weights = np.exp(exponents - exponents.max())
        weights /= weights.sum()
        if self._possible is None:
            return Dense(weights, self._shape)
        whole = np.zeros(len(self._sums))
        whole[self._possible] = weights
        return Dense(whole, self._shape)

    def draw(self, rate: Fraction, num_draws: int) -> IntArray:
        """Cells drawn from that distribution, exactly, with the operating system's entropy.

        Guarantees:
            Each draw follows exp(-r · score) with r at most `rate`: one update more or less moves the log-likelihood of
            each within an interval of length `rate`.
        """
        # The quotient is rounded to nearest, and then up: never a larger rate than the one that is paid for.
        places = draw(self._exponents(), math.nextafter(float(1 / rate), math.inf), num_draws)
        return places if self._possible is None else self._possible[places]


def to_bytes(cells: IntArray) -> bytes:
    """Drawn points, to be stored; `from_bytes` gives the distinct ones and how often each was drawn."""
    distinct, counts = np.unique(cells, return_counts=True)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, cells=distinct, counts=counts)
    return buffer.getvalue()


def from_bytes(body: bytes) -> tuple[IntArray, IntArray]:
    """What `to_bytes` stored.

    Raises:
        LedgerError: it cannot be read.
    """
    try:
        with np.load(io.BytesIO(body), allow_pickle=False) as arrays:
            return arrays["cells"], arrays["counts"]
    except (ValueError, KeyError, OSError, EOFError) as error:
        raise LedgerError("the ledger holds a hypothesis that cannot be read") from error
