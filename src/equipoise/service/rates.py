"""How often one person, or one address, may come: a bucket that fills steadily and is emptied by each request."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Rates"]

MOST_BUCKETS = 10_000


class Rates:
    """A bucket for each name. What one person does never changes what another may do.

    Example:
        >>> times = iter([0.0, 0.0, 0.0, 0.5])
        >>> rates = Rates(rate=2.0, burst=2, clock=lambda: next(times))
        >>> [rates.wait("ada") for _ in range(4)]
        [0.0, 0.0, 0.5, 0.0]
        >>> times = iter([0.5, 1.0, 1.0])
        >>> rates.wait("ada", take=False), rates.wait("ada"), rates.wait("ada", take=False)
        (0.5, 0.0, 0.5)
    """

    def __init__(self, *, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, float(burst), clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait(self, name: str, *, take: bool = True) -> float:
        """Take one from a name's bucket, or only look: 0 when there is one, else the seconds to wait for it."""
        now = self._clock()
        level, since = self._buckets.get(name, (self._burst, now))
        level = min(self._burst, level + (now - since) * self._rate)
        if level < 1:
            return (1 - level) / self._rate
        if not take:
            return 0.0
        if len(self._buckets) >= MOST_BUCKETS:
            self._drop_full(now)
        self._buckets[name] = (level - 1, now)
        return 0.0

    def _drop_full(self, now: float) -> None:
        """Forget names whose buckets are full again: they would start full anyway."""
        full = self._burst / self._rate
        self._buckets = {name: found for name, found in self._buckets.items() if now - found[1] < full}
