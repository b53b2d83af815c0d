"""The types of the public side: what players exchange, and what a data player is.

Nothing here can hold a private value. The private side's counterparts (`Private`, `Gate`, `QueryPlayer`) live in
`equipoise.privacy` and `equipoise.game`, which the public side never imports (import contracts, pyproject.toml).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Codes",
    "Concludes",
    "Conclusion",
    "DataPlayer",
    "Distribution",
    "FloatArray",
    "IntArray",
    "Measured",
    "Move",
    "Progress",
    "code_type",
    "heard_by",
    "report",
    "silent",
]

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[Any]
"""Encoded rows: an unsigned integer array of shape (num_columns, num_rows); `codes[c]` is column c."""


class Move(NamedTuple):
    """A query player's move: already private, so free to store, publish and reuse.

    Attributes:
        ids: Which queries of the workload: one cell, K cells, or all cells of a marginal.
        signs: +1 where the truth looked larger than what was played, -1 where smaller, 0 where not said.
        values: Noisy counts (out of n records) of those queries, when the algorithm measures; else None.
        stddev: Standard deviation of the values, in counts: one for all, or one each; 0.0 when nothing was measured.
    """

    ids: IntArray
    signs: IntArray
    values: IntArray | None
    stddev: float | FloatArray

    def part(self, kept: NDArray[np.bool_]) -> Move:
        """The move on some of its queries only."""
        values = None if self.values is None else self.values[kept]
        stddev = self.stddev[kept] if isinstance(self.stddev, np.ndarray) else self.stddev
        return Move(self.ids[kept], self.signs[kept], values, stddev)


class Distribution(Protocol):
    """What a data player plays: a probability distribution over the domain."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each column."""
        ...

    def marginal(self, columns: tuple[int, ...]) -> FloatArray:
        """Probabilities of the cells of a marginal: one axis a column, in the order given."""
        ...

    def sample(self, rng: np.random.Generator, num_rows: int) -> Codes:
        """Rows drawn from the distribution."""
        ...

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The distribution as named arrays, to be stored; `data.distributions.from_arrays` is the inverse."""
        ...


State = TypeVar("State")


class DataPlayer(Protocol[State]):
    """Repairs the synthetic data. Post-processing: sees moves, never the truth."""

    def init(self, rng: np.random.Generator) -> State:
        """The state before the first move."""
        ...

    def step(self, rng: np.random.Generator, state: State, moves: Sequence[Move]) -> State:
        """The state after the newest of `moves` (all moves so far, oldest first)."""
        ...

    def play(self, state: State) -> Distribution:
        """The distribution this state stands for."""
        ...


class Conclusion(NamedTuple):
    """How a data player ends a game.

    Attributes:
        distribution: The release's model.
        notes: What did not go as asked (an oracle that gave up), in words, for the report. Public.
    """

    distribution: Distribution
    notes: tuple[str, ...] = ()


@runtime_checkable
class Concludes(Protocol):
    """A data player whose release is not what it played last, but for instance everything that it played."""

    def conclude(self, state: Any) -> Conclusion:
        """What the release is made of."""
        ...


class Progress(Protocol):
    """What long work reports, in public quantities only: `progress(done, total)`."""

    def __call__(self, done: int, total: int) -> None:
        """`done` of `total` units of work are finished."""
        ...


@runtime_checkable
class Measured(Progress, Protocol):
    """A `Progress` that also shows amounts: rows, and their share of the bytes."""

    def measure(self, num_bytes: int | None) -> None:
        """What is done are rows, of files of so many bytes; None when there are no files."""
        ...


def silent(done: int, total: int) -> None:
    """The `Progress` that shows nothing."""


_listener: ContextVar[Progress] = ContextVar("listener", default=silent)


def report(done: int, total: int) -> None:
    """Say how far long work within a data player's step has come, in public quantities (sweeps, steps).

    It goes to whoever plays the game (`heard_by`): players that wrap others need not hand it on.
    """
    _listener.get()(done, total)


@contextmanager
def heard_by(listener: Progress) -> Iterator[None]:
    """Let `listener` hear what is reported inside the block.

    Example:
        >>> with heard_by(lambda done, total: print(done, "of", total)):
        ...     report(3, 20)
        3 of 20
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def code_type(size: int) -> type[np.unsignedinteger[Any]]:
    """The smallest unsigned integer type that holds codes 0..size-1.

    Example:
        >>> code_type(256).__name__, code_type(257).__name__
        ('uint8', 'uint16')
    """
    for candidate in (np.uint8, np.uint16):
        if size <= np.iinfo(candidate).max + 1:
            return candidate
    return np.uint32
