"""A session: a steward opens it on a table, analysts ask, one query after the other, for as long as it lasts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from equipoise.analysts.answer import Answer
from equipoise.core import Distribution
from equipoise.data.table import Table
from equipoise.pipeline import DEFAULT_MEMORY
from equipoise.queries.query import Query

__all__ = ["AnalystUse", "Mode", "Session", "SessionPlan", "Status"]

Mode: TypeAlias = Literal["online", "pmw", "noise"]


@dataclass(frozen=True)
class SessionPlan:
    """What a session will do and cost: from public facts alone.

    Attributes:
        asked: The mode that was asked for.
        mode: The mode it has: "noise" where the one asked for cannot do better than noise on every answer.
        reason: Why, in a sentence, when the two differ; else empty.
        half_width: Of an answer from the hypothesis (online, pmw), or of every answer (noise).
        paid_half_width: Of an answer with noise of its own.
        max_paid: Answers with noise of their own that the session has paid for.
        parameters: All of the mechanism's, by name: numbers and exact fractions as text.
        protects_analysts: Whether analysts' queries are private too; not in mode "pmw".
    """

    asked: Mode
    mode: Mode
    reason: str
    half_width: float
    paid_half_width: float
    max_paid: int
    parameters: Mapping[str, Any]
    protects_analysts: bool


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


class Session:
    """Answers analysts' queries one at a time, from a shared hypothesis while it is right, with noise when it is not.

    Safe for threads, and for several processes that open the same `run` of one ledger.
    """

    run: str
    """The session's id in the ledger: open it with this id again to go on after a stop or a crash."""
    plan: SessionPlan

    @classmethod
    def open(
        cls,
        table: Table,
        *,
        epsilon: float,
        analyst_epsilon: float,
        num_analysts: int,
        queries_each: int,
        mode: Mode = "online",
        delta: float | None = None,
        analyst_delta: float | None = None,
        analyst_total: tuple[float, float] | None = None,
        run: str | None = None,
        ledger: str | Path | None = None,
        accept_inferred: bool = False,
        memory_limit: int = DEFAULT_MEMORY,
    ) -> Session:
        """Open a session, or the one that the ledger has under `run`; reads the table once and charges the ledger once.

        Args:
            table: The private table.
            epsilon: Data budget of the session.
            analyst_epsilon: Budget that protects the analysts from each other; modes "noise" and "pmw" use none of it.
            num_analysts: How many analysts may take part; public.
            queries_each: How many queries each may ask; public. A cell of a marginal counts as one.
            mode: "online" (private for analysts too), "pmw" (for the people in the table only), "noise" (every answer
                with noise of its own).
            delta: 1/n^2 unless given.
            analyst_delta: 1/k^2 unless given, k the number of all analysts' queries.
            analyst_total: Total (epsilon, delta) of the analysts' account in the ledger, declared on first use.
            run: The session's id; drawn when not given.
            ledger: Path or URL; by default the schema's.
            accept_inferred: Accept bounds and categories that were read from the data.
            memory_limit: Bytes that the hypothesis may use.

        Raises:
            BudgetError: a ledger does not cover it; nothing was spent.
            SettingError: a number is out of range, or the id is of a session with other settings.
        """
        raise NotImplementedError

    def ask(self, analyst: str, query: str | Query, *, key: str | None = None) -> Answer:
        """Answer one query.

        Args:
            analyst: Who asks; a new name takes one of the session's places.
            query: Text form, such as "sex = Female and age in 30..39", or a `Query`.
            key: With a key the answer is kept: asked again by this analyst with the same key and query, also after a
                crash, it is the same and costs nothing. Without one, a free answer leaves no trace in the ledger and
                is faster.

        Raises:
            BudgetError: the analyst has no queries left, or all places are taken.
            QueryError: the text does not parse or does not fit the schema; nothing was counted.
            SettingError: the key was used for another query.
        """
        raise NotImplementedError

    def ask_many(
        self, analyst: str, queries: Sequence[str | Query | Sequence[str]], *, key: str | None = None
    ) -> list[Answer]:
        """Answer several queries; a list of column names stands for all cells of their marginal, in order.

        With a key, all of it is one request: repeated, it gives the same list.
        """
        raise NotImplementedError

    def left(self, analyst: str) -> int:
        """How many queries an analyst may still ask."""
        raise NotImplementedError

    def hypothesis(self) -> Distribution:
        """The shared synthetic data of the moment: free to publish to all analysts. Uniform in mode "noise"."""
        raise NotImplementedError

    def status(self) -> Status:
        """How far the session has come. For the steward only."""
        raise NotImplementedError

    def statement(self) -> dict[str, Any]:
        """The guarantee to people and to analysts, machine-readable, from what the ledgers were charged."""
        raise NotImplementedError

    def close(self) -> None:
        """End the session for everybody: no further query is answered; what it did not spend is free again."""
        raise NotImplementedError
