"""What an analyst is told in reply to one query."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

__all__ = ["Answer", "Source"]

Source: TypeAlias = Literal["hypothesis", "paid", "unverified"]
"""Where an answer comes from: the shared synthetic data, tested privately against the table and found near; a noisy
count of its own; or the synthetic data untested, because what may be spent is spent."""


@dataclass(frozen=True)
class Answer:
    """An answer to one query; for the analyst who asked, and nobody else.

    Attributes:
        text: The query, in the words it was asked in.
        share: Estimated share of the records; of a statistic, its value from 0 to 1.
        count: The same times the number of records.
        half_width: The truth is within this of the share, for all answers of the session or round at once with
            probability 0.95; None when nothing is promised.
        source: "hypothesis" is free, "paid" cost some of the data budget, "unverified" is free and not promised.
        spent: What the answer used of the data budget, in rho; 0 when it was free. The ledger is charged for a whole
            session in advance, except in mode "noise"; this is the answer's part of it.
        left: How many queries this analyst may still ask. It depends on nobody else's queries.
    """

    text: str
    share: float
    count: float
    half_width: float | None
    source: Source
    spent: Fraction
    left: int

    def to_json(self) -> dict[str, Any]:
        """As plain values; what was spent as a number and, exactly, as text.

        Example:
            >>> Answer("sex = Female", 0.5, 50.0, 0.1, "paid", Fraction(1, 8), 9).to_json()["spent"]
            {'rho': 0.125, 'rho_exact': '1/8'}
        """
        return asdict(self) | {"spent": {"rho": float(self.spent), "rho_exact": str(self.spent)}}

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Answer:
        """The inverse of `to_json`."""
        return cls(**body | {"spent": Fraction(body["spent"]["rho_exact"])})
