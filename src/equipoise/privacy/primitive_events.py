"""Events of single mechanisms: noise on counts, selections, tests, draws; and what all events share.

`equipoise.privacy.events` has all events and the rule that keeps old ledgers readable.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import ClassVar

from equipoise.errors import SettingError

__all__ = [
    "AboveThreshold",
    "Coins",
    "ConditionalRelease",
    "Draws",
    "Exponential",
    "Gaussian",
    "Laplace",
    "NoisyStop",
    "PermuteAndFlip",
    "Record",
]


@dataclass(frozen=True)
class Record:
    """What all events share: a name in the ledger, and parameters that are positive unless they say otherwise."""

    kind: ClassVar[str]
    """The event's name in the ledger: never changed."""
    may_be_zero: ClassVar[tuple[str, ...]] = ()
    below_one: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, Fraction | int):
                continue
            if value < 0 or (value == 0 and field.name not in self.may_be_zero):
                raise SettingError(f"{field.name} must be positive")
            if value >= 1 and field.name in self.below_one:
                raise SettingError(f"{field.name} must be below 1")


@dataclass(frozen=True)
class Gaussian(Record):
    """Discrete Gaussian noise of this variance on a vector of counts (primitive P1)."""

    kind: ClassVar[str] = "gaussian"
    may_be_zero: ClassVar[tuple[str, ...]] = ("sensitivity_squared",)

    sensitivity_squared: Fraction
    """Squared L2 distance between the vectors of neighbouring tables."""
    variance: Fraction


@dataclass(frozen=True)
class Laplace(Record):
    """Discrete Laplace noise of this scale on a vector of counts (P2)."""

    kind: ClassVar[str] = "laplace"
    may_be_zero: ClassVar[tuple[str, ...]] = ("sensitivity",)

    sensitivity: Fraction
    """L1 distance between the vectors of neighbouring tables."""
    scale: Fraction


@dataclass(frozen=True)
class Exponential(Record):
    """Exponential mechanism, or its one-shot top-K by Gumbel noise (P3, P4)."""

    kind: ClassVar[str] = "exponential"

    epsilon: Fraction
    num_selected: int = 1


@dataclass(frozen=True)
class PermuteAndFlip(Record):
    """Permute-and-flip selection: noisy maximum with exponential noise (P5)."""

    kind: ClassVar[str] = "permute_and_flip"

    epsilon: Fraction


@dataclass(frozen=True)
class ConditionalRelease(Record):
    """A run of pure-epsilon tests with independent noise that stops after `max_hits` releases (P9, Lemma D)."""

    kind: ClassVar[str] = "conditional_release"

    epsilon: Fraction
    max_hits: int
    delta: Fraction
    """Probability that the run needs more than the charged number of calls."""


@dataclass(frozen=True)
class Draws(Record):
    """Independent draws, with replacement, from one exponential mechanism (P6)."""

    kind: ClassVar[str] = "draws"

    epsilon: Fraction
    """Parameter of the mechanism: Pr[q] proportional to exp(epsilon score / (2 sensitivity))."""
    num_draws: int


@dataclass(frozen=True)
class Coins(Record):
    """Coins that show heads with probability exp(-r), r a private number, at least `slack` (P8).

    Attributes:
        rate: How much r can change between neighbouring tables.
        slack: What r is never below.
        spread: How far above `slack` it may lie.
        num_coins: How many coins.
    """

    kind: ClassVar[str] = "coins"

    rate: Fraction
    slack: Fraction
    spread: Fraction
    num_coins: int


@dataclass(frozen=True)
class AboveThreshold(Record):
    """Tests of counts against one noisy threshold, bits only, that stop after so many positives (sparse vector)."""

    kind: ClassVar[str] = "above_threshold"

    threshold_epsilon: Fraction
    tests_epsilon: Fraction
    max_positives: int


@dataclass(frozen=True)
class NoisyStop(Record):
    """When a count that one query moves by one at most, and in one direction, first seems to reach a public limit.

    Attributes:
        epsilon: Half of it for the noise of the threshold, half for the noise of each look at the count.
        delta: Probability that the count reaches the limit and a margin, where it is stopped without noise.
    """

    kind: ClassVar[str] = "noisy_stop"
    below_one: ClassVar[tuple[str, ...]] = ("delta",)

    epsilon: Fraction
    delta: Fraction
