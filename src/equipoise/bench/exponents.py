"""How a cost grows with a size: the exponent of a power, fitted to logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Exponent", "fit"]


@dataclass(frozen=True)
class Exponent:
    """cost ~ size ** value, by least squares of logarithms.

    Attributes:
        low: Smallest size.
        high: Largest size.
        off: The largest factor between a measured cost and the fitted one.
        num_points: Sizes.
    """

    value: float
    low: float
    high: float
    off: float
    num_points: int

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.off:.2f}x)"


def fit(points: Sequence[tuple[float, float]]) -> Exponent | None:
    """The exponent of (size, cost) pairs; None with fewer than two sizes, or a cost that is not positive.

    Example:
        >>> fit([(1, 3.0), (10, 300.0), (100, 30000.0)]).value
        2.0
        >>> str(fit([(1, 1.0), (2, 2.0), (4, 4.0)]))
        '1.00 (1.00x)'
    """
    sizes = {size for size, _ in points}
    if len(sizes) < 2 or min(cost for _, cost in points) <= 0:
        return None
    across, up = np.log(np.array(points, dtype=np.float64)).T
    centred = across - across.mean()
    slope = float(centred @ up / (centred @ centred))
    off = np.abs(up - up.mean() - slope * centred).max()
    return Exponent(round(slope, 6), min(sizes), max(sizes), float(np.exp(off)), len(sizes))
