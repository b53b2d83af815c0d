"""What a mechanism did, as a record: its kind and parameters, never a pre-computed cost.

The ledger stores events; `equipoise.privacy.accountant` prices them, so a better accountant can re-price an old ledger.
Compatibility rule: a kind is never removed and its parameters never change meaning; a new meaning is a new kind.
All numbers are exact rationals.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import ClassVar, TypeAlias

from equipoise.errors import SettingError

__all__ = [
    "AboveThreshold",
    "AnalystGame",
    "CappedHedge",
    "Coins",
    "ConditionalRelease",
    "Draws",
    "Event",
    "Exponential",
    "Gated",
    "Gaussian",
    "Group",
    "Laplace",
    "NoisyStop",
    "PermuteAndFlip",
    "Prsma",
    "SeparatorGaussian",
    "SeparatorLaplace",
    "Simple",
    "Tuned",
    "conditional",
]


@dataclass(frozen=True)
class _Record:
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
class Gaussian(_Record):
    """Discrete Gaussian noise of this variance on a vector of counts (primitive P1)."""

    kind: ClassVar[str] = "gaussian"
    may_be_zero: ClassVar[tuple[str, ...]] = ("sensitivity_squared",)

    sensitivity_squared: Fraction
    """Squared L2 distance between the vectors of neighbouring tables."""
    variance: Fraction


@dataclass(frozen=True)
class Laplace(_Record):
    """Discrete Laplace noise of this scale on a vector of counts (P2)."""

    kind: ClassVar[str] = "laplace"
    may_be_zero: ClassVar[tuple[str, ...]] = ("sensitivity",)

    sensitivity: Fraction
    """L1 distance between the vectors of neighbouring tables."""
    scale: Fraction


@dataclass(frozen=True)
class Exponential(_Record):
    """Exponential mechanism, or its one-shot top-K by Gumbel noise (P3, P4)."""

    kind: ClassVar[str] = "exponential"

    epsilon: Fraction
    num_selected: int = 1


@dataclass(frozen=True)
class PermuteAndFlip(_Record):
    """Permute-and-flip selection: noisy maximum with exponential noise (P5)."""

    kind: ClassVar[str] = "permute_and_flip"

    epsilon: Fraction


@dataclass(frozen=True)
class ConditionalRelease(_Record):
    """A run of pure-epsilon tests with independent noise that stops after `max_hits` releases (P9, Lemma D)."""

    kind: ClassVar[str] = "conditional_release"

    epsilon: Fraction
    max_hits: int
    delta: Fraction
    """Probability that the run needs more than the charged number of calls."""


@dataclass(frozen=True)
class Draws(_Record):
    """Independent draws, with replacement, from one exponential mechanism (P6)."""

    kind: ClassVar[str] = "draws"

    epsilon: Fraction
    """Parameter of the mechanism: Pr[q] proportional to exp(epsilon score / (2 sensitivity))."""
    num_draws: int


@dataclass(frozen=True)
class Coins(_Record):
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
class SeparatorLaplace(_Record):
    """Discrete Laplace noise on the weights of a class's separators, then the best query (P10, RSPM). Conditional.

    Attributes:
        num_separators: How many points carry noise.
        grid: Units in a record's weight; noise and weights are whole numbers of them.
        gap: Units by which the query may miss the best, certified.
        scale: Of the noise, in units.
    """

    kind: ClassVar[str] = "separator_laplace"
    may_be_zero: ClassVar[tuple[str, ...]] = ("gap",)

    num_separators: int
    grid: int
    gap: int
    scale: Fraction


@dataclass(frozen=True)
class SeparatorGaussian(_Record):
    """The same with discrete Gaussian noise; `delta` is the probability of more noise than claimed. Conditional."""

    kind: ClassVar[str] = "separator_gaussian"
    may_be_zero: ClassVar[tuple[str, ...]] = ("gap",)
    below_one: ClassVar[tuple[str, ...]] = ("delta",)

    num_separators: int
    grid: int
    gap: int
    stddev: Fraction
    delta: Fraction


@dataclass(frozen=True)
class Prsma(_Record):
    """RSPM on random blocks of the table, with a private count of the blocks that never failed (PRSMA).

    Attributes:
        epsilon: The parameter epsilon* of the count and of the number of blocks.
        delta: The parameter delta* of the number of repetitions.
    """

    kind: ClassVar[str] = "prsma"

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        super().__post_init__()
        if max(self.epsilon, self.delta) > Fraction(1, 2):
            raise SettingError("PRSMA's theorem holds for epsilon up to 31 and delta up to 5.5")


@dataclass(frozen=True)
class AboveThreshold(_Record):
    """Tests of counts against one noisy threshold, bits only, that stop after so many positives (sparse vector)."""

    kind: ClassVar[str] = "above_threshold"

    threshold_epsilon: Fraction
    tests_epsilon: Fraction
    max_positives: int


@dataclass(frozen=True)
class CappedHedge(_Record):
    """A game's draws from multiplicative weights whose probabilities are capped (P7), in all its rounds.

    Attributes:
        rate: How far each update moves the exponents of neighbouring tables apart, up and down together: eta/n.
        num_rounds: Rounds; the draw of the first follows no update and is free.
        draws: Draws in a round: 1, or 2 when a query is drawn from within what was drawn first.
        slack: What rounding the cap may add to the range of the log-ratio.
    """

    kind: ClassVar[str] = "capped_hedge"

    rate: Fraction
    num_rounds: int
    draws: int
    slack: Fraction


@dataclass(frozen=True)
class NoisyStop(_Record):
    """When a count that one query moves by one at most, and in one direction, first seems to reach a public limit.

    Attributes:
        epsilon: Half of it for the noise of the threshold, half for the noise of each look at the count.
        delta: Probability that the count reaches the limit and a margin, where it is stopped without noise.
    """

    kind: ClassVar[str] = "noisy_stop"
    below_one: ClassVar[tuple[str, ...]] = ("delta",)

    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True)
class AnalystGame(_Record):
    """Records released by a game whose queries are drawn from capped weights; for analysts (docs/s004.md).

    Attributes:
        num_rounds: Records released, one a round.
        distance: Total variation between the laws of a round's query when the analyst's part is changed.
        rate: By how much a changed query of one round moves the log-likelihood of each later record, at most.
        delta: Where the privacy of the whole is given.
    """

    kind: ClassVar[str] = "analyst_game"
    below_one: ClassVar[tuple[str, ...]] = ("distance", "delta")

    num_rounds: int
    distance: Fraction
    rate: Fraction
    delta: Fraction


@dataclass(frozen=True)
class Gated(_Record):
    """Runs of any mechanisms, each held to a budget by a gate of its own; unused ones are paid for too.

    Attributes:
        budget: What the gate lets one run spend for one record replaced, in rho.
        num_runs: How many runs at most.
    """

    kind: ClassVar[str] = "gated"

    budget: Fraction
    num_runs: int


Simple: TypeAlias = (
    Gaussian
    | Laplace
    | Exponential
    | PermuteAndFlip
    | ConditionalRelease
    | Draws
    | Coins
    | SeparatorLaplace
    | SeparatorGaussian
    | Prsma
    | AboveThreshold
    | CappedHedge
    | NoisyStop
    | AnalystGame
    | Gated
)
"""Events that a mechanism charges: what `Group` may stand around. A new event is a class above and a line here."""


@dataclass(frozen=True)
class Group(_Record):
    """Another event, seen by neighbours that differ in up to `size` records (several rows a person)."""

    kind: ClassVar[str] = "group"

    event: Simple
    size: int


@dataclass(frozen=True)
class Tuned(_Record):
    """The best of a random number of runs, each scored privately and held to a budget of its own (P11).

    Attributes:
        budget: What the gate lets one run spend, its score included, for one unit: rho, or epsilon if `pure`.
        pure: Whether the budget is a pure one.
        law: Of the number of runs: "logarithmic" or "geometric" (`privacy.random_runs`).
        stop: The law's parameter, strictly between 0 and 1; small means many runs.
    """

    kind: ClassVar[str] = "tuned"
    below_one: ClassVar[tuple[str, ...]] = ("stop",)

    budget: Fraction
    pure: bool
    law: str
    stop: Fraction


Event: TypeAlias = Simple | Group | Tuned


def conditional(event: Event) -> bool:
    """Whether the event's price holds only if a solver's certificates do, on this table and on its neighbours.

    Example:
        >>> conditional(Group(SeparatorLaplace(3, 64, 0, Fraction(387)), 2)), conditional(Exponential(Fraction(1)))
        (True, False)
    """
    inner = event.event if isinstance(event, Group) else event
    return isinstance(inner, SeparatorLaplace | SeparatorGaussian)
