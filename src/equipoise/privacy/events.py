"""What a mechanism did, as a record: its kind and parameters, never a pre-computed cost.

The ledger stores events; `equipoise.privacy.accountant` prices them, so a better accountant can re-price an old ledger.
Compatibility rule: a kind is never removed and its parameters never change meaning; a new meaning is a new kind.
All numbers are exact rationals.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, TypeAlias

from equipoise.errors import LedgerError, SettingError

__all__ = [
    "Coins",
    "ConditionalRelease",
    "Draws",
    "Event",
    "Exponential",
    "Gaussian",
    "Group",
    "Laplace",
    "PermuteAndFlip",
    "Prsma",
    "SeparatorGaussian",
    "SeparatorLaplace",
    "Tuned",
    "conditional",
    "from_json",
    "to_json",
]


def _positive(**values: Fraction | int) -> None:
    for name, value in values.items():
        if value <= 0:
            raise SettingError(f"{name} must be positive")


@dataclass(frozen=True)
class Gaussian:
    """Discrete Gaussian noise of this variance on a vector of counts (primitive P1)."""

    sensitivity_squared: Fraction
    """Squared L2 distance between the vectors of neighbouring tables."""
    variance: Fraction

    def __post_init__(self) -> None:
        _positive(variance=self.variance)


@dataclass(frozen=True)
class Laplace:
    """Discrete Laplace noise of this scale on a vector of counts (P2)."""

    sensitivity: Fraction
    """L1 distance between the vectors of neighbouring tables."""
    scale: Fraction

    def __post_init__(self) -> None:
        _positive(scale=self.scale)


@dataclass(frozen=True)
class Exponential:
    """Exponential mechanism, or its one-shot top-K by Gumbel noise (P3, P4)."""

    epsilon: Fraction
    num_selected: int = 1

    def __post_init__(self) -> None:
        _positive(epsilon=self.epsilon, num_selected=self.num_selected)


@dataclass(frozen=True)
class PermuteAndFlip:
    """Permute-and-flip selection: noisy maximum with exponential noise (P5)."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        _positive(epsilon=self.epsilon)


@dataclass(frozen=True)
class ConditionalRelease:
    """A run of pure-epsilon tests with independent noise that stops after `max_hits` releases (P9, Lemma D)."""

    epsilon: Fraction
    max_hits: int
    delta: Fraction
    """Probability that the run needs more than the charged number of calls."""

    def __post_init__(self) -> None:
        _positive(epsilon=self.epsilon, max_hits=self.max_hits, delta=self.delta)


@dataclass(frozen=True)
class Draws:
    """Independent draws, with replacement, from one exponential mechanism (P6)."""

    epsilon: Fraction
    """Parameter of the mechanism: Pr[q] proportional to exp(epsilon score / (2 sensitivity))."""
    num_draws: int

    def __post_init__(self) -> None:
        _positive(epsilon=self.epsilon, num_draws=self.num_draws)


@dataclass(frozen=True)
class Coins:
    """Coins that show heads with probability exp(-r), r a private number, at least `slack` (P8).

    Attributes:
        rate: How much r can change between neighbouring tables.
        slack: What r is never below.
        spread: How far above `slack` it may lie.
        num_coins: How many coins.
    """

    rate: Fraction
    slack: Fraction
    spread: Fraction
    num_coins: int

    def __post_init__(self) -> None:
        _positive(rate=self.rate, slack=self.slack, spread=self.spread, num_coins=self.num_coins)


@dataclass(frozen=True)
class SeparatorLaplace:
    """Discrete Laplace noise on the weights of a class's separators, then the best query (P10, RSPM). Conditional.

    Attributes:
        num_separators: How many points carry noise.
        grid: Units in a record's weight; noise and weights are whole numbers of them.
        gap: Units by which the query may miss the best, certified.
        scale: Of the noise, in units.
    """

    num_separators: int
    grid: int
    gap: int
    scale: Fraction

    def __post_init__(self) -> None:
        _positive(num_separators=self.num_separators, grid=self.grid, gap_plus_1=self.gap + 1, scale=self.scale)


@dataclass(frozen=True)
class SeparatorGaussian:
    """The same with discrete Gaussian noise; `delta` is the probability of more noise than claimed. Conditional."""

    num_separators: int
    grid: int
    gap: int
    stddev: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        _positive(num_separators=self.num_separators, grid=self.grid, gap_plus_1=self.gap + 1, stddev=self.stddev)
        _positive(delta=self.delta, one_minus_delta=1 - self.delta)


@dataclass(frozen=True)
class Prsma:
    """RSPM on random blocks of the table, with a private count of the blocks that never failed (PRSMA).

    Attributes:
        epsilon: The parameter epsilon* of the count and of the number of blocks.
        delta: The parameter delta* of the number of repetitions.
    """

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        _positive(epsilon=self.epsilon, delta=self.delta)
        if max(self.epsilon, self.delta) > Fraction(1, 2):
            raise SettingError("PRSMA's theorem holds for epsilon up to 31 and delta up to 5.5")


@dataclass(frozen=True)
class Group:
    """Another event, seen by neighbours that differ in up to `size` records (several rows a person)."""

    event: (
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
    )
    size: int

    def __post_init__(self) -> None:
        _positive(size=self.size)


@dataclass(frozen=True)
class Tuned:
    """The best of a random number of runs, each scored privately and held to a budget of its own (P11).

    Attributes:
        budget: What the gate lets one run spend, its score included, for one unit: rho, or epsilon if `pure`.
        pure: Whether the budget is a pure one.
        law: Of the number of runs: "logarithmic" or "geometric" (`privacy.random_runs`).
        stop: The law's parameter, strictly between 0 and 1; small means many runs.
    """

    budget: Fraction
    pure: bool
    law: str
    stop: Fraction

    def __post_init__(self) -> None:
        _positive(budget=self.budget, stop=self.stop, one_minus_stop=1 - self.stop)


Event: TypeAlias = (
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
    | Group
    | Tuned
)

_KINDS: dict[str, type[Any]] = {
    "gaussian": Gaussian,
    "laplace": Laplace,
    "exponential": Exponential,
    "permute_and_flip": PermuteAndFlip,
    "conditional_release": ConditionalRelease,
    "draws": Draws,
    "coins": Coins,
    "separator_laplace": SeparatorLaplace,
    "separator_gaussian": SeparatorGaussian,
    "prsma": Prsma,
    "group": Group,
    "tuned": Tuned,
}


def conditional(event: Event) -> bool:
    """Whether the event's price holds only if a solver's certificates do, on this table and on its neighbours.

    Example:
        >>> conditional(Group(SeparatorLaplace(3, 64, 0, Fraction(387)), 2)), conditional(Exponential(Fraction(1)))
        (True, False)
    """
    inner = event.event if isinstance(event, Group) else event
    return isinstance(inner, SeparatorLaplace | SeparatorGaussian)


def to_json(event: Event) -> dict[str, Any]:
    """The event as plain JSON values; fractions as text.

    Example:
        >>> to_json(Exponential(Fraction(1, 50)))
        {'kind': 'exponential', 'epsilon': '1/50', 'num_selected': 1}
    """
    kind = next(name for name, cls in _KINDS.items() if isinstance(event, cls))
    body: dict[str, Any] = {"kind": kind}
    for field in fields(event):
        value = getattr(event, field.name)
        body[field.name] = (
            to_json(value) if field.name == "event" else str(value) if isinstance(value, Fraction) else value
        )
    return body


def from_json(body: dict[str, Any]) -> Event:
    """The inverse of `to_json`.

    Example:
        >>> from_json({'kind': 'exponential', 'epsilon': '1/50', 'num_selected': 1})
        Exponential(epsilon=Fraction(1, 50), num_selected=1)
    """
    try:
        cls = _KINDS[body["kind"]]
        values: dict[str, Any] = {}
        for field in fields(cls):
            value = body[field.name]
            if field.name == "event":
                value = from_json(value)
            elif "Fraction" in str(field.type):
                value = Fraction(value)
            values[field.name] = value
        event: Event = cls(**values)
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise LedgerError(
            "the ledger holds an event this version cannot read; use the version that wrote it"
        ) from error
    return event
