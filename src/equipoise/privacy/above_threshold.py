"""Classical sparse vector: which counts are above a threshold, bits only, until so many are.

For one analyst: its one noisy threshold ties all outcomes together, and its cutoff tells of other queries, so between
analysts conditional release is used (`conditional.WindowTest`).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from equipoise.errors import SettingError
from equipoise.privacy.events import AboveThreshold
from equipoise.privacy.mechanisms import Payer, float_above
from equipoise.privacy.private import Private, reveal

__all__ = ["SparseVector"]


class SparseVector:
    """Tests counts against one noisy threshold and tells only whether each is above it.

    Guarantees:
        Precondition: each tested count changes by at most 1 between neighbouring tables, in any direction.
        Postcondition: threshold_epsilon + tests_epsilon pure privacy for all bits together, of any number of tests, up
        to and with the last of `max_positives` positives (lyu2017understanding, Theorem 4 in v1: noise of scale
        1/threshold_epsilon once, 2c/tests_epsilon at each test). The noisy counts are never released.
    """

    def __init__(
        self, payer: Payer, *, threshold: int, threshold_epsilon: Fraction, tests_epsilon: Fraction, max_positives: int
    ) -> None:
        payer.debit(AboveThreshold(threshold_epsilon, tests_epsilon, max_positives))
        self._noise = payer.noise
        self._scale = float_above(2 * max_positives / tests_epsilon)
        self.positives_left = max_positives
        scale = float_above(1 / threshold_epsilon)
        self._threshold = int(payer.noise.laplace(np.array([threshold], dtype=np.int64), scale)[0])

    def above(self, count: Private) -> bool:
        """Whether a count, with noise, is at or above the noisy threshold.

        Raises:
            SettingError: all paid positives are used up, or the count's sensitivity is above 1.
        """
        if self.positives_left == 0:
            raise SettingError("this sparse vector has used all the positives it paid for")
        if count.num_values != 1 or count.linf_sensitivity > 1:
            raise SettingError("sparse vector tests one count of sensitivity 1 at a time")
        positive = int(self._noise.laplace(reveal(count), self._scale)[0]) >= self._threshold
        self.positives_left -= positive
        return positive
