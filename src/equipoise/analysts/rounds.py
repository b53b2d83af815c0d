"""A round: all analysts hand in their queries, and all are answered at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from equipoise.analysts.answer import Answer
from equipoise.core import Distribution
from equipoise.data.table import Table
from equipoise.pipeline import DEFAULT_MEMORY, Steps, no_progress
from equipoise.queries.query import Query

__all__ = ["Round", "RoundMode", "answer_round"]

RoundMode: TypeAlias = Literal["per-query", "per-analyst", "noise"]


@dataclass(frozen=True)
class Round:
    """An answered round.

    Attributes:
        answers: For each analyst, in the order of their queries (cells of a marginal in its order). Each analyst may
            see only their own.
        synopsis: The shared synthetic data, free to publish to all analysts; None when every answer has noise of its
            own.
        mode: What was done: "noise" where the mode asked for cannot do better.
        reason: Why, in a sentence, when that is not what was asked for; else empty.
        statement: The guarantee to people and to analysts.
        run: Its id in the ledger.
    """

    answers: Mapping[str, list[Answer]]
    synopsis: Distribution | None
    mode: RoundMode
    reason: str
    statement: dict[str, Any]
    run: str


def answer_round(
    table: Table,
    batches: Mapping[str, Sequence[str | Query | Sequence[str]]],
    *,
    epsilon: float,
    analyst_epsilon: float,
    num_analysts: int,
    queries_each: int,
    mode: RoundMode = "per-query",
    delta: float | None = None,
    analyst_delta: float | None = None,
    analyst_total: tuple[float, float] | None = None,
    run: str | None = None,
    ledger: str | Path | None = None,
    accept_inferred: bool = False,
    memory_limit: int = DEFAULT_MEMORY,
    steps: Steps = no_progress,
) -> Round:
    """Answer every analyst's queries at once.

    Args:
        table: The private table.
        batches: The queries of each analyst: texts, `Query` objects, or lists of column names for all cells of a
            marginal.
        epsilon: Data budget of the round.
        analyst_epsilon: Budget that protects the analysts from each other.
        num_analysts: Public bound on the number of analysts.
        queries_each: Public bound on the queries of one analyst. Parameters depend on these bounds, never on the
            batches.
        mode: "per-query" hides any one query from the other analysts, "per-analyst" all queries of any one analyst,
            "noise" everything, by noise on every answer.
        delta: 1/n^2 unless given.
        analyst_delta: 1/k^2 unless given, k the number of all analysts' queries.
        analyst_total: Total (epsilon, delta) of the analysts' account in the ledger, declared on first use.
        run: The round's id: a second call with the same id and queries gives the same answers and costs nothing.
        ledger: Path or URL; by default the schema's.
        accept_inferred: Accept bounds and categories that were read from the data.
        memory_limit: Bytes that the game may use.
        steps: Shows progress.

    Raises:
        BudgetError: a ledger does not cover it, or a batch is larger than its bound; nothing was spent.
        QueryError: a query does not parse or does not fit the schema; says whose and which.
    """
    raise NotImplementedError
