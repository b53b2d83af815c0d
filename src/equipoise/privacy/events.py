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
    "ConditionalRelease",
    "Event",
    "Exponential",
    "Gaussian",
    "Group",
    "Laplace",
    "PermuteAndFlip",
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
class Group:
    """Another event, seen by neighbours that differ in up to `size` records (several rows a person)."""

    event: Gaussian | Laplace | Exponential | PermuteAndFlip | ConditionalRelease
    size: int

    def __post_init__(self) -> None:
        _positive(size=self.size)


Event: TypeAlias = Gaussian | Laplace | Exponential | PermuteAndFlip | ConditionalRelease | Group

_KINDS: dict[str, type[Any]] = {
    "gaussian": Gaussian,
    "laplace": Laplace,
    "exponential": Exponential,
    "permute_and_flip": PermuteAndFlip,
    "conditional_release": ConditionalRelease,
    "group": Group,
}


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
