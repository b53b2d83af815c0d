"""When to move on, or stop, without telling which query made the count: sparse vector on a count of hidden hits.

The moment at which a mechanism with analysts changes is seen by all of them. It depends on how many queries hit, and
hits are secret. A noisy limit alone does not hide them (hsu2013differential, Claim 5.9, and our own first reading of
it, say it does): a change can only follow a hit, so a change right after my query, which was no hit, tells me that
yours was one; and even where every query hits, one more hit adds a moment at which the change can come, so the
likelihood ratio is 1 + e^epsilon and not e^epsilon. So each look at the count has noise too, and there is a look at
every query, hit or not.

Guarantees:
    Precondition: the two worlds have the same looks, and counts N >= N' with N - N' <= 1 at every one of them (one
    query is replaced by another: from it on, one world may have one hit more).
    Postcondition: which look is the first positive one is epsilon-DP, but for the probability of reaching limit +
    margin.
    Proof, threshold and looks with discrete Laplace noise of scale 2/epsilon each. Let the threshold be t. From N to
    N': a look that is negative with N is so with N' at the same t; the positive one is e^(epsilon/2) less likely at
    most. From N' to N: take t + 1, which is e^(epsilon/2) less likely at most; a look that is negative with N' at t
    is so with N at t + 1; and the positive one has Pr[N + noise >= t + 1] >= Pr[N' + noise >= t + 1] >=
    e^(-epsilon/2) Pr[N' + noise >= t]. ∎
    (The case of one direction in lyu2017understanding, Theorem 5 in v1.) After the first positive look the count
    starts anew, equal in both worlds: however many changes there are, one query pays once.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from equipoise.privacy.keyed_noise import fresh_laplace

__all__ = ["NoisyLimit"]


@dataclass(frozen=True)
class NoisyLimit:
    """A limit on a count; see the module's guarantees.

    Attributes:
        epsilon: Of the `NoisyStop` that pays for it.
        limit: Where the count should be stopped.
        margin: How far beyond it is stopped without noise.

    Guarantees:
        Precondition: at every look the two worlds' counts differ by at most 1, in one direction. Statement: which look
        is the first positive one is epsilon-DP, but for the probability of reaching limit + margin. Proof: the module's
        (lyu2017understanding, Theorem 5 in v1, in one direction).
    """

    epsilon: Fraction
    limit: int
    margin: int

    @property
    def scale(self) -> Fraction:
        """Of the noise of threshold and looks."""
        return 2 / self.epsilon

    def threshold(self) -> int:
        """A new threshold; secret."""
        return self.limit + fresh_laplace(self.scale)

    def reached(self, count: int, threshold: int) -> bool:
        """One look."""
        return count >= self.limit + self.margin or count + fresh_laplace(self.scale) >= threshold
