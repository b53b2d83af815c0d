"""What noise on separators costs: the shift of RSPM's proof, and the tail of a sum of absolute Gaussian noises.

RSPM adds noise η_i to the weight of separator e_i and outputs a query q̂ whose noisy sum is certified within a gap of
the best. Everything is counted in units of 1/grid of a record, so weights and noise are whole numbers.

Lemma (the shift). Let S and S' differ in one record, of weight at most 1 in size. For an output q̂ shift the noise by
-k where q̂(e_i) = 1, by +k where q̂(e_i) = 0, with k = 2 grid + 2 gap + 1. Whenever q̂ is certified on S with noise η,
it is the only query that can be certified on S' with the shifted noise. Proof: on S, F(q̃) >= F(q̂) - gap for every q̃.
Replacing the record changes F(q̃) - F(q̂) by at most 2 grid. The shift raises it by k for every separator on which they
differ, and there is one. So on S' F(q̃) - F(q̂) >= -gap - 2 grid + k > gap. ∎ The shift maps whole vectors to whole
vectors one to one, so Pr[q̂ | S] <= Pr[q̂ | S'] times the largest ratio of the noise's probabilities at η and at the
shifted η. No continuity, no unique minimum and no exact solver are needed; that both runs are certified is.

Laplace noise of scale b: the ratio is at most exp(k m / b), whatever q̂.

Gaussian noise of standard deviation s: log ratio <= (k / s²) Σ|η_i| + m k² / (2 s²). The sum's bound must not depend
on q̂, which is aligned with the noise (docs/s003.md, Theorem 7); outside {Σ|η_i| <= tail}, of probability delta,
nothing is claimed.
"""

from __future__ import annotations

import functools
import math

__all__ = ["gaussian_epsilon", "gaussian_stddev", "shift", "tail"]


def shift(*, grid: int, gap: int) -> int:
    """How far the proof moves each noise, in units: 2 grid + 2 gap + 1.

    Guarantees:
        Precondition: weights of at most `grid` in size, noise in whole units, certificates within `gap`. Statement and
        proof: the module's Lemma: any shift above 2 grid + 2 gap is enough, and this is the least whole number above.

    Example:
        >>> shift(grid=64, gap=0)
        129
    """
    return 2 * grid + 2 * gap + 1


def tail(*, num_separators: int, stddev: float, delta: float) -> float:
    """What Σ|η_i| / stddev exceeds with probability at most delta, for discrete Gaussian noises.

    Guarantees:
        Precondition: m independent discrete Gaussian noises η_i of standard deviation s, and 0 < delta < 1. Statement:
        the sum of their sizes over s exceeds the result with probability at most delta. Proof: Chernoff's bound at
        every u > 0: (m log E exp(u |η|/s) + log(1/delta)) / u. The expectation over whole numbers is at most exp(u²/2)
        (2 Φ(u) + 2 / (s √(2π))): the normaliser is at least s √(2π) (Poisson summation), and a sum over whole numbers
        of a function with two modes of height 1 is at most its integral and 2. Any u is valid, so the search for the
        best one cannot harm.
    """

    def bound(u: float) -> float:
        centre = math.erfc(-u / math.sqrt(2)) + 2 / (stddev * math.sqrt(2 * math.pi))
        return (num_separators * (u * u / 2 + math.log(centre)) - math.log(delta)) / u

    low, high = 1e-9, 2 * math.sqrt(-2 * math.log(delta)) + 10
    for _ in range(200):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if bound(left) < bound(right) else (left, high)
    return bound(high) * (1 + 1e-9)


@functools.lru_cache(maxsize=256)
def gaussian_epsilon(*, shift: int, num_separators: int, stddev: float, delta: float) -> float:
    """The epsilon of (epsilon, delta)-privacy that Gaussian noise on the separators gives, rounded up.

    Guarantees:
        Precondition: as the module's Lemma. Statement: (result, delta)-DP. Proof: the module's last paragraph, with
        `tail` in place of Σ|η_i| / s, and a share of 1e-9 for floats.

    Example:
        >>> stddev = gaussian_stddev(shift=129, num_separators=100, epsilon=1.0, delta=1e-6)
        >>> 0.999 < gaussian_epsilon(shift=129, num_separators=100, stddev=stddev, delta=1e-6) <= 1
        True
    """
    size = tail(num_separators=num_separators, stddev=stddev, delta=delta)
    ratio = shift / stddev
    return (ratio * size + num_separators * ratio * ratio / 2) * (1 + 1e-9)


@functools.lru_cache(maxsize=256)
def gaussian_stddev(*, shift: int, num_separators: int, epsilon: float, delta: float) -> float:
    """The smallest standard deviation, in units, whose `gaussian_epsilon` is at most epsilon.

    Guarantees:
        Precondition: as `gaussian_epsilon`. Statement: noise of this standard deviation is (epsilon, delta)-DP. Proof:
        the end of a bisection at which `gaussian_epsilon` was at most epsilon.
    """
    low, high = 0.0, float(shift)
    while gaussian_epsilon(shift=shift, num_separators=num_separators, stddev=high, delta=delta) > epsilon:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        if (
            middle > 0
            and gaussian_epsilon(shift=shift, num_separators=num_separators, stddev=middle, delta=delta) <= epsilon
        ):
            high = middle
        else:
            low = middle
    return high
