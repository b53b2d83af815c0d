"""The accountant, in one list: what events cost, and what a cost is worth in (epsilon, delta).

`prices` prices events, `conversion` goes between rho and (epsilon, delta), `gaussian_privacy` the same for mu,
`short_fractions` keeps sums short, always on the private side. `equipoise.verification` computes the same again without
a line of this.
"""

from __future__ import annotations

from equipoise.privacy.conversion import delta_of, epsilon_at, epsilon_of, rho_at, rho_of
from equipoise.privacy.cost import Cost
from equipoise.privacy.gaussian_privacy import worth as gaussian_worth
from equipoise.privacy.prices import calls_of_conditional_release, cost, stddev_of, total
from equipoise.privacy.short_fractions import exact, root_below, short_above

__all__ = [
    "Cost",
    "calls_of_conditional_release",
    "cost",
    "delta_of",
    "epsilon_at",
    "epsilon_of",
    "exact",
    "gaussian_worth",
    "rho_at",
    "rho_of",
    "root_below",
    "short_above",
    "stddev_of",
    "total",
]
