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
        Precondition: the sum of the costs of all events, each charged when it happened. Statement: True only if they
        are (epsilon, delta)-DP together. Proof: with no failure probability the comparison is exact: rho
        (`accountant.rho_at`) against the fraction `accountant.rho_of`. With one, delta' + (1 + e^epsilon) delta* <=
        delta (Lemma D). Pure costs that add up to at most epsilon fit any delta; those that are pure but for a failure
        probability, one of (1 + e^epsilon) times that. A filter may use both rules: where the first holds the loss is
        at most epsilon whatever comes out, and adds nothing to delta; elsewhere the second has held from the start.
    """
    rest = delta
    if cost.delta:
        rest -= (1 + math.exp(epsilon)) * float(cost.delta) * (1 + 1e-9)
    if cost.epsilon is not None and cost.epsilon <= Fraction(epsilon) and rest >= 0:
        return True
    if delta == 0:
        return False
    return rest > 0 and accountant.rho_at(cost, epsilon=epsilon, delta=rest) <= accountant.rho_of(
        epsilon=epsilon, delta=rest
    )


def _pure(cost: Cost) -> str:
    return "more than any pure epsilon: choose a pure method" if cost.epsilon is None else f"{float(cost.epsilon):.6g}"


def _conditional(currency: str, held: Fraction, asked: Fraction) -> list[str]:
    if not held and not asked:
        return []
    parts = f"{currency} {float(held):.6g} of what is spent and {float(asked):.6g} of what is asked"
    return [f"  Not proven, but if a solver's certificates hold: {parts}"]


def _failures(epsilon: float, delta: float, held: Cost, asked: Cost) -> list[str]:
    if not held.delta and not asked.delta:
        return []
    weight = 1 + math.exp(epsilon)
    parts = f"{weight * float(held.delta):.3g} is spent and {weight * float(asked.delta):.3g} asked"
    return [
        f"  Failure probabilities count 1 + e^epsilon times: of delta {delta:.3g}, {parts}; ask for a smaller delta"
    ]


def refusal(name: str, epsilon: float, delta: float, held: Cost, asked: Cost) -> str:
    """Why a release is refused: total, spent, asked, left, and what to do."""
    if delta == 0:
        lines = [
            f"  total  pure epsilon {epsilon:g}",
            f"  spent  {_pure(held)} (unfinished releases included)",
            f"  asked  {_pure(asked)}",
            *_conditional("pure epsilon", held.conditional_epsilon, asked.conditional_epsilon),
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
            *_conditional("rho", held.conditional_rho, asked.conditional_rho),
        ]
    return "\n".join(
        [
            f"the budget of table {name} does not cover this release",
            *lines,
            *_failures(epsilon, delta, held, asked),
            "Nothing was spent. Ask for a smaller epsilon, or close an unfinished release (`equipoise ledger --help`).",
        ]
    )
