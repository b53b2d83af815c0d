"""What events cost: the record that prices, sums and totals are made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

__all__ = ["Cost"]


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

    The Rényi divergence of order a is at most rho a + shift + log(factor)/(a - 1); each term adds up over events.
    """

    rho: Fraction = Fraction(0)
    epsilon: Fraction | None = Fraction(0)
    delta: Fraction = Fraction(0)
    shift: Fraction = Fraction(0)
    factor: Fraction = Fraction(1)
    conditional_rho: Fraction = Fraction(0)
    conditional_epsilon: Fraction = Fraction(0)

    def __add__(self, other: Cost) -> Cost:
        pure = None if self.epsilon is None or other.epsilon is None else self.epsilon + other.epsilon
        rho, delta = self.rho + other.rho, self.delta + other.delta
        apart = self.conditional_rho + other.conditional_rho, self.conditional_epsilon + other.conditional_epsilon
        return Cost(rho, pure, delta, self.shift + other.shift, self.factor * other.factor, *apart)

    def __mul__(self, times: int) -> Cost:
        pure = None if self.epsilon is None else self.epsilon * times
        apart = self.conditional_rho * times, self.conditional_epsilon * times
        return Cost(self.rho * times, pure, self.delta * times, self.shift * times, self.factor**times, *apart)

    @property
    def impure(self) -> Cost:
        """The same without its pure epsilon: what a release that is not a pure one reserves."""
        return replace(self, epsilon=None)
