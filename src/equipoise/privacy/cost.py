"""What events cost: the record that prices, sums and totals are made of."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction

from equipoise.errors import LedgerError

__all__ = ["Cost", "cost_from_text", "cost_to_text"]

_NUMBER = re.compile(r"-|-?\d{1,4000}(/\d{1,4000})?", re.ASCII)


@dataclass(frozen=True)
class Cost:
    """What an event, or a sum of events, costs.

    Attributes:
        rho: Zero-concentrated privacy.
        epsilon: Pure privacy, or None when the event has none (Gaussian noise, conditional release).
        delta: Probability outside the guarantee that the event itself needs (conditional release only).
        shift: Divergence on top of rho, the same at every order (tuning only).
        factor: What delta is multiplied by (tuning only).
        conditional_rho: The part of rho that holds only if a solver's certificates do (RSPM). It is in rho, so no
            budget is overspent either way, and apart, so that nobody takes it for proven.
        conditional_epsilon: The same part of epsilon.
        gaussian: mu^2/2 of Gaussian differential privacy (`gaussian_privacy`), or None when the event has none, or
            nobody says.

    The Rényi divergence of order a is at most rho a + shift + log(factor)/(a - 1); each term adds up over events.

    Guarantees:
        Precondition: costs of mechanisms of which each may be chosen after the results of those before. Statement: the
        sum of their costs is a cost of all of them together. Proof: Rényi divergences of adaptive composition add up at
        every order (bun2016concentrated, Lemma 1.7 in v1), so rho, shift and log(factor) do; so does mu^2
        (dong2022gaussian, Corollary 3.3 in v3; docs/mechanisms.md where parameters are chosen on the way); pure
        epsilons and failure probabilities add up; nothing is rounded.
    """

    rho: Fraction = Fraction(0)
    epsilon: Fraction | None = Fraction(0)
    delta: Fraction = Fraction(0)
    shift: Fraction = Fraction(0)
    factor: Fraction = Fraction(1)
    conditional_rho: Fraction = Fraction(0)
    conditional_epsilon: Fraction = Fraction(0)
    gaussian: Fraction | None = None

    def __add__(self, other: Cost) -> Cost:
        pure = None if self.epsilon is None or other.epsilon is None else self.epsilon + other.epsilon
        rho, delta = self.rho + other.rho, self.delta + other.delta
        apart = self.conditional_rho + other.conditional_rho, self.conditional_epsilon + other.conditional_epsilon
        gaussian = None
        if self.is_nothing or other.is_nothing:
            gaussian = other.gaussian if self.is_nothing else self.gaussian
        elif self.gaussian is not None and other.gaussian is not None:
            gaussian = self.gaussian + other.gaussian
        return Cost(rho, pure, delta, self.shift + other.shift, self.factor * other.factor, *apart, gaussian)

    def __mul__(self, times: int) -> Cost:
        pure = None if self.epsilon is None else self.epsilon * times
        apart = self.conditional_rho * times, self.conditional_epsilon * times
        gaussian = None if self.gaussian is None else self.gaussian * times
        rho, delta, shift = self.rho * times, self.delta * times, self.shift * times
        return Cost(rho, pure, delta, shift, self.factor**times, *apart, gaussian)

    @property
    def is_nothing(self) -> bool:
        """Whether it is the cost of no event."""
        return not (self.rho or self.epsilon or self.delta or self.shift) and self.factor == 1

    @property
    def impure(self) -> Cost:
        """The same without its pure epsilon: what a release that is not a pure one reserves."""
        return replace(self, epsilon=None)


def cost_to_text(cost: Cost) -> str:
    """A cost as exact text: rho, pure epsilon (or -), delta.

    Then shift and factor, where a tuned release has them; then what is conditional, where something is; last, after a
    letter, mu^2/2, where it has one.
    """
    if cost.gaussian:
        return f"{cost_to_text(replace(cost, gaussian=None))} g{cost.gaussian}"
    text = f"{cost.rho} {'-' if cost.epsilon is None else cost.epsilon} {cost.delta}"
    if cost.conditional_rho:
        return f"{text} {cost.shift} {cost.factor} {cost.conditional_rho} {cost.conditional_epsilon}"
    return text if cost.shift == 0 and cost.factor == 1 else f"{text} {cost.shift} {cost.factor}"


def cost_from_text(text: str) -> Cost:
    """The inverse of `cost_to_text`.

    Raises:
        LedgerError: the text is none.

    Example:
        >>> cost_from_text(cost_to_text(Cost(Fraction(1, 3), None))) == Cost(Fraction(1, 3), None)
        True
    """
    parts = text.split()
    last = parts.pop()[1:] if parts and parts[-1].startswith("g") else None
    try:
        if not 3 <= len(parts) <= 7 or not all(_NUMBER.fullmatch(part) for part in parts):
            raise ValueError("not a cost")
        numbers = [None if part == "-" else Fraction(part) for part in parts]
        if any(number is None or number < 0 for number in numbers[:1] + numbers[2:]):
            raise ValueError("not a cost")
        if last is not None and (not _NUMBER.fullmatch(last) or not Fraction(last) > 0):
            raise ValueError("not a cost")
    except (ValueError, ZeroDivisionError) as error:
        raise LedgerError("the ledger holds a cost that cannot be read: it is damaged") from error
    found = Cost(*numbers)  # type: ignore[arg-type]  # only the second may be None
    return found if last is None else replace(found, gaussian=Fraction(last))
