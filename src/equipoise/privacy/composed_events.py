"""Events that stand for many draws at once, by a theorem on the whole: a learner on its records, all rounds of a game.

`equipoise.privacy.events` has all events and the rule that keeps old ledgers readable.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from equipoise.errors import SettingError
from equipoise.privacy.primitive_events import Record

__all__ = [
    "AnalystGame",
    "CappedHedge",
    "Gated",
    "Prsma",
    "SeparatorGaussian",
    "SeparatorLaplace",
]


@dataclass(frozen=True)
class SeparatorLaplace(Record):
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
class SeparatorGaussian(Record):
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
class Prsma(Record):
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
class CappedHedge(Record):
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
class AnalystGame(Record):
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
class Gated(Record):
    """Runs of any mechanisms, each held to a budget by a gate of its own; unused ones are paid for too.

    Attributes:
        budget: What the gate lets one run spend for one record replaced, in rho.
        num_runs: How many runs at most.
    """

    kind: ClassVar[str] = "gated"

    budget: Fraction
    num_runs: int
