"""A declared total: whether costs fit it, and the words of a refusal."""

from __future__ import annotations

import math
from fractions import Fraction

from equipoise.privacy import accountant
from equipoise.privacy.accountant import Cost

__all__ = ["fits", "refusal"]


def fits(cost: Cost, *, epsilon: float, delta: float) -> bool:
    """Whether a total cost keeps (epsilon, delta)-DP; delta 0 means pure privacy.

    Guarantees:
        With no failure probability the comparison is exact: rho (`accountant.rho_at`) against the fraction
        `accountant.rho_of`. With one, delta' + (1 + e^epsilon) delta* <= delta (Lemma D).
    """
    if delta == 0:
        return cost.epsilon is not None and cost.epsilon <= Fraction(epsilon)
    rest = delta
    if cost.delta:
        rest -= (1 + math.exp(epsilon)) * float(cost.delta) * (1 + 1e-9)
    return rest > 0 and accountant.rho_at(cost, epsilon=epsilon, delta=rest) <= accountant.rho_of(
        epsilon=epsilon, delta=rest
    )


def _pure(cost: Cost) -> str:
    return "more than any pure epsilon: choose a pure method" if cost.epsilon is None else f"{float(cost.epsilon):.6g}"


def refusal(name: str, epsilon: float, delta: float, held: Cost, asked: Cost) -> str:
    """Why a release is refused: total, spent, asked, left, and what to do."""
    if delta == 0:
        lines = [
            f"  total  pure epsilon {epsilon:g}",
            f"  spent  {_pure(held)} (unfinished releases included)",
            f"  asked  {_pure(asked)}",
        ]
    else:
        limit = accountant.rho_of(epsilon=epsilon, delta=delta)
        spent, wanted = (accountant.rho_at(cost, epsilon=epsilon, delta=delta) for cost in (held, asked))
        worth = accountant.epsilon_at(held, delta=delta)
        lines = [
            f"  total  epsilon {epsilon:g} at delta {delta:.3g} (rho {float(limit):.6g})",
            f"  spent  rho {float(spent):.6g}, which is epsilon {worth:.4g} (unfinished releases included)",
            f"  asked  rho {float(wanted):.6g}",
            f"  left   rho {float(max(limit - spent, Fraction(0))):.6g}",
        ]
    return "\n".join(
        [
            f"the budget of table {name} does not cover this release",
            *lines,
            "Nothing was spent. Ask for a smaller epsilon, or close an unfinished release (`equipoise ledger --help`).",
        ]
    )
