"""What a report is about: the public parts of a release. Nothing private can be reached from here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from equipoise.core import Codes, Distribution, FloatArray, Move
from equipoise.data.schema import Schema
from equipoise.queries.group import Group
from equipoise.queries.queries import Queries
from equipoise.queries.workload import Workload

__all__ = ["Subject"]


@dataclass(frozen=True)
class Subject:
    """A release as the report sees it.

    Attributes:
        schema: The declared columns of the release.
        workload: The queries it was made for.
        num_rows: Records of the private table (public).
        distribution: The model.
        rows: The sampled synthetic rows, encoded.
        moves: What was selected and measured, with noise.
        error_bars: Simultaneous 95 % half-widths of the workload's answers, or None.
        statement: The machine-readable guarantee (statement.json).
        asked: What the moves' ids refer to: the workload, possibly followed by more; None for the workload.
    """

    schema: Schema
    workload: Queries
    num_rows: int
    distribution: Distribution
    rows: Codes
    moves: tuple[Move, ...]
    error_bars: FloatArray | None
    statement: dict[str, Any]
    asked: Queries | None = None

    @property
    def groups(self) -> tuple[Group, ...]:
        """The workload's groups; none when its queries come one by one."""
        return self.workload.groups if isinstance(self.workload, Workload) else ()

    @property
    def measured(self) -> Subject:
        """The same release, seen through the queries that the moves refer to."""
        return self if self.asked is None else replace(self, workload=self.asked, error_bars=None)
