"""`Recorded`: true counts together with the records that they were counted from, for players that need both."""

from __future__ import annotations

from equipoise.core import IntArray
from equipoise.privacy.private import Private, Sensitive
from equipoise.privacy.private_points import PrivatePoints

__all__ = ["Recorded"]


class Recorded(Private):
    """The counts of a workload, and the records.

    Attributes:
        records: As bits of the workload's literals, each with weight -1: a query's weighted sum is the opposite of its
            count. As unseen as the counts.
    """

    __slots__ = ("records",)

    def __init__(self, values: IntArray, source: Sensitive, records: PrivatePoints) -> None:
        super().__init__(values, source)
        self.records = records
