"""Records to learn from, and minimisers that fail, for the tests of private choices."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from equipoise.oracles.classes.minimisers import ByEnumeration
from equipoise.oracles.classes.query_class import Minimum, QueryClass, WeightedPoints
from equipoise.privacy.accountant import Cost
from equipoise.privacy.private_points import PrivatePoints

ONE = Fraction(1)
PLENTY = Cost(Fraction(10**6), None, Fraction(10), conditional_rho=Fraction(10**6))


def records(num_records: int = 400, num_features: int = 5) -> PrivatePoints:
    """The label is x_0 and x_2."""
    bits = np.random.default_rng(0).integers(0, 2, (num_records, num_features))
    return PrivatePoints.labelled(bits, bits[:, 0] & bits[:, 2])


@dataclass
class Uncertified:
    """A minimiser that finds the best query and does not prove it, or breaks."""

    name: ClassVar[str] = "uncertified"
    how: str
    calls: int = 0

    def refuses(self, query_class: QueryClass) -> str | None:
        return None

    def solve(self, instance: WeightedPoints) -> Minimum:
        self.calls += 1
        best = ByEnumeration().solve(instance)
        if self.how == "raises":
            raise RuntimeError("a secret of the records")
        claims = {
            "no bound": (best.value, None),
            "gap": (best.value, best.value - 1),
            "lies": (best.value - 7, best.value - 7),
        }
        return Minimum(best.parameters, *claims[self.how])
