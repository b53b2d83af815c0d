"""How far a session has come, for its steward."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["AnalystUse", "Status"]


@dataclass(frozen=True)
class AnalystUse:
    """What one analyst has used. For the steward.

    Attributes:
        asked: Queries that were counted against the allowance (after a crash a few more than were answered).
        paid: Answers that used some of the data budget.
    """

    asked: int
    paid: int


@dataclass(frozen=True)
class Status:
    """How far a session has come. For the steward only: it tells analysts about each other.

    Attributes:
        num_paid: Paid answers so far.
        version: How often the shared hypothesis has changed.
        halted: Whether what may be spent is spent, so that answers are no longer verified.
        analysts: Use by each analyst.
    """

    num_paid: int
    version: int
    halted: bool
    analysts: Mapping[str, AnalystUse]
